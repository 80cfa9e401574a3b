"""A process is recognised by its limit, whatever its environment, and by its environment where no limit can be set."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hashrange.functions import marks
from hashrange.functions.marks import MARK_NAME, Mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are marks on Linux only")

OWN = "ff00000000000011.aa00000000000022"
SERVER = "ff00000000000011"
OTHERS = ("ff00000000000011.bb00000000000022", "fe00000000000011.aa00000000000022", "fe00000000000011")


@contextmanager
def sleeping(variables: dict[str, str], mark: Mark) -> Iterator[int]:
    """A process that waits for the end of its input."""
    process = subprocess.Popen(["/bin/cat"], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        mark.put_on(process.pid)
        process.stdin.write(b"a")
        process.stdout.read(1)  # the program is loaded, and has its environment
        yield process.pid
    finally:
        process.communicate()


def test_the_limit_is_enough() -> None:
    with sleeping({}, Mark.of(OWN)) as pid:
        assert all(Mark.of(text).is_limit_of(pid) and Mark.of(text).is_on(pid) for text in (OWN, SERVER))
        assert not any(Mark.of(text).is_on(pid) for text in OTHERS)


def test_the_limit_is_inherited() -> None:
    code = (
        "import subprocess, sys; sys.stdin.read(); print(subprocess.run(['cat', '/proc/self/limits'], env={},"
        " capture_output=True).stdout)"
    )
    mark = Mark.of(OWN)
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    mark.put_on(process.pid)
    output, _ = process.communicate()
    assert f"{mark.soft_limit} " in output
    assert f"{mark.hard_limit} " in output


def test_the_entry_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise PermissionError

    monkeypatch.setattr("resource.prlimit", refuse)
    with sleeping({MARK_NAME: OWN}, Mark.of(OWN)) as pid:
        assert all(Mark.of(text).is_on(pid) for text in (OWN, SERVER))
        assert not any(Mark.of(text).is_on(pid) or Mark.of(text).is_limit_of(pid) for text in OTHERS)
        assert not Mark.of(OWN).is_limit_of(pid)


def test_others_have_no_mark() -> None:
    assert os.getpid() not in marks.all_pids()
    assert os.getppid() in marks.all_pids()
    assert not any(Mark.of(text).is_on(os.getpid()) for text in (OWN, SERVER, *OTHERS, "", "other"))
