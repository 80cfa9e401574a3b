"""When are metrics saved and rolled up? By the job `MetricSaving`: every quarter of an hour of service time,
and less often while time is moved.
"""

from hashrange.clock import Clock
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.tiers import DAY_SECONDS
from hashrange.jobs.job import AT_ONCE

SAVE_SECONDS = 900.0
"""Service time from one save to the next."""
SAVE_SECONDS_MIN = 60.0
"""Service time from one save to the next if much is recorded in between."""
SAVE_MOVED_SECONDS = 6 * 3600.0
"""Service time from one save to the next while service time is moved far ahead, which takes little real time:
then a day has 4 saves instead of 96."""
SAVE_SECONDS_MAX = 30.0 * DAY_SECONDS
"""Longest service time from one save to the next."""
MOVED_MONOTONIC_SECONDS = 60.0
"""If less real time than this has passed since the last save, service time has been moved."""


class MetricSaving:
    """The job that saves metrics and rolls them up.

    While service time is moved far ahead, and only the same observations go on, the time between two saves doubles each
    time: a century takes some thousand saves. Whoever wakes the job ends that.
    """

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._saved_seconds = float("-inf")
        """Service time of the last save."""
        self._saved_monotonic = clock.monotonic()
        self._pause_seconds = SAVE_SECONDS
        self._is_idle = False
        """True if before the last save nothing but runs had been recorded while service time was moved."""
        self._is_saving = False
        """True after a slice that has not saved everything."""
        self._day = -1
        """Day since 1970 of the last roll-up."""

    async def run_slice(self) -> float | None:
        """Save some series, if it is time to; returns the seconds of service time until then,
        None if nothing is counted. Raises StorageError.
        """
        if self._metrics.load_some():
            return AT_ONCE
        if not self._is_saving:
            wait_seconds = self._wait_seconds()
            if wait_seconds is None or wait_seconds > 0:
                return wait_seconds
            self._begin()
        if await self._metrics.save_some():
            return AT_ONCE
        self._is_saving = False
        return self._pause_seconds if self._is_idle else SAVE_SECONDS

    def _wait_seconds(self) -> float | None:
        """Seconds until the next save, or until it is time to see whether service time is still being moved."""
        if not self._metrics.is_in_use:
            return None
        past_seconds = self._clock.service_time() - self._saved_seconds
        if self._metrics.has_much_to_save:
            return max(0.0, SAVE_SECONDS_MIN - past_seconds) if past_seconds >= 0 else 0.0
        if 0 <= past_seconds < self._pause_seconds:
            self._pause_seconds = min(self._pause_seconds, SAVE_MOVED_SECONDS if self._is_moved() else SAVE_SECONDS)
            return max(0.0, min(self._pause_seconds - past_seconds, SAVE_SECONDS))
        return 0.0

    def _is_moved(self) -> bool:
        """True if so little real time has passed since the last save that service time must have been moved."""
        return self._clock.monotonic() - self._saved_monotonic < MOVED_MONOTONIC_SECONDS

    def _begin(self) -> None:
        """Begin to save."""
        metrics = self._metrics
        now_seconds, monotonic = self._clock.service_time(), self._clock.monotonic()
        metrics.sources.read()
        is_moved = self._is_moved()
        self._is_idle = is_moved and not metrics.has_new_cells
        if self._is_idle:
            self._pause_seconds = min(2 * self._pause_seconds, SAVE_SECONDS_MAX)
        else:
            self._pause_seconds = SAVE_MOVED_SECONDS if is_moved else SAVE_SECONDS
        metrics.has_new_cells = False
        self._saved_seconds, self._saved_monotonic = now_seconds, monotonic
        if self._day != (day := int(now_seconds // DAY_SECONDS)):
            self._day = day
            metrics.begin_roll_ups()
        self._is_saving = True
