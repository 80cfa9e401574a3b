"""When are actions of alarms executed that may take long? As soon as they wait, side by side,
so that an endpoint that hangs holds up no other.
"""

import asyncio

from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.limits import ALARM_ACTIONS_TOGETHER_MAX


class AlarmDeliveries:
    """The job that executes actions which may take long."""

    name = "alarm-actions"
    waits_for_service_time = False

    def __init__(self, alarms: Alarms) -> None:
        self._alarms = alarms
        self._running: set[asyncio.Task[None]] = set()

    async def run_slice(self) -> float | None:
        """Execute all actions that wait, and those that come meanwhile;
        ends when none is executed. Raises StorageError.
        """
        alarms = self._alarms
        while True:
            alarms.arrived.clear()
            while alarms.waiting and len(self._running) < ALARM_ACTIONS_TOGETHER_MAX:
                told = alarms.waiting.popleft()
                delivery = alarms.deliver(alarms.deliverer_of(told.action), told)
                self._running.add(asyncio.ensure_future(delivery))
            if not self._running:
                return None
            arrival = asyncio.ensure_future(alarms.arrived.wait())
            try:
                await asyncio.wait({*self._running, arrival}, return_when=asyncio.FIRST_COMPLETED)
            except BaseException:
                for task in self._running:
                    task.cancel()
                raise
            finally:
                arrival.cancel()
            self._take_ended()

    def _take_ended(self) -> None:
        """Forget the actions that have ended; raises what one of them raised, while the others go on."""
        for task in [one for one in self._running if one.done()]:
            self._running.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
