"""How long is something waited for at an endpoint, and when is a request sent again that was refused because what it is
about is still being made?
"""

import random
import threading
from collections.abc import Callable, Iterator

from hashrange.toolkit.failures import ToolkitFailure

FIRST_PAUSE_SECONDS = 0.05
PAUSE_SECONDS_MAX = 5.0
JITTERED_SECONDS_MAX = 20.0
BEING_MADE_CODE, BEING_MADE_TRIES = "ContinuousBackupsUnavailableException", 60
"""AWS refuses point-in-time recovery of a table that has just been created for some seconds."""


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


def send_when_made(send: Callable[[], object]) -> None:
    """Send a request, again while the table is still being made. Raises ToolkitFailure."""
    for tries, _ in enumerate(pauses(), 1):
        try:
            send()
            return
        except ToolkitFailure as failure:
            if failure.code != BEING_MADE_CODE or tries == BEING_MADE_TRIES:
                raise
