"""How late do entries of global indexes come in a store that suspends? By a random time of its own, drawn from a seed.

That time is virtual: it goes on only while the store suspends, so nothing sleeps, and a test that nobody else disturbs sees
the same entries at the same request. It tells nobody when it goes on, for a job that it woke would suspend, and be woken again.
"""

import random

from hashrange.clock import VIRTUAL_START_SECONDS, SystemClock

DELAY_SECONDS_MAX = 3.0
SUSPENSION_SECONDS_MAX = 0.2
"""So long at most, in virtual time, does a suspension last: an entry waits for some dozens of them."""


class SuspendingTime(SystemClock):
    """The clock of the store below, and its delays: `open_store(…, clock=time, index_delay=time.delay)`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self._now_seconds = VIRTUAL_START_SECONDS

    def service_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now_seconds

    def delay(self) -> float:
        """By how many virtual seconds the entries of the next commit come later."""
        return self._random.uniform(0, DELAY_SECONDS_MAX)

    def suspended(self) -> None:
        """The store has suspended once."""
        self._now_seconds += self._random.uniform(0, SUSPENSION_SECONDS_MAX)

    def advance(self, seconds: float) -> None:
        """Let so many virtual seconds pass."""
        self._now_seconds += seconds
