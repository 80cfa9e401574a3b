"""Clients that are not Python: their libraries are fetched once, and again only when what asks for them has changed."""

import hashlib
import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

FETCH_TIMEOUT_SECONDS = 200
TRIES = 3


def program(name: str, needed_for: str) -> str:
    """Path of an installed program; without it, the test is skipped (and fails on CI, see tests/conftest.py)."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; {needed_for} needs it")
    return found


def node(folder: Path) -> str:
    """Path of Node, after `npm ci` in `folder`: its libraries are in `folder`/node_modules."""
    path = program("node", "the AWS SDK for JavaScript")
    command = [program("npm", "the AWS SDK for JavaScript"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    prepare(folder, command, ["package.json", "package-lock.json"], "node_modules")
    return path


def java(folder: Path) -> str:
    """Path of Java, after `mvn compile` in `folder`: classes in `folder`/target/classes, libraries in target/lib."""
    path = program("java", "the AWS SDK for Java")
    sources = sorted(source.relative_to(folder).as_posix() for source in folder.glob("src/**/*.java"))
    command = [program("mvn", "the AWS SDK for Java"), "-q", "-B", "compile"]
    prepare(folder, command, ["pom.xml", *sources], "target")
    return path


def aws_cli(folder: Path) -> list[str]:
    """The words that run the AWS CLI, after it was installed into `folder`/target, an environment of its own."""
    path = folder / "target" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not path.exists():
        venv.create(folder / "target", with_pip=True)
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    prepare(
        folder, [str(path), "-m", "pip", "install", *options, "-r", "requirements.txt"], ["requirements.txt"], "target"
    )
    return [str(path), "-m", "awscli"]


def prepare(folder: Path, command: list[str], asked_by: list[str], made: str) -> None:
    """Run `command` in `folder`, unless what is in `made` comes from the same files already."""
    digest = hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in asked_by)).hexdigest()
    stamp = folder / made / ".made-from"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    for tries_left in reversed(range(TRIES)):
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
            env={**os.environ, "CI": "true"},
            check=False,
        )
        if done.returncode == 0:
            stamp.write_text(digest)
            return
        if not tries_left:
            raise AssertionError(f"{' '.join(command)} failed in {folder}:\n{done.stdout}{done.stderr}")
