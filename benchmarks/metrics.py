"""What does it cost to count metrics? `python -m benchmarks.metrics`: GetItem and PutItem as calls within one
process, with and without, in turns.

Process CPU time of a call of the service, without sockets and JSON, over the store in memory; the least of many rounds.
It includes what is done with the counts every quarter of a second.

Measured on a shared machine with two cores, in eight runs: GetItem takes 1.7 to 2.1 µs and 0.6 to 0.9 more when
recorded; PutItem 9 to 12 µs and 0.8 to 1.5 more; with one global index changed 21 to 28 µs and 1.7 to 4 more,
with two 26 to 35 µs and 2.4 to 4 more. Half of that are cold caches: `MetricRecording.succeeded`, called alone,
takes 0.3 µs, and what is done later 0.2.
"""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from benchmarks.tables import number, table
from benchmarks.throughput import ACCOUNT, CALLS, INDEXES_MAX, REGION, create_table, made, requests_of
from hashrange.aws_services.operation import Operation
from hashrange.clock import MovableClock, SystemClock
from hashrange.errors import ApiError, Malformed
from hashrange.operations.meter import NOTHING_USED
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.reply import Reply
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.soon import settled
from hashrange.store.embedded.opening import open_store

ROUNDS = 60


class SilentCall(Call):
    """A call whose reply nobody reads."""

    def done(self, reply: Reply | None) -> None:
        """Write nothing."""

    def refuse(self, error: ApiError) -> None:
        """Fail: no request here is refused."""
        raise error

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Fail: no request here is refused."""
        raise error

    def send(self) -> None:
        """Send nothing."""

    def fail(self, error: BaseException) -> None:
        """Fail: no request here is refused."""
        raise error


class Side:
    """A service with a table, and requests for it."""

    def __init__(
        self,
        service: Service,
        scope: Scope,
        operation: Operation[JsonWire],
        requests: Sequence[Any],
    ) -> None:
        self.service, self._scope = service, scope
        self._operation, self._requests = operation, requests
        self.least_us = float("inf")

    @classmethod
    async def open(cls, operation: str, indexes: int, *, is_recording: bool) -> "Side":
        """Open a service that records metrics, or does not."""
        clock = MovableClock(SystemClock())
        store = open_store(None, clock, asyncio.get_running_loop())
        service = Service(store, OPERATIONS, clock, Settings(data_dir=None))
        if is_recording:
            service.start_recording()
        scope = service.scope(ACCOUNT, REGION)
        await settled(OPERATIONS["CreateTable"].run(scope, made("CreateTable", create_table(indexes))))
        requests = [made(operation, one) for one in requests_of(operation, indexes)]
        return cls(service, scope, service.operations[operation], requests)

    def run(self) -> None:
        """Run all requests once."""
        operation, scope = self._operation, self._scope
        calls: deque[Call] = deque(
            [SilentCall(scope, operation, request, NOTHING_USED, 0, is_explained=False) for request in self._requests]
        )
        self.service.workers.begin_turn()
        began_seconds = time.process_time()
        while calls:
            self.service.run(calls)
        if self.service.recording is not None:
            self.service.recording.fold()  # as every quarter of a second
        self.least_us = min(self.least_us, (time.process_time() - began_seconds) / CALLS * 1e6)


async def measure(operation: str, indexes: int) -> tuple[float, float]:
    """Least µs of CPU for one call: not recorded, and recorded."""
    sides = [await Side.open(operation, indexes, is_recording=is_recording) for is_recording in (False, True)]
    for _ in range(ROUNDS):
        for side in sides:
            side.run()
    for side in sides:
        await side.service.store.close()
    return sides[0].least_us, sides[1].least_us


def main() -> int:
    """Measure and print."""
    rows = []
    for indexes in range(INDEXES_MAX + 1):
        for operation in ("GetItem", "PutItem"):
            without_us, recorded_us = asyncio.run(measure(operation, indexes))
            difference_us = recorded_us - without_us
            rows.append([operation, str(indexes), number(without_us), number(recorded_us), number(difference_us)])
    print(table(["operation", "indexes changed", "not recorded, µs", "recorded, µs", "difference, µs"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
