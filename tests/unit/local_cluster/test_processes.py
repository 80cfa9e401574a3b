"""A process is found again by its id and its beginning, and only it is signalled."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.local_cluster.processes import ProcessMark, launch, process_state, send_signal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[ProcessMark]:
    mark = launch(["/bin/sleep", "600"], str(tmp_path), str(tmp_path / "log"))
    yield mark
    send_signal(mark, signal.SIGKILL)
    wait_until(lambda: process_state(mark) == "ended")


def test_a_process_runs_pauses_and_ends(sleeper: ProcessMark) -> None:
    assert process_state(sleeper) == "running"
    send_signal(sleeper, signal.SIGSTOP)
    wait_until(lambda: process_state(sleeper) == "paused")
    send_signal(sleeper, signal.SIGCONT)
    wait_until(lambda: process_state(sleeper) == "running")
    send_signal(sleeper, signal.SIGKILL)
    wait_until(lambda: process_state(sleeper) == "ended")


def test_a_later_process_with_the_same_id_is_not_signalled(sleeper: ProcessMark) -> None:
    former = ProcessMark(sleeper.pid, f"before {sleeper.began}")
    assert process_state(former) == "ended"
    send_signal(former, signal.SIGSTOP)
    send_signal(former, signal.SIGKILL)
    assert process_state(sleeper) == "running"


def test_what_nobody_has_waited_for_has_ended_too() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mark = mark_of(child.pid)
    assert process_state(mark) == "running"
    child.kill()
    try:
        wait_until(lambda: process_state(mark) == "ended")
    finally:
        child.communicate()
    assert process_state(mark) == "ended"


def mark_of(pid: int) -> ProcessMark:
    from hashrange.local_cluster import processes

    found = processes._look(pid)
    assert found is not None
    return ProcessMark(pid, found[1])


def test_no_process_has_ended() -> None:
    assert process_state(None) == "ended"
    send_signal(None, signal.SIGKILL)


def test_output_is_added_to_the_log_in_the_folder(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n", encoding="utf-8")
    script = "pwd; echo wrong >&2; ! read line && echo no input"
    mark = launch(["/bin/sh", "-c", script], str(tmp_path), str(log))
    wait_until(lambda: process_state(mark) == "ended")
    assert log.read_text(encoding="utf-8") == f"before\n{tmp_path}\nwrong\nno input\n"


def test_arguments_and_variables_arrive_as_they_are(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hard = "two words; $HOME `pwd` \"quoted\" 'too'"
    mark = launch(["/bin/sh", "-c", 'echo "$0" "$WORD"', hard], str(tmp_path), str(log), {"WORD": hard})
    wait_until(lambda: process_state(mark) == "ended")
    assert log.read_text(encoding="utf-8") == f"{hard} {hard}\n"
