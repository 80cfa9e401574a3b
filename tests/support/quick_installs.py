"""How do tests that install into new environments spend little time there? With wheels that are kept, and with a Python
whose environments get a pip that is kept, instead of one that is unpacked and compiled for five seconds.
"""

import re
import shlex
import sys
import sysconfig
import venv
from pathlib import Path

from tests.clients.programs import WHEELS, environment, succeed
from tests.support.kept_builds import identity_of, kept_build

ROOT = Path(__file__).parents[2]
ROOTS = ("boto3", "hatchling")
"""Packages that are installed beside those of requirements.txt: the extra `aws`, and what builds the wheel."""
SCRIPT = """#!/bin/sh
# A Python whose environments get a pip that is kept.
[ "$1 $2" = "-m venv" ] || exec {python} "$@"
{python} -m venv --without-pip "$3"
cp -R {packages}/. "$3"/{site_packages}
printf '#!/bin/sh\\nexec "${{0%%/*}}/python" -m pip "$@"\\n' >"$3/bin/pip"
chmod +x "$3/bin/pip"
"""


def offline_variables() -> dict[str, str]:
    """Variables with which pip takes kept wheels of the locked versions, and compiles nothing that is not imported."""
    # Of options that begin with --no-, pip negates the variable.
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(kept_wheels()), "PIP_NO_COMPILE": "0"}


def kept_wheels() -> Path:
    """A folder with wheels of what Hashrange needs, and of ROOTS, in the versions of requirements-dev.txt."""
    files = ("requirements.txt", "requirements-dev.txt")
    serving, locked = ((ROOT / name).read_text(encoding="utf-8") for name in files)
    pins = {pin.partition("==")[0]: pin for pin in re.findall(r"^[\w.-]+==[^\s;]+", locked, re.MULTILINE)}
    wanted = [*re.findall(r"^([\w.-]+)==", serving, re.MULTILINE), *ROOTS]

    def build(place: Path) -> None:
        (place / "locked.txt").write_text("\n".join(pins.values()), encoding="utf-8")
        _, pip = environment(place / ".venv")
        options = ["--quiet", "--disable-pip-version-check", *WHEELS, "-d", ".", "-c", "locked.txt"]
        succeed(place, [*pip, "download", *options, *wanted])

    ingredients = [serving.encode(), locked.encode(), sys.version.encode()]
    return kept_build("wheels", ingredients, build)


def quick_python(folder: Path, name: str = "python3") -> Path:
    """Write a program `name` into the folder; it is the Python that made this environment."""
    python = sys._base_executable  # type: ignore[attr-defined]
    script = SCRIPT.format(
        python=shlex.quote(python),
        packages=shlex.quote(str(_kept_pip(python) / "packages")),
        site_packages=_site_packages("."),
    )
    path = folder / name
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    return path


def _kept_pip(python: str) -> Path:
    def build(place: Path) -> None:
        venv.create(place / ".venv", with_pip=True)
        (place / ".venv" / _site_packages(".")).rename(place / "packages")

    return kept_build("pip", [sys.version.encode(), identity_of(python)], build)


def _site_packages(home: str) -> str:
    return sysconfig.get_path("purelib", scheme="venv", vars={"base": home})
