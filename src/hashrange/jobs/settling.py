"""Who has the store put in order when nobody writes? This job: it only looks, the work happens beside the loop."""

from hashrange.store.interface import Maintenance


class Settle:
    """Looks whether writes have paused."""

    name = "settle"
    waits_for_service_time = False

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """One look."""
        return await self._maintenance.settle()
