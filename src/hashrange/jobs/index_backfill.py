"""Who makes the entries of an index that was added to a table? This job, oldest table first, one index after the other.

The store does each slice in one commit and remembers how far it came, so a restart goes on where a kill ended it. While the
table is still UPDATING there is nothing to do: room for the index is being made.
"""

from hashrange.clock import Clock
from hashrange.jobs.job import AT_ONCE
from hashrange.store.interface import Maintenance
from hashrange.tables.states import may_backfill

SLICE_ROWS = 128
"""Some 1.5 ms; the store ends a slice of large rows earlier."""


class IndexBackfill:
    """Builds every index that is CREATING."""

    name = "index backfill"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance, clock: Clock) -> None:
        self._maintenance = maintenance
        self._clock = clock

    async def run_slice(self) -> float | None:
        """Make the entries of the next items of one index."""
        ongoing = self._maintenance.backfills()
        if not ongoing:
            return None
        now_seconds = self._clock.service_time()
        for table, source in ongoing:
            if may_backfill(table, now_seconds):
                await self._maintenance.backfill(source, self._maintenance.lease(), SLICE_ROWS)
                return AT_ONCE
        return min(table.updating_until_seconds for table, _ in ongoing) - now_seconds
