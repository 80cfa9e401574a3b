"""How does a test wait for what must come? Until it has come; a time-out only ends a test that would hang, and proves nothing."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0
"""Longer than anything takes on a slow machine that has other tests to run as well."""
LOOK_SECONDS = 0.0005


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until it is so: for what has no event to wait for."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(LOOK_SECONDS)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until another process or thread has made it so."""
    deadline_seconds = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline_seconds, "it has not come"
        time.sleep(LOOK_SECONDS)
