"""The Python of the right version is found, even behind the scripts of version managers; else the server's own runs."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from hashrange.functions import programs
from hashrange.functions.programs import ProgramMissing, find_command
from tests.unit.functions.world import NODE, PYTHON, World


def script(folder: Path, name: str, text: str) -> None:
    """An executable script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, sys.executable),
        ("exit 127", sys.executable),
        ("echo /not/there", sys.executable),
        ("sleep 1000000", sys.executable),
        ("echo /bin/sh", "/bin/sh"),
    ],
)
def test_a_python_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, found: str) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin" if text and text.startswith("sleep") else str(tmp_path))
    monkeypatch.setattr(programs, "_PROBE_SECONDS_MAX", 0.2 if text and text.startswith("sleep") else 60.0)
    if text:
        script(tmp_path, "python3.99", text)
    command = asyncio.run(find_command(World(tmp_path).runnable(runtime="python3.99")))
    assert command[:2] == [found, "-u"]


def test_code_in_place_runs_under_the_servers_own_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    script(tmp_path, PYTHON, "echo /bin/sh")
    for watched, found in ((None, "/bin/sh"), (str(tmp_path), sys.executable)):
        assert asyncio.run(find_command(World(tmp_path).runnable(watched=watched)))[0] == found


def test_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    runnable = World(tmp_path).runnable(runtime=NODE, memory_mb=1000)
    with pytest.raises(ProgramMissing, match=r"node could not be started: it is not on PATH. Install Node.js 20 \("):
        asyncio.run(find_command(runnable))
    script(tmp_path, "node", "exit 0")
    command = asyncio.run(find_command(runnable))
    assert command[:3] == [str(tmp_path / "node"), "--max-old-space-size=900", "--max-semi-space-size=50"]


def test_another_version_than_the_runtimes_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_warned", set())
    monkeypatch.setattr(programs, "_nodes", {})
    script(tmp_path, "node", "echo v18.19.1")
    for runtime in ("python3.98", "nodejs22.x", "nodejs18.x", PYTHON) * 2:
        asyncio.run(find_command(World(tmp_path).runnable(runtime=runtime)))
    own = f"Python 3.{sys.version_info.minor}"
    python, node = caplog.messages
    assert python == (
        f"There is no python3.98 on PATH, so functions of this runtime run under {own}, which runs this server."
        " Install Python 3.98 to run them under the version that they name."
    )
    assert node == (
        f"The node on PATH is Node.js 18, so functions of the runtime nodejs22.x run under that ({tmp_path / 'node'})."
        " Put Node.js 22 on the server's PATH to run them under the version that they name."
    )
