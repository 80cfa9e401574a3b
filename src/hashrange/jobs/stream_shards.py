"""Which job replaces and deletes shards of streams? `StreamShards`; `store/embedded/streams.py` decides
which are due, and does the work.
"""

from hashrange.store.interface import Maintenance


class StreamShards:
    """The job that replaces stream shards which were open long enough, and deletes shards too old to be read."""

    name = "stream shards"
    waits_for_service_time = True

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Replace the shards of one stream that were open long enough or, if there are none, delete those too old.

        Returns the seconds of service time until there is more to do, 0 if anything was done; None without a stream.
        """
        return await self._maintenance.tend_streams(self._maintenance.lease())
