"""Process-level setup around a server: the event loop, and signal handlers, which are restored at the end."""

import asyncio
import os
import signal

import pytest

from hashrange.server.app import handled_signals, run_on_best_loop
from tests.support.waiting import PATIENCE_SECONDS


def test_the_best_loop_is_uvloop_where_it_exists() -> None:
    kinds: list[str] = []

    async def main() -> None:
        kinds.append(type(asyncio.get_running_loop()).__module__)

    run_on_best_loop(main())
    assert kinds == ["uvloop"]


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_heard_and_given_back(name: signal.Signals) -> None:
    before = signal.getsignal(name)

    async def main() -> None:
        heard = asyncio.Event()
        with handled_signals(asyncio.get_running_loop(), heard.set):
            os.kill(os.getpid(), name)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await heard.wait()

    run_on_best_loop(main())
    assert signal.getsignal(name) in {before, signal.SIG_DFL, signal.default_int_handler}
