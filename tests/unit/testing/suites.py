"""Test suites that are run by a pytest of their own, also in environments with other libraries."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.clients.programs import WHEELS, environment, succeed
from tests.support.kept_builds import identity_of, kept_build

SOURCE = Path(__file__).parents[3] / "src"
HERE = Path(__file__).parent
NO_OTHER_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
"""Variables of a pytest that loads no plugin but those that its command names: hypothesis takes half of a start."""


def command_of(*options: str, python: str = sys.executable) -> list[str]:
    """The words that run pytest with the plugin in the current folder."""
    plugins = ["-p", "hashrange.testing.pytest_plugin", "-p", "no:cacheprovider"]
    return [python, "-m", "pytest", "-q", "-W", "error", *plugins, *options]


def run_pytest(
    folder: Path,
    text: str,
    *options: str,
    python: str = sys.executable,
    variables: dict[str, str] | None = None,
) -> str:
    """What pytest says of a suite with this text."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        command_of(*options, python=python),
        cwd=folder,
        env=os.environ | NO_OTHER_PLUGINS | {"PYTHONPATH": str(SOURCE)} | (variables or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def python_with(name: str) -> str:
    """Python of an environment with the libraries that `name`/requirements.txt pins,
    and with this environment's others.
    """
    files = [HERE / name / "requirements.txt", HERE / "with_moto" / "requirements.txt"]
    python, _ = environment(HERE / name / ".venv")

    def build(place: Path) -> None:
        options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", *WHEELS]
        _, pip = environment(place / ".venv")
        succeed(place, [*pip, "install", *options, "-r", str(files[0])])

    ingredients = [sys.version.encode(), identity_of(sys.executable), *(file.read_bytes() for file in files)]
    libraries = _libraries_of(kept_build(name, ingredients, build) / ".venv")
    others = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    paths = [str(libraries), *sorted(others)]
    places = _libraries_of(HERE / name / ".venv") / "others.pth"
    places.write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    return str(python)


def _libraries_of(folder: Path) -> Path:
    """Where an environment has its libraries."""
    home = {"base": str(folder), "platbase": str(folder)}
    return Path(sysconfig.get_path("purelib", scheme="venv", vars=home))
