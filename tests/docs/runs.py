"""How are a page's examples run? Its Python as a suite of pytest, its commands in a shell,
against servers that they start.

The examples of a page share a folder, which holds their files.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.clients.programs import program
from tests.clients.serving import ServerProcess
from tests.docs.pages import Example
from tests.support.prepared.starts import COMMAND, start_hashrange
from tests.unit.testing.suites import NO_OTHER_PLUGINS, SOURCE, command_of, python_with

RUN_TIMEOUT_SECONDS = 100
"""It only ends a run that would hang."""
NEEDS_LIBRARIES = re.compile(r"^\s*(?:import|from) (?:moto|aioboto3)\b", re.MULTILINE)
ANY_SERVER = "http://127.0.0.1:PORT"
"""Stands in the pages for any server with an admin API."""
DEFAULT_PORT = "8000"
PLUGIN_OPTIONS = "-p hashrange.testing.pytest_plugin -p xdist.plugin -p no:cacheprovider -W error"
LOG = "server.log"
"""File with the log of a page's servers, in the page's folder."""
CURL_OPTIONS = "fail\nsilent\nshow-error\nwrite-out = \\n\n"


def write_files(examples: list[Example], folder: Path) -> None:
    """Write the files that the examples make; examples of one file are joined."""
    files: dict[str, str] = {}
    for example in examples:
        if example.language in {"python", "toml"}:
            before = files.get(example.file, "")
            files[example.file] = before + example.content[before.count("\n") :]
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def run_python(examples: list[Example], folder: Path) -> None:
    """Run all Python examples of a page with one pytest; all must pass."""
    write_files(examples, folder)
    is_plain = not any(NEEDS_LIBRARIES.search(example.text) for example in examples)
    python = sys.executable if is_plain else python_with("with_aioboto3")
    done = subprocess.run(
        command_of(python=python),
        cwd=folder,
        env=os.environ
        | NO_OTHER_PLUGINS
        | {
            "PYTHONPATH": str(SOURCE),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        },
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed in ", done.stdout, re.MULTILINE), done.stdout


class PageServer(ServerProcess):
    """A server that a command of a page starts, on a free port instead of the page's."""

    def __init__(self, command: str, folder: Path) -> None:
        """`command`: `hashrange …` that serves."""
        words = shlex.split(command)[1:]
        self.page_port = _take_option(words, "--port") or _take_option(words, "-port") or DEFAULT_PORT
        self.page_dax_port = _take_option(words, "--dax-port")
        if self.page_dax_port:
            words += ["--dax-port", "0"]
        self.words = [*words, "--port" if words[:1] == ["serve"] else "-port", "0"]
        self.folder = folder
        self.log = folder / LOG
        self.start()

    def start(self) -> None:
        """Start, and wait for the line with the endpoint."""
        with (self.folder / LOG).open("a") as errors:
            self.process = start_hashrange(
                [*COMMAND, *self.words],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(SOURCE)},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found is None:
            self.process.communicate()
            raise AssertionError(line or (self.folder / LOG).read_text())
        self.endpoint = found[0]
        dax = re.search(r"dax://127\.0\.0\.1:\d+", line)
        self.dax_endpoint = None if dax is None else dax[0]


def _take_option(words: list[str], flag: str) -> str | None:
    """Remove an option and its value; returns the value, or None if it is not there."""
    if flag not in words:
        return None
    place = words.index(flag)
    value = words[place + 1]
    del words[place : place + 2]
    return value


