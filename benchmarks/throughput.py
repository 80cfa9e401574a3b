"""What does enforced throughput cost? `python -m benchmarks.throughput`: GetItem and PutItem within one process, unlimited and enforced in turns.

Process CPU time of an operation, without sockets and JSON, over the store in memory; the least of many rounds.

Measured on a shared machine with two cores, three runs: GetItem takes 1.8 µs and 0.67 to 0.79 more when enforced; PutItem 9 µs and 0.43 to 0.78
more; with one global index changed 18 µs and 1.25 to 1.37 more, with two 22 µs and 1.66 to 2.24 more. The commit before buckets were found by source,
run in turn with it: 0.90 to 1.05, 0.68 to 0.98, 1.31 to 1.55, and 1.57 to 2.16. So GetItem is quicker since; of indexes, no difference
is seen, and each takes some 0.4 to 0.9. Another machine showed 1.3 to 1.4 for PutItem and 2.9 or more with an index. Noting what requests use, and
taking it from the buckets later for many requests at once, was tried: it made GetItem 0.2 µs slower and PutItem no quicker.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from benchmarks.tables import number, table
from hashrange.clock import SystemClock
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.soon import settled
from hashrange.store.embedded.opening import open_store
from hashrange.tables.partitions import partitions_of_service
from hashrange.throughput.table_throughputs import ThroughputMode

ACCOUNT, REGION, TABLE = "000000000000", "us-east-1", "orders"
CALLS, KEYS, ROUNDS = 600, 200, 200
INDEXES_MAX = 2


def main() -> int:
    """Measure and print."""
    rows = []
    for indexes in range(INDEXES_MAX + 1):
        for operation in ("GetItem", "PutItem"):
            unlimited_us, difference_us = asyncio.run(measure(operation, indexes))
            rows.append([operation, str(indexes), number(unlimited_us), number(difference_us)])
    print(table(["operation", "indexes changed", "unlimited, µs", "enforced, µs more"], rows))
    return 0


async def measure(operation: str, indexes: int) -> tuple[float, float]:
    """Medians over all rounds, in µs of CPU for one request: unlimited, and how much more it is when enforced."""
    unlimited, enforced = [await Side.open(mode, operation, indexes) for mode in ("unlimited", "enforced")]
    pairs = []
    for place in range(ROUNDS):  # each goes first in turns
        if place % 2:
            pairs.append((unlimited.run(), enforced.run()))
        else:
            pairs.append((enforced.run(), unlimited.run())[::-1])
    for side in (unlimited, enforced):
        await side.service.store.close()
    return median([one for one, _ in pairs]), median([other - one for one, other in pairs])


class Side:
    """A service with a table, and requests for it."""

    def __init__(self, service: Service, scope: Scope, operation: str, requests: Sequence[Any]) -> None:
        self.service, self._scope = service, scope
        self._run = OPERATIONS[operation].run
        self._requests = requests

    @classmethod
    async def open(cls, mode: ThroughputMode, operation: str, indexes: int) -> "Side":
        """Open a service whose throughput has this mode."""
        clock = SystemClock()
        store = open_store(None, clock, asyncio.get_running_loop(), initial_partitions=partitions_of_service)
        service = Service(store, OPERATIONS, clock, Settings(data_dir=None, throughput=mode))
        if mode == "enforced":
            service.enforce_throughput()
        scope = service.scope(ACCOUNT, REGION)
        await settled(OPERATIONS["CreateTable"].run(scope, made("CreateTable", create_table(indexes))))
        return cls(service, scope, operation, [made(operation, one) for one in requests_of(operation, indexes)])

    def run(self) -> float:
        """Run all requests once; returns µs of CPU for one."""
        run, scope = self._run, self._scope
        throughputs = self.service.throughput.throughputs
        throughputs.replace_terms(throughputs.own_terms)  # fills the buckets
        run(scope, self._requests[0], [])
        counters = [self.service.throughput.front.count] if self.service.front is not self.service.store else []
        began_seconds = time.process_time()
        for request in self._requests:
            meter: Meter = []
            run(scope, request, meter)
            for count in counters:
                count(meter)
        return (time.process_time() - began_seconds) / CALLS * 1e6


def made(operation: str, request: dict[str, Any]) -> Any:
    """The request struct of an operation."""
    return msgspec.convert(request, OPERATIONS[operation].request)


def create_table(indexes: int) -> dict[str, Any]:
    """Of a table with this many global indexes, whose throughput is never used up here."""
    names = [f"index-{place}" for place in range(indexes)]
    throughput = {"ReadCapacityUnits": 3_000, "WriteCapacityUnits": 900}
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", *names)],
        "ProvisionedThroughput": throughput,
    }
    if names:
        request["GlobalSecondaryIndexes"] = [
            {
                "IndexName": name,
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": throughput,
            }
            for name in names
        ]
    return request


def requests_of(operation: str, indexes: int) -> list[dict[str, Any]]:
    """CALLS requests for one item each; each write changes an attribute, and so the entry of each index."""
    names = [f"index-{place}" for place in range(indexes)]
    keys = [{"pk": {"S": f"key-{place % KEYS}"}} for place in range(CALLS)]
    if operation == "GetItem":
        return [{"TableName": TABLE, "Key": key} for key in keys]
    return [
        {
            "TableName": TABLE,
            "Item": key | dict.fromkeys(names, key["pk"]) | {"number": {"N": str(place)}, "text": {"S": "x" * 300}},
        }
        for place, key in enumerate(keys)
    ]


if __name__ == "__main__":
    sys.exit(main())
