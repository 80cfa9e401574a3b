"""Which job deletes expired items (time to live)? `Expiry`, in the order of their expiry times, a few at a time.

The job rests until the next item is due to be deleted; nothing polls.
"""

from hashrange.store.interface import Maintenance

SLICE_ROWS = 64
"""Rows of the queues of expiries that one slice handles: about 2 ms for small items without indexes."""


class Expiry:
    """The job that deletes expired items."""

    name = "expiry"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Handle up to SLICE_ROWS due rows: delete the items that have expired. Returns as `Job.run_slice` does."""
        return await self._maintenance.expire(self._maintenance.lease(), SLICE_ROWS)
