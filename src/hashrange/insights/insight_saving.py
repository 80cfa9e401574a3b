"""When is kept what insight rules have counted? By the job `InsightSaving`: every quarter of an hour of service
time, as long as something is counted.
"""

from hashrange.insights.insights import Insights
from hashrange.jobs.job import AT_ONCE

SAVE_SECONDS = 900.0
"""Service time from one save to the next."""


class InsightSaving:
    """Saves counts, and removes those of what is not watched any more.
    Rests while nothing is counted; `Insights.wake` wakes it.
    """

    name = "insight-saving"
    waits_for_service_time = True

    def __init__(self, insights: Insights) -> None:
        self._insights = insights
        self._due_seconds: float | None = None
        """Service time of the next save; None if nothing is to be saved."""

    async def run_slice(self) -> float | None:
        """Save one rule if it is time to; returns the seconds of service time until then,
        None if nothing is counted. Raises StorageError.
        """
        insights = self._insights
        now_seconds = insights.now_seconds()
        if insights.has_leftovers:
            await insights.remove_leftovers()
        if not insights.is_changed:
            self._due_seconds = None
            return None
        if self._due_seconds is None or self._due_seconds > now_seconds + SAVE_SECONDS:
            self._due_seconds = now_seconds + SAVE_SECONDS
        if now_seconds < self._due_seconds:
            return self._due_seconds - now_seconds
        if await insights.save_some():
            return AT_ONCE
        self._due_seconds = None
        return None
