"""Do the examples with Testcontainers fit the real libraries, of which each is pinned?
Without an engine they end with the library's own words.

The example in Java is compiled with the tests of tests/clients/junit.
"""

import re
import subprocess
import sys
from pathlib import Path

from tests.clients.programs import go, node, python
from tests.pipelines.action_runs import plain_environment
from tests.pipelines.validators import FOLDER, ROOT

EXAMPLES = ROOT / "tests" / "clients"
NO_ENGINE = {"DOCKER_HOST": "tcp://127.0.0.1:1"}
"""Nothing listens on port 1, so no engine is found, even where one runs."""


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A run in an environment without a container engine."""
    environment = {**plain_environment(), **NO_ENGINE}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def type_check_python(path: Path) -> str:
    """What mypy says of a program, with the types of the installed libraries."""
    words = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--python-executable"]
    done = run([*words, python(FOLDER), "--cache-dir", str(path.parent / ".mypy_cache"), str(path)], path.parent)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_python_example_fits_testcontainers(tmp_path: Path) -> None:
    text = (EXAMPLES / "testcontainers_python" / "orders.py").read_text()
    program = tmp_path / "orders.py"
    program.write_text(text)
    assert type_check_python(program) == ""
    program.write_text(text.replace("with_exposed_ports", "with_open_ports"))
    assert "with_open_ports" in type_check_python(program)
    done = run([python(FOLDER), str(EXAMPLES / "testcontainers_python" / "orders.py")], tmp_path)
    assert done.returncode == 1
    assert "DockerException" in done.stderr or "Connection refused" in done.stderr


def test_the_node_example_fits_testcontainers() -> None:
    folder = EXAMPLES / "testcontainers_node"
    path = node(folder)
    done = run([path, "node_modules/typescript/bin/tsc", "--noEmit"], folder)
    assert (done.returncode, done.stdout) == (0, "")
    done = run([path, "orders.mjs"], folder)
    assert done.returncode == 1
    assert "container runtime" in done.stderr


def test_the_go_example_fits_testcontainers(tmp_path: Path) -> None:
    done = run([go(EXAMPLES / "testcontainers_go")], tmp_path)
    assert done.returncode == 1
    assert re.search(r"docker|connection refused", done.stderr, re.IGNORECASE)
