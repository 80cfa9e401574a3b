"""Who lets shards of streams follow each other, and deletes what is too old? This job, one stream at a time."""

from hashrange.store.interface import Maintenance


class StreamShards:
    """Tends all streams."""

    name = "stream shards"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Do what is due of one stream."""
        return await self._maintenance.tend_streams(self._maintenance.lease())
