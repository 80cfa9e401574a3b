"""Which job deletes expired items (time to live)? `Expiry`, a few of one table at a time,
in the order of their expiry times.

A table's queue of expiries has a row for each item that expires. The job rests until a row is due; nothing polls.
"""

from hashrange.store.interface import Maintenance

SLICE_ROWS = 64
"""Rows of one queue of expiries that one slice handles at most: about 2 ms for small items without indexes."""


class Expiry:
    """The job that deletes expired items."""

    name = "expiry"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Delete the expired items that at most SLICE_ROWS due rows of one queue name.

        Returns the seconds of service time until a row is due, 0 if any row was; None if the queues are empty or still
        being filled.
        """
        return await self._maintenance.expire(self._maintenance.lease(), SLICE_ROWS)
