"""How does the first minute with Hashrange look? The commands of README.md run in a copy of this repository,
and their terminal is recorded.

`python docs/record.py` writes docs/first-minute.cast, in asciinema's format: a line of JSON with the size
of the terminal, then one for each output, `[seconds, "o", text]` (https://docs.asciinema.org/manual/asciicast/v2/).
tests/packaging/test_first_minute.py runs the commands again and compares.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

ROOT = Path(__file__).parents[1]
CAST = ROOT / "docs" / "first-minute.cast"
HEADER = {"version": 2, "width": 120, "height": 24, "title": "Hashrange: the first minute"}
PROGRAM = "docs/first_query.py"
README_PORT = "8000"
END = "\x1e"
"""The shell prints it when a command has ended."""
HIDDEN = re.compile(r"HASHRANGE_|AWS_|PYTHON|VIRTUAL_ENV$|HOME$|PIP_QUIET$")
"""Variables of this shell that a new user does not have."""


class Shown(NamedTuple):
    """What the terminal shows at a moment."""

    seconds: float
    text: str


def first_commands(readme: str) -> list[str]:
    """The commands with which README.md begins."""
    (block, *_) = re.findall(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return str(block).splitlines()


def copy_repository(folder: Path) -> None:
    """Copy all files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_first_minute(folder: Path, port: int = int(README_PORT)) -> Iterator[Shown]:
    """Copy the repository into an empty folder, run the commands there, and yield what a terminal shows, as it comes.

    `port` is used instead of README's; 0 is any free one. Raises RuntimeError if a command fails.
    """
    clone, home = folder / "hashrange", folder / "home"
    home.mkdir()
    copy_repository(clone)
    with _Shell(clone, home, port) as shell:
        for command in first_commands((ROOT / "README.md").read_text(encoding="utf-8")):
            yield from shell.run(command)


class _Shell:
    """A shell of a user who has nothing yet; its commands share one terminal."""

    def __init__(self, folder: Path, home: Path, port: int) -> None:
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if not HIDDEN.match(name)}
        # SLF001: the Python that made this environment
        python_folder = str(Path(sys._base_executable).parent)  # type: ignore[attr-defined]  # noqa: SLF001
        path = os.pathsep.join([python_folder, os.environ["PATH"]])
        self._began_seconds = time.monotonic()
        self._process = subprocess.Popen(
            ["sh"],
            cwd=folder,
            env=kept | {"HOME": str(home), "PATH": path, "HASHRANGE_PORT": str(port), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End the shell and the server that it has started."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.communicate()

    def run(self, command: str) -> Iterator[Shown]:
        """Run one command; one in the background has been started when it has said how it is called."""
        yield self._shown(f"$ {command}\n")
        is_background = command.endswith("&")
        told = f"{{ {command.removesuffix('&')}\nprintf '{END}%s\\n' $?; }}"
        self._input.write(f"{told} &\n" if is_background else f"{told}\n")
        self._input.flush()
        for line in self._output:
            text, end, code = line.partition(END)
            if text:
                yield self._shown(text)
            if end and (is_background or code.strip() != "0"):
                raise RuntimeError(f"{command} ended with the exit code {code.strip()}.")
            if end:
                return
            if is_background and (found := re.search(r"=http://[\w.]+:(\d+)", text)):
                self._use_port(found[1])
                return
        raise RuntimeError(f"The shell has ended during {command}.")

    def _use_port(self, port: str) -> None:
        program = self._folder / PROGRAM
        text = program.read_text(encoding="utf-8")
        program.write_text(text.replace(f"localhost:{README_PORT}", f"localhost:{port}"), encoding="utf-8")

    def _shown(self, text: str) -> Shown:
        return Shown(time.monotonic() - self._began_seconds, text)


def write_cast(shown: list[Shown]) -> str:
    """The text of a recording; in a terminal, a carriage return precedes each line feed."""
    lines = [json.dumps(HEADER)]
    lines += [json.dumps([round(one.seconds, 3), "o", one.text.replace("\n", "\r\n")]) for one in shown]
    return "\n".join(lines) + "\n"


def read_cast(text: str) -> list[Shown]:
    """What a recording shows."""
    events = [json.loads(line) for line in text.splitlines()[1:]]
    return [Shown(seconds, output.replace("\r\n", "\n")) for seconds, _, output in events]


def main() -> None:
    """Record, and show it meanwhile."""
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        for one in run_first_minute(Path(folder)):
            print(one.text, end="", flush=True)
            shown.append(one)
    CAST.write_text(write_cast(shown), encoding="utf-8")
    print(f"\nThe first minute took {shown[-1].seconds:.1f} seconds. Written: {CAST.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
