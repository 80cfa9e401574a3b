"""Which job deletes expired items (time to live)? `Expiry`, in the order of their expiry times, a few at a time.

Between two due times the job rests; nothing polls.
"""

from hashrange.store.interface import Maintenance

SLICE_ROWS = 64
"""Queue rows per slice: about 2 ms for small items without indexes."""


class Expiry:
    """The job that deletes expired items."""

    name = "expiry"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Delete up to 64 items."""
        return await self._maintenance.expire(self._maintenance.lease(), SLICE_ROWS)
