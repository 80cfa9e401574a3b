"""Who deletes the items whose time to live is over? This job, in the order of their times, a few at a time.

Between two due times it rests: nothing looks again and again.
"""

from hashrange.store.interface import Maintenance

SLICE_ROWS = 64
"""Some 2 ms for small items without indexes."""


class Expiry:
    """Deletes what has expired."""

    name = "expiry"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Delete up to 64 items."""
        return await self._maintenance.expire(self._maintenance.lease(), SLICE_ROWS)
