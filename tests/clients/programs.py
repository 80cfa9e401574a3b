"""Clients in other languages: their libraries are fetched once, and again only when a manifest has changed."""

import hashlib
import json
import os
import re
import subprocess
import sys
import venv
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support.left_out import installed

FETCH_TIMEOUT_SECONDS = 130
GO_LEAST = (1, 21)
TRIES = 2
"""Number of tries, because registries fail now and then; both tries together stay within pytest's time limit."""


def program(name: str, least: int = 0) -> str:
    """Path of an installed program, of at least this version; without it the test is skipped."""
    found = installed(name)
    if least:
        said = said_by(found, "--version")
        version = re.search(r"\d+", said)
        assert version, said
        if int(version[0]) < least:
            pytest.skip(f"{name} {version[0]} is too old; the AWS SDK needs {least}")
    return found


@cache
def said_by(*command: str) -> str:
    """Output of a command, which must succeed; it is run once."""
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout


def node(folder: Path) -> str:
    """Path of Node, after `npm ci` in `folder`: its libraries are in `folder`/node_modules."""
    path = program("node", least=20)
    command = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    prepare(folder, command, ["package.json", "package-lock.json"], "node_modules")
    return path


def java(folder: Path) -> str:
    """Path of Java, after `mvn compile` in `folder`: classes in `folder`/target/classes, libraries in target/lib."""
    path = program("java", least=17)
    sources = sorted(source.relative_to(folder).as_posix() for source in folder.glob("src/**/*.java"))
    prepare(folder, [program("mvn"), "-q", "-B", "compile"], ["pom.xml", *sources], "target")
    return path


def go(folder: Path) -> str:
    """Path of the program that `go build` makes of `folder`: `folder`/target/smoke."""
    path = program("go")
    version = said_by(path, "env", "GOVERSION").strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < GO_LEAST:
        pytest.skip(f"{version} is too old; from go1.21 on, Go fetches the version that the AWS SDK needs")
    output = "target/smoke.exe" if os.name == "nt" else "target/smoke"
    sources = sorted(source.name for source in folder.glob("*.go"))
    prepare(folder, [path, "build", "-buildvcs=false", "-o", output, "."], ["go.mod", "go.sum", *sources], "target")
    return str(folder / output)


def aws_cli(folder: Path) -> list[str]:
    """The words that run the AWS CLI, which is installed into `folder`/.venv, an environment of its own."""
    return [python(folder, "--only-binary", ":all:"), "-m", "awscli"]


def python(folder: Path, *more: str) -> str:
    """Path of the Python of `folder`/.venv, an environment with exactly the packages of requirements.txt.
    `more`: options of pip. Modules are compiled when they are imported, which most never are.
    """
    path, pip = environment(folder / ".venv")
    options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", *more]
    prepare(folder, [*pip, "install", *options, "-r", "requirements.txt"], ["requirements.txt"], ".venv")
    return str(path)


def environment(folder: Path) -> tuple[Path, list[str]]:
    """Path of the Python of an environment, which is made if it is not there, and the words of a pip for it:
    that of this environment, if it has one, because another pip takes five seconds to install.
    """
    path = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    has_pip = find_spec("pip") is not None
    if not path.exists():
        venv.create(folder, with_pip=not has_pip)
    return path, [sys.executable, "-m", "pip", "--python", str(path)] if has_pip else [str(path), "-m", "pip"]


def heard(command: list[str], folder: Path) -> Any:
    """The JSON that an application prints; fails when the application reports an error."""
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def prepare(folder: Path, command: list[str], asked_by: list[str], made: str) -> None:
    """Run `command` in `folder`, unless `made` was made from the same files."""
    digest = hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in asked_by)).hexdigest()
    stamp = folder / made / ".made-from"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    said = ""
    for _ in range(TRIES):
        is_done, said = fetch(folder, command)
        if is_done:
            stamp.write_text(digest)
            return
    raise AssertionError(f"{' '.join(command)} failed in {folder}:\n{said}")


def fetch(folder: Path, command: list[str]) -> tuple[bool, str]:
    """Whether the command succeeded, and its output."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"It did not end within {FETCH_TIMEOUT_SECONDS} seconds."
    return done.returncode == 0, done.stdout
