"""Who writes index entries that were to come later than their items? This job, in the order of the commits.

Only with a delay of index propagation (`index_delay_seconds`), which lets people test against eventual consistency.
"""

from hashrange.store.interface import Maintenance

SLICE_COMMITS = 128
"""Some 1 ms."""


class IndexDelay:
    """Applies what waits, once it is due."""

    name = "index delay"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Write the entries of up to 128 commits."""
        return await self._maintenance.apply_delayed(self._maintenance.lease(), SLICE_COMMITS)
