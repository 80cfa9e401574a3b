"""Who writes index entries that were to come later than their items? This job, in the order of the commits.

Only with a delay of index propagation (`index_delay_seconds`), which lets people test against eventual consistency.
"""

from hashrange.store.interface import Store

SLICE_COMMITS = 128
"""Some 1 ms."""


class IndexDelay:
    """Applies what waits, once it is due."""

    name = "index delay"
    waits_for_service_time = True

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_slice(self) -> float | None:
        """Write the entries of up to 128 commits."""
        return await self._store.apply_delayed(SLICE_COMMITS)
