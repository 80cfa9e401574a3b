"""Which job replaces stream shards and deletes those that are too old? `StreamShards`, one stream at a time."""

from hashrange.store.interface import Maintenance


class StreamShards:
    """The job that tends the shards of all streams."""

    name = "stream shards"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Replace and delete shards of one stream."""
        return await self._maintenance.tend_streams(self._maintenance.lease())
