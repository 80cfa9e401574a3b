"""How much does an operation cost without sockets? Signed requests go straight to the server's front,
over the store in memory.

Process CPU time, the best of several rounds. The tables are the same as over sockets.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.items import ItemMaker
from benchmarks.loader import put_bodies, table_arguments
from benchmarks.prepare import Prepared, prepare_requests
from benchmarks.results import InProcessFigure
from benchmarks.signing import CREDENTIALS_TOML, REGION, Signer
from benchmarks.workloads import Plan, Workload
from hashrange.clock import SystemClock
from hashrange.operations.meter import Meter
from hashrange.operations.registry import OPERATIONS
from hashrange.server.access import Access
from hashrange.server.credentials import ACCOUNT, read_credentials
from hashrange.server.protocols.http import http_front
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store
from hashrange.wire.http import HttpRequest, layout_of

HOST = "127.0.0.1:8000"
ROUNDS = 5


class Bench:
    """A server without sockets over a store in memory, with the benchmark's table, and its event loop."""

    def __init__(self, plan: Plan, item_bytes: int, table_items: int) -> None:
        self.plan = plan
        self.table_items = table_items
        settings = Settings(data_dir=None)
        clock = SystemClock()
        self.loop = asyncio.new_event_loop()
        self.store = open_store(None, clock, self.loop)
        with tempfile.TemporaryDirectory() as folder:
            credentials = Path(folder, "credentials.toml")
            credentials.write_text(CREDENTIALS_TOML)
            self.service = Service(self.store, OPERATIONS, clock, settings)
            self.access = Access(self.service, read_credentials(str(credentials)))
        self.scope = self.service.scope(ACCOUNT, REGION)
        self.front = http_front(self.service, self.access)
        self.maker = ItemMaker(item_bytes, plan.sort_keys_per_partition)
        self._replies: list[tuple[int, bytes]] = []
        self._filled: set[int] = set()
        self._fill(0)

    def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a decoded reply; has the form of `client.Client.call`, so `prepare.scan_starts` can use either."""
        request = Signer(HOST).request(operation, json.dumps(arguments).encode())
        self._replies.clear()
        self.answer([parse(request)])
        return dict(json.loads(self._replies[0][1]))

    def close(self) -> None:
        """Close the store and the loop."""
        self.loop.run_until_complete(self.store.close())
        self.loop.close()

    def answer(self, requests: Sequence[HttpRequest]) -> None:
        """Have each request answered, one after another; fails unless all replies are 200."""
        self.loop.run_until_complete(self._answer(requests))

    async def _answer(self, requests: Sequence[HttpRequest]) -> None:
        handle, keep, replies = self.front.handle, self._keep, self._replies
        for request in requests:
            replies.clear()
            handle([(request, keep)])
            while not replies:  # noqa: ASYNC110 - a long page lets others run; an Event would cost time
                await asyncio.sleep(0)
            assert replies[0][0] == 200, replies[0][1]

    def _keep(self, status: int, body: bytes, *_: object) -> None:
        self._replies.append((status, body))

    def _fill(self, indexes: int) -> None:
        """Create and fill the table with this many indexes, unless it exists."""
        if indexes in self._filled:
            return
        self._filled.add(indexes)
        table = self.plan.table_name(indexes)
        self.call("CreateTable", table_arguments(self.plan, indexes))
        self.call("DescribeTable", {"TableName": table})
        signer = Signer(HOST)
        self.answer([
            parse(signer.request(operation, body))
            for operation, body, _ in put_bodies(table, self.maker, range(self.table_items))
        ])  # fmt: skip

    def prepare(self, workload: Workload) -> Prepared:
        """Return signed requests for the workload, whose table is created if missing."""
        self._fill(workload.indexes)
        return prepare_requests(self.plan, workload, self.maker, self.table_items, HOST, self)

    def time_dispatch(self, requests: Sequence[bytes], seconds: float) -> float:
        """CPU seconds per request, from parsed HTTP to the reply's body."""
        parsed = [parse(request) for request in requests]
        self.answer(parsed[:50])
        return best_seconds(lambda: self.answer(parsed), seconds) / len(parsed)

    def time_operation(self, workload: Workload, requests: Sequence[bytes], seconds: float) -> float:
        """Return CPU seconds per request of the operation alone, on decoded requests."""
        operation = OPERATIONS[workload.operation]
        decode: Callable[[bytes], Any] = msgspec.json.Decoder(operation.request).decode
        decoded = [decode(parse(request).body) for request in requests]
        scope = self.scope

        async def run_all() -> None:
            for request in decoded:
                await operation.start(scope, request, Meter())

        return best_seconds(lambda: self.loop.run_until_complete(run_all()), seconds) / len(decoded)


def parse(request: bytes) -> HttpRequest:
    """Return the request that the HTTP layer parses from these bytes."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.partition(b": ") for line in head.split(b"\r\n")[1:]]
    values: list[bytes | None] = [value for _, _, value in lines]
    return HttpRequest(b"POST", b"/", layout_of(tuple(name for name, _, _ in lines)), [*values, None], body, True, True)


def best_seconds(run_once: Callable[[], None], seconds: float) -> float:
    """Return CPU seconds of the quickest round; as many rounds as fit into `seconds`, at least two, at most five."""
    best = float("inf")
    began = time.perf_counter()
    for count in range(ROUNDS):
        if count >= 2 and time.perf_counter() - began > seconds:
            break
        before = time.process_time()
        run_once()
        best = min(best, time.process_time() - before)
    return best


def measure_in_process(
    plan: Plan, workloads: Sequence[Workload], table_items: int, seconds: float
) -> Iterator[InProcessFigure]:
    """Return µs per unit of each workload, with items of the first size."""
    bench = Bench(plan, plan.item_bytes[0], table_items)
    try:
        for workload in (one for one in workloads if one.keys != "new"):  # they are new only once
            prepared = bench.prepare(workload)
            microseconds = 1e6 / prepared.units_per_request
            yield InProcessFigure(
                workload=workload.name,
                dispatch_us=bench.time_dispatch(prepared.requests, seconds) * microseconds,
                operation_us=bench.time_operation(workload, prepared.requests, seconds) * microseconds,
            )
    finally:
        bench.close()
