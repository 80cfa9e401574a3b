"""Who writes index entries that were to come later than their items? This job, in the order of the commits.

Only with a delay of index propagation (`index_delay_seconds`), which lets people test against eventual consistency.
"""

from hashrange.store.interface import Maintenance

SLICE_COMMITS = 128
"""Some 1 ms."""
LOOK_SECONDS_MAX = 0.25
"""So long at most until the next look: service time may be virtual."""


class IndexDelay:
    """Applies what waits, once it is due."""

    name = "index delay"

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Write the entries of up to 128 commits."""
        pause_seconds = await self._maintenance.apply_delayed(self._maintenance.lease(), SLICE_COMMITS)
        return None if pause_seconds is None else min(pause_seconds, LOOK_SECONDS_MAX)
