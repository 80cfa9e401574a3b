"""In which environments do the suites run? Hashrange as an installed package, and moto, each in a virtual
environment of its own below .bench/.

Both have the same pytest, boto3 and botocore as the environment of the sources, and nothing of each other.
"""

import shutil
import sys
import venv
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers import ROOT, home, run_installer

MOTO = "moto[dynamodb]==5.2.5"
COMMON = ("pytest", "boto3", "botocore")
SERVING = ("greenlet", "httptools", "msgspec", "rocksdict", "uvloop", "zlib-ng")
"""What Hashrange needs."""
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
CHOSEN = "chosen.txt"
"""File in an environment with the requirements that it was made for."""


def as_here(*names: str) -> list[str]:
    """The versions of these packages that the environment of the sources has."""
    return [f"{name}=={version(name)}" for name in names]


def environment(name: str, requirements: list[str]) -> str:
    """Python of an environment with these packages, made if it is missing or was made for others;
    raises NotInstallable.
    """
    folder = home() / "testkit" / name
    python, chosen = folder / "bin" / "python", folder / CHOSEN
    wanted = "\n".join([sys.version, *requirements])
    if not chosen.exists() or chosen.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        run_installer([str(python), *PIP, *requirements], " and ".join(requirements))
        chosen.write_text(wanted, encoding="utf-8")
    return str(python)


def python_with_hashrange() -> str:
    """Python of an environment in which a wheel of this checkout is installed; raises NotInstallable."""
    python = environment("hashrange", as_here(*COMMON, *SERVING))
    wheels = home() / "testkit" / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    run_installer([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)], "a wheel", ROOT)
    (wheel,) = wheels.glob("*.whl")
    run_installer([python, *PIP, "--no-deps", "--force-reinstall", str(wheel)], Path(wheel).name)
    return python


def python_with_moto() -> str:
    """Python of an environment with moto; raises NotInstallable."""
    return environment("moto", [*as_here(*COMMON), MOTO])
