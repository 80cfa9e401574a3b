"""Which job writes delayed index entries? `IndexDelay`, in the order of the commits that they follow from.

Entries of global indexes are delayed if `index_delay_seconds` is set, which lets people test against eventual
consistency. The job also writes late entries that a failed request has left, one per slice.
"""

from hashrange.store.interface import Maintenance

SLICE_COMMITS = 128
"""Commits whose delayed entries one slice writes at most: about 1 ms."""


class IndexDelay:
    """The job that writes delayed index entries once they are due, and late ones that a failed request has left."""

    name = "index delay"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Write the due entries of at most SLICE_COMMITS commits.

        Returns the seconds of service time until an entry is due, 0 if any was; None if no entry waits.
        """
        return await self._maintenance.apply_delayed(self._maintenance.lease(), SLICE_COMMITS)
