"""Which job calls for shards to be replaced and deleted? `StreamShards`; `store/embedded/streams.py` decides when and does it."""

from hashrange.store.interface import Maintenance


class StreamShards:
    """The job that replaces stream shards which were open long enough, and deletes shards too old to be read."""

    name = "stream shards"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Replace and delete due shards of one stream; returns as `Job.run_slice` does."""
        return await self._maintenance.tend_streams(self._maintenance.lease())
