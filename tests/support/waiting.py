"""How does a test wait for an event? Until it has happened; the time-out only ends a test that
would hang, and proves nothing.
"""

import asyncio
import time
from collections.abc import Callable, Iterator

from hashrange.jobs.runner import Runner

PATIENCE_SECONDS = 60.0
"""Longer than any event takes on a slow machine that runs other tests too."""
LOOK_SECONDS, LOOK_SECONDS_MAX = 0.0005, 0.01
"""The pause after the first look; each later pause is twice as long, up to the second of these figures,
because looks take time from those who make the event happen.
"""


def pauses() -> Iterator[float]:
    """The pauses between looks."""
    pause_seconds = LOOK_SECONDS
    while True:
        yield pause_seconds
        pause_seconds = min(2 * pause_seconds, LOOK_SECONDS_MAX)


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until the condition holds: for conditions without an event."""
    pause_seconds = pauses()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(next(pause_seconds))


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until another process or thread has made the condition true."""
    deadline_seconds = time.monotonic() + PATIENCE_SECONDS
    pause_seconds = pauses()
    while not condition():
        assert time.monotonic() < deadline_seconds, "it has not come"
        time.sleep(next(pause_seconds))


async def until_at_rest(jobs: Runner) -> None:
    """Return once all jobs rest. Raises the error of a job whose last slice failed."""
    await jobs.all_at_rest()
    jobs.require_no_failure()
