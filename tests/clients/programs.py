"""Clients in other languages: their libraries are fetched and their programs built once, and again only when a source,
a manifest or a tool has changed (tests/support/kept_builds.py).
"""

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support.kept_builds import identity_of, kept_build, show_in
from tests.support.left_out import installed

TESTS = Path(__file__).parents[1]

FETCH_TIMEOUT_SECONDS = 130
GO_LEAST = (1, 21)
WHEELS = ("--only-binary", ":all:")
"""Options of pip, for packages of which none must be built."""
SHORT_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of programs that end before Java has compiled them well."""
MAVEN_VARIABLES = {"MAVEN_OPTS": " ".join([os.environ.get("MAVEN_OPTS", ""), *SHORT_JAVA])}
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
    """Path of Node, after `npm ci` for `folder`: its libraries are in `folder`/node_modules."""
    path = program("node", least=20)
    npm = program("npm")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    prepare(folder, [command], ["package.json", "package-lock.json", ".npmrc"], "node_modules", [path, npm])
    return path


def java(folder: Path) -> str:
    """Path of Java, after `mvn compile` for `folder`: classes in `folder`/target/classes, libraries in target/lib."""
    path = program("java", least=17)
    maven = program("mvn")
    sources = sorted(source.relative_to(folder).as_posix() for source in folder.glob("src/**/*.java"))
    prepare(folder, [[maven, "-q", "-B", "compile"]], ["pom.xml", *sources], "target", [path, maven])
    return path


def go(folder: Path) -> str:
    """Path of the program that `go build` makes of `folder`: `folder`/target/smoke."""
    return _go(folder, "smoke", lambda path, output: [[path, "build", "-buildvcs=false", "-o", output, "."]])


def go_tests(folder: Path) -> str:
    """Path of the program that `go test` makes of `folder`, and would run: `folder`/target/tests."""
    return _go(folder, "tests", lambda path, output: [[path, "vet", "."], [path, "test", "-c", "-o", output, "."]])


def _go(folder: Path, name: str, commands: Callable[[str, str], list[list[str]]]) -> str:
    path = program("go")
    version = said_by(path, "env", "GOVERSION").strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < GO_LEAST:
        pytest.skip(f"{version} is too old; from go1.21 on, Go fetches the version that the AWS SDK needs")
    output = f"target/{name}.exe" if os.name == "nt" else f"target/{name}"
    sources = sorted(source.name for source in folder.glob("*.go"))
    prepare(folder, commands(path, output), ["go.mod", "go.sum", *sources], "target", [path])
    return str(folder / output)


def aws_cli(folder: Path) -> list[str]:
    """The words that run the AWS CLI, which is installed into `folder`/.venv, an environment of its own."""
    return [python(folder, *WHEELS), "-m", "awscli"]


def python(folder: Path, *more: str) -> str:
    """Path of the Python of `folder`/.venv, an environment with exactly the packages of requirements.txt.
    `more`: options of pip. Modules are compiled when they are imported, which most never are.
    """
    requirements = (folder / "requirements.txt").read_bytes()

    def build(place: Path) -> None:
        (place / "requirements.txt").write_bytes(requirements)
        _, pip = environment(place / ".venv")
        options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", *more]
        succeed(place, [*pip, "install", *options, "-r", "requirements.txt"])

    ingredients = [requirements, sys.version.encode(), identity_of(sys.executable), repr(more).encode()]
    show_in(folder, ".venv", kept_build(name_of(folder, ".venv"), ingredients, build) / ".venv")
    return str(python_of(folder / ".venv"))


def python_of(folder: Path) -> Path:
    """Path of the Python of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment(folder: Path) -> tuple[Path, list[str]]:
    """Path of the Python of an environment, which is made if it is not there, and the words of a pip for it:
    that of this environment, if it has one, because another pip takes five seconds to install.
    """
    path = python_of(folder)
    has_pip = find_spec("pip") is not None
    if not path.exists():
        venv.create(folder, with_pip=not has_pip)
    return path, [sys.executable, "-m", "pip", "--python", str(path)] if has_pip else [str(path), "-m", "pip"]


def heard(command: list[str], folder: Path) -> Any:
    """The JSON that an application prints; fails when the application reports an error."""
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def prepare(
    folder: Path, commands: list[list[str]], asked_by: list[str], made: str, tools: Iterable[str], beside: str = ""
) -> None:
    """Let `folder`/`made` be what commands make of the files `asked_by`, in a folder that is kept.

    `tools`: paths of the programs that build. `beside`: a folder that the commands find beside the files.
    """
    sources = {name: (folder / name).read_bytes() for name in asked_by if (folder / name).exists()}

    def build(place: Path) -> None:
        for name, content in sources.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        if beside:
            show_in(place, beside, (folder / beside).resolve())
        for command in commands:
            succeed(place, command)

    ingredients = [repr(commands).encode(), *map(identity_of, tools)]
    ingredients += [part for name, content in sources.items() for part in (name.encode(), content)]
    show_in(folder, made, kept_build(name_of(folder, made), ingredients, build) / made)


def name_of(folder: Path, made: str) -> str:
    """The name of a build, in the cache."""
    parts = folder.relative_to(TESTS).parts if folder.is_relative_to(TESTS) else folder.parts[-1:]
    return "-".join([*parts, made.strip(".")])


def succeed(folder: Path, command: list[str]) -> None:
    """Run a command, which may fail once, because registries fail now and then."""
    said = ""
    for _ in range(TRIES):
        is_done, said = fetch(folder, command)
        if is_done:
            return
    raise AssertionError(f"{' '.join(command)} failed in {folder}:\n{said}")


def fetch(folder: Path, command: list[str]) -> tuple[bool, str]:
    """Whether the command succeeded, and its output."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | MAVEN_VARIABLES,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"It did not end within {FETCH_TIMEOUT_SECONDS} seconds."
    return done.returncode == 0, done.stdout
