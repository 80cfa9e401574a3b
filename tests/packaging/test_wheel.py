"""A wheel built from the sources installs and serves in an empty environment."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.clients.programs import WHEELS, environment
from tests.support.quick_installs import offline_variables

ROOT = Path(__file__).parent.parent.parent

LIST = "import json; from importlib.metadata import distributions as d; print(json.dumps([one.name for one in d()]))"

pytestmark = pytest.mark.packaging


def run(*words: str | Path) -> str:
    """Run a command outside the environment of the sources, a pip with kept wheels; return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | offline_variables()
    done = subprocess.run(
        [str(word) for word in words], cwd=ROOT, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands folder of an environment that has only the wheel and its dependencies."""
    python, pip = environment(tmp_path_factory.mktemp("environment") / "empty")
    run(*pip, "install", "--quiet", *WHEELS, wheel)
    return python.parent


def test_the_wheel_holds_the_code_the_licence_and_the_types(wheel: Path) -> None:
    names = run(sys.executable, "-m", "zipfile", "-l", wheel)
    runtime = "hashrange/functions/runtimes/node_runtime.mjs"
    for name in ("hashrange/cli/main.py", "hashrange/py.typed", runtime, "licenses/LICENSE", "licenses/NOTICE"):
        assert name in names
    assert "tests/" not in names


def test_only_what_serving_needs_is_installed(scripts: Path) -> None:
    listed = run(scripts / "python", "-c", LIST)
    names = set(json.loads(listed)) - {"pip", "setuptools"}
    assert names == {
        "cbor2",
        "greenlet",
        "hashrange",
        "httptools",
        "msgspec",
        "prometheus_client",
        "rocksdict",
        "uvloop",
        "zlib-ng",
    }


def test_the_installed_command_serves(scripts: Path, tmp_path: Path) -> None:
    words = [str(scripts / "hashrange"), "serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        endpoint = next(word.rstrip(",") for word in line.split() if word.startswith("http://"))
        with urllib.request.urlopen(endpoint, timeout=10) as reply:
            assert reply.read().startswith(b"healthy: dynamodb.")
    finally:
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=20)
    assert (server.returncode, errors) == (0, "")
    assert run(scripts / "hashrange", "check", tmp_path / "data").endswith("is sound: 0 tables, 0 rows.\n")
