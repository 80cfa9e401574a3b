"""How long is something waited for at an endpoint, and when is a request sent again that was refused because what it is
about is still being made?
"""

import random
import threading
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from hashrange.toolkit.failures import ToolkitFailure

ReplyT = TypeVar("ReplyT")
FIRST_PAUSE_SECONDS = 0.05
PAUSE_SECONDS_MAX = 5.0
BEING_MADE_CODES, BEING_MADE_TRIES = {"ContinuousBackupsUnavailableException"}, 60
"""AWS refuses point-in-time recovery of a table that has just been created for some seconds."""
JITTERED_SECONDS_MAX = 20.0


def pauses() -> Iterator[None]:
    """Yields at once, and again after pauses that become longer."""
    pause, seconds = threading.Event(), FIRST_PAUSE_SECONDS
    while True:
        yield
        pause.wait(seconds)
        seconds = min(seconds * 1.5, PAUSE_SECONDS_MAX)


def jittered_seconds() -> Iterator[float]:
    """Pauses before a request is sent again that was refused because too many are sent: any time up to a limit, which
    is doubled each time. So clients that were refused together do not come back together.
    """
    limit_seconds = FIRST_PAUSE_SECONDS
    while True:
        yield random.uniform(0, limit_seconds)  # noqa: S311 - no secret
        limit_seconds = min(limit_seconds * 2, JITTERED_SECONDS_MAX)


def reply_when_made(
    ask: Callable[[], ReplyT], codes: Collection[str] = BEING_MADE_CODES, tries_max: int = BEING_MADE_TRIES
) -> ReplyT:
    """The reply to a request, which is sent again while one of these codes refuses it. Raises ToolkitFailure."""
    for tries, _ in enumerate(pauses(), 1):
        try:
            return ask()
        except ToolkitFailure as failure:
            if failure.code not in codes or tries == tries_max:
                raise
    raise AssertionError("pauses never end")
