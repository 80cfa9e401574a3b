"""How late are entries of global indexes written in a store that suspends?
After a random virtual time, drawn for each commit by a seed.

Virtual time advances only while the store suspends, or by `advance`, so no code sleeps, and each run of a test with
the same seed and calls sees the same entries at the same call. Listeners of the clock are not called when time
advances: a job that they wake would suspend, which advances time and would wake the job again.
"""

import random

from hashrange.clock import SystemClock
from tests.support.clocks import VIRTUAL_START_SECONDS

DELAY_SECONDS_MAX = 3.0
SUSPENSION_SECONDS_MAX = 0.2
"""Longest virtual time of one suspension. An average delay is as long as 15 average suspensions."""


class SuspendingTime(SystemClock):
    """Clock and index delay of the inner store: `open_store(…, clock=time, index_delay=time.delay)`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._now_seconds = VIRTUAL_START_SECONDS

    def service_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now_seconds

    def delay(self) -> float:
        """Draw the delay, in virtual seconds, of the next commit's entries of global indexes."""
        return self._random.uniform(0, DELAY_SECONDS_MAX)

    def suspended(self) -> None:
        """Advance the time by a random duration, for one suspension of the store."""
        self._now_seconds += self._random.uniform(0, SUSPENSION_SECONDS_MAX)

    def advance(self, seconds: float) -> None:
        """Advance the time by that many virtual seconds."""
        self._now_seconds += seconds
