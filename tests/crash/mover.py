"""The process of a kill test that moves items: a command that kills itself at a step.

Steps are before and after each request, each half of a write to the output, and each replacement of the file that keeps
how far the command is.
"""

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import boto3  # noqa: F401 - imported before the fork, because it takes long

from hashrange.cli.main import main
from hashrange.toolkit.moving import copy_job
from hashrange.toolkit.moving.output_file import OutputFile
from hashrange.toolkit.moving.progress_file import ProgressFile
from hashrange.toolkit.moving.raw_client import RawClient


def move_until_killed(
    words: list[str], moment: int, variables: dict[str, str], reports: "Connection[Any, Any]"
) -> None:
    """Run a command line, which kills itself at this step, counted from 1; reports its exit code if it is not."""
    os.environ.update(variables)
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    let_step(step)
    copy_job.FOLLOWED_PAUSE_SECONDS = 0
    reports.send_bytes(str(main(words)).encode())
    os._exit(0)


def let_step(step: Callable[[], None]) -> None:
    """Let everything that a kill may come between count as a step."""
    write, send, replace, keep = OutputFile.write, RawClient.send, os.replace, ProgressFile._write

    def write_halves(self: OutputFile, piece: bytes) -> None:
        middle = len(piece) // 2
        step()
        write(self, piece[:middle])
        step()
        write(self, piece[middle:])

    def send_between(self: RawClient, *members: Any) -> bytes:
        step()
        reply = send(self, *members)
        step()
        return reply

    def replace_between(*paths: Any) -> None:
        step()
        replace(*paths)
        step()

    def keep_between(self: ProgressFile[Any], state: Any) -> None:
        step()
        keep(self, state)

    setattr(OutputFile, "write", write_halves)  # noqa: B010 - mypy refuses assignments to methods
    setattr(RawClient, "send", send_between)  # noqa: B010
    setattr(ProgressFile, "_write", keep_between)  # noqa: B010
    setattr(os, "replace", replace_between)  # noqa: B010
