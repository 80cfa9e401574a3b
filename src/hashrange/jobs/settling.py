"""Which job merges what writes leave in the store? `SettleWhenIdle`, when writes pause; the merge runs off the event loop."""

from hashrange.store.interface import Maintenance


class SettleWhenIdle:
    """The job that has the store merge when writes have paused."""

    name = "settle"
    waits_for_service_time = False

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Merge if no write came since the last slice."""
        return await self._maintenance.settle()
