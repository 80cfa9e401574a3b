"""Which job splits partitions of tables and indexes that have grown? `PartitionSplits`;
`store/embedded/upkeep.py` chooses the partition and splits it.
"""

from hashrange.jobs.job import AT_ONCE
from hashrange.store.interface import Maintenance


class PartitionSplits:
    """The job that splits partitions of tables and indexes."""

    name = "partition splits"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Split one partition of a source that has outgrown its partitions; returns AT_ONCE, None if none was split."""
        return AT_ONCE if await self._maintenance.split_partitions(self._maintenance.lease()) else None
