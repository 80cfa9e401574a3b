"""Which job merges away old versions of rows? `SettleWhenIdle`; `store/embedded/settling.py` detects a pause in the
writes, and merges off the event loop.
"""

from hashrange.store.interface import Maintenance


class SettleWhenIdle:
    """The job that lets the store merge away old versions of rows, which writes have left, once writes pause."""

    name = "settle"
    waits_for_service_time = False

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    async def run_slice(self) -> float | None:
        """Merge once, if no write came since the last slice; returns the seconds of real time until the next slice."""
        return await self._maintenance.settle()