class Commands:
    """The commands of one page, and the servers that they have started; a context manager."""

    def __init__(self, examples: list[Example], folder: Path, python: str = sys.executable) -> None:
        """`python`: that of the page's programs."""
        write_files(examples, folder)
        self._examples, self._folder, self._python = examples, folder, python
        self._exports: list[str] = []
        """Lines that set variables for all later commands."""
        self._addresses: dict[str, str] = {}
        """Address in the page → endpoint that takes its place."""
        self._servers: list[PageServer] = []
        self._programs = folder / ".programs"
        self._programs.mkdir()
        (self._programs / ".curlrc").write_text(CURL_OPTIONS, encoding="utf-8")
        self.add_program("hashrange", [sys.executable, "-m", "hashrange"])

    def add_program(self, name: str, words: list[str]) -> None:
        """Let commands find a program of this name, which runs these words."""
        path = self._programs / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        path.chmod(0o755)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.stop()

    def run(self, text: str) -> str:
        """Run one block of commands, which must all succeed; returns their output.
        A line that serves starts a server.
        """
        lines = []
        for line in text.replace("\\\n", " ").splitlines():
            if re.match(r"hashrange (serve\b|-)", line):
                self._serve(line)
            elif line.startswith("export "):
                self._exports.append(line)
            else:
                lines.append(line)
        script = "\n".join([*self._exports, *lines])
        if "curl" in script:
            program("curl")
        if ANY_SERVER in script and ANY_SERVER not in self._addresses:
            self._addresses[ANY_SERVER] = self._start("hashrange serve --in-memory --admin").endpoint
        script = self._placed(script)
        assert not re.search(r"^curl .*localhost", script, re.MULTILINE), (
            f"no server of the page serves there: {script}"
        )
        return self._shell(script)

    @property
    def endpoint(self) -> str:
        """The endpoint of the server on the default port."""
        return self._addresses[f"http://localhost:{DEFAULT_PORT}"]

    def _start(self, command: str) -> PageServer:
        server = PageServer(command, self._folder)
        self._servers.append(server)
        return server

    def _serve(self, line: str) -> None:
        server = self._start(line.removesuffix("&"))
        for host in ("localhost", "127.0.0.1"):
            self._addresses[f"http://{host}:{server.page_port}"] = server.endpoint
        if server.dax_endpoint is not None:
            self._addresses[f"dax://127.0.0.1:{server.page_dax_port}"] = server.dax_endpoint
        write_files([one._replace(text=self._placed(one.text)) for one in self._examples], self._folder)

    def _placed(self, text: str) -> str:
        """A text of the page with the addresses of the servers that run."""
        for address, endpoint in self._addresses.items():
            text = text.replace(address, endpoint)
        return text

    def _shell(self, script: str) -> str:
        """Run a script in which `hashrange` and `pytest` are this environment's."""
        endpoint = self._addresses.get(f"http://localhost:{DEFAULT_PORT}")
        path = [
            str(self._programs),
            str(Path(self._python).parent),
            str(Path(sys.executable).parent),
            os.environ["PATH"],
        ]
        done = subprocess.run(
            [program("sh"), "-eu"],
            input=script,
            cwd=self._folder,
            env=os.environ
            | NO_OTHER_PLUGINS
            | {
                "PATH": os.pathsep.join(path),
                "PYTHONPATH": str(SOURCE),
                "PYTEST_ADDOPTS": PLUGIN_OPTIONS,
                "CURL_HOME": str(self._programs),
            }
            | ({"AWS_ENDPOINT_URL_DYNAMODB": endpoint} if endpoint else {}),
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


def run_commands(examples: list[Example], folder: Path) -> None:
    """Run all commands of a page in order. JSON behind commands is the form of their last reply."""
    said = ""
    with Commands(examples, folder) as commands:
        for example in examples:
            if example.language == "sh":
                said = commands.run(example.text)
            elif example.language == "json" and said.strip():
                assert form_of(json.loads(said.splitlines()[-1])) == form_of(json.loads(example.text)), said


def form_of(value: Any) -> Any:
    """The same value with the names of types in the place of texts and numbers, and one member of each list."""
    match value:
        case dict():
            return {name: form_of(member) for name, member in value.items()}
        case list():
            return [form_of(member) for member in value[:1]]
        case int() | float():
            return "number"
        case _:
            return type(value).__name__
