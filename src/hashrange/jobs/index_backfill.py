"""Which job makes the entries of an index added to a table? `IndexBackfill`, one index at a time,
in the order in which their backfills began.

It also fills the queue of expiries (a row for each item that expires) of a table whose time to live was turned on. The
store does each slice in one commit, which records how far the slice came; after a kill, the next slice continues there.
After a restart, backfills in progress continue first, in the order of table ids.
Nothing is filled from a table that is still UPDATING: resources for the index are being allocated.
"""

from hashrange.clock import Clock
from hashrange.jobs.job import AT_ONCE
from hashrange.store.interface import Maintenance
from hashrange.tables.states import may_backfill

SLICE_ROWS = 128
"""Rows of the table that one slice reads: about 1.5 ms. The store ends a slice of large rows earlier."""


class IndexBackfill:
    """The job that fills every CREATING index, and every new queue of expiries, from the rows of its table."""

    name = "index backfill"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance, clock: Clock) -> None:
        self._maintenance = maintenance
        self._clock = clock

    async def run_slice(self) -> float | None:
        """Fill one index or queue from at most SLICE_ROWS more rows; returns AT_ONCE, or None if there is none to fill.

        If all tables with an index or queue to fill are UPDATING, returns the seconds until the first one is ACTIVE.
        """
        ongoing = self._maintenance.backfills()
        if not ongoing:
            return None
        now_seconds = self._clock.service_time()
        for table, source in ongoing:
            if may_backfill(table, now_seconds):
                await self._maintenance.backfill(source, self._maintenance.lease(), SLICE_ROWS)
                return AT_ONCE
        return min(table.updating_until_seconds for table, _ in ongoing) - now_seconds
