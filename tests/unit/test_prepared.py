"""Is a start by the prepared process (tests/support/prepared) like any other? Each test starts Hashrange both ways."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.prepared.starts import COMMAND, PreparedPopen, start_hashrange

pytestmark = pytest.mark.skipif(start_hashrange is subprocess.Popen, reason="there is no prepared process here")
WAYS: list[Any] = [subprocess.Popen, PreparedPopen]


def started(way: Any, *words: str, **options: Any) -> Any:
    return way([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(way: Any, *words: str, **options: Any) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    with started(way, *words, **options) as process:
        output, errors = process.communicate()
        return process.returncode, output, errors


@pytest.mark.parametrize("words", [["version"], ["serve", "--nothing"], ["check", "no-folder"]])
def test_a_command_prints_and_ends_as_always(words: list[str], tmp_path: Path) -> None:
    new, prepared = (ended(way, *words, cwd=tmp_path) for way in WAYS)
    assert prepared == new


@pytest.mark.parametrize("way", WAYS)
def test_a_server_has_its_folder_and_variables(way: Any, tmp_path: Path) -> None:
    variables = {**os.environ, "HASHRANGE_PORT": "0", "HASHRANGE_DATA_DIR": "here"}
    with started(way, "serve", cwd=tmp_path, env=variables) as process:
        assert "in here" in process.stdout.readline()
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        assert os.getpgid(process.pid) == os.getpgrp()
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=100)[1] == ""
        assert process.returncode == process.poll() == 0
    assert (tmp_path / "here").is_dir()
    assert "HASHRANGE_PORT" not in os.environ


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_killed_says_so(way: Any, tmp_path: Path) -> None:
    with started(way, "serve", "--in-memory", "--port", "0") as process:
        assert "http://127.0.0.1:" in process.stdout.readline()
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert process.stdout.readline() != ""
        assert process.stdout.readline() == "", "nobody else has the pipe"


@pytest.mark.parametrize("way", WAYS)
def test_the_streams_may_be_files(way: Any, tmp_path: Path) -> None:
    with (tmp_path / "both").open("w") as file, way([*COMMAND, "version"], stdout=file, stderr=subprocess.STDOUT) as it:
        assert it.wait() == 0
    assert (tmp_path / "both").read_text().startswith("hashrange ")
