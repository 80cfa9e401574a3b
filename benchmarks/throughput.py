"""What does enforced throughput cost? `python -m benchmarks.throughput`: GetItem and PutItem within one process,
unlimited and enforced in turns.

Process CPU time of an operation, without sockets and JSON, over one store in memory; medians over many rounds,
and of the differences of rounds that follow each other.

Measured on a shared machine with two cores while nothing else ran, five runs: GetItem takes 1.8 to 1.9 µs and 0.67 to
0.75 more when enforced; PutItem 9.5 to 11.4 and 0.86 to 1.05 more; with one global index changed 19 to 22 and 1.60 to
1.88 more; with two 23 to 26 and 1.98 to 2.21 more (and once, beside something else, 2.81).
So the first index costs 0.55 to 0.95, and the second 0.33 to 0.45. Commit df310d29, run in turn with it:
PutItem 0.93 to 1.23, with one index 1.73 to 2.07, with two 2.34 to 3.13.
These figures are from before requests passed a front: since then, GetItem and PutItem cost some 0.1 more
(docs/adr/0069-one-front.md).

An entry takes 0.38 µs when it is paid alone, again and again: a third each for finding its index, its units and its
partition, and for two buckets. Beside a commit, whose work empties the processor's caches, it takes half as much again.
What was tried: noting what requests use, and taking it from the buckets later for many at once, made GetItem 0.2 µs
slower and PutItem no quicker; letting units be owed as long as no bucket is full or nearly empty is quicker only while
more is used than is provisioned; the arithmetic of both buckets without a call of `take` saves 0.05.
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
from hashrange.operations.meter import NOTHING_USED
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.soon import settled
from hashrange.store.embedded.opening import open_store
from hashrange.store.embedded.participant import Options
from hashrange.store.front import RequestMeter, tell_ended
from hashrange.tables.partitions import partitions_of_service
from hashrange.throughput.feature import THROUGHPUT

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
    clock = SystemClock()
    store = open_store(None, clock, asyncio.get_running_loop(), Options(initial_partitions=partitions_of_service))
    service = Service(store, OPERATIONS, clock, Settings(data_dir=None, throughput="enforced"))
    service.features.put_in_front()
    scope = service.scope(ACCOUNT, REGION)
    await settled(OPERATIONS["CreateTable"].run(scope, made("CreateTable", create_table(indexes))))
    requests = [made(operation, one) for one in requests_of(operation, indexes)]
    unlimited = Side(operation, Scope(ACCOUNT, REGION, store, clock, service.settings), requests, is_fronted=False)
    enforced = Side(operation, scope, requests, is_fronted=True)
    throughputs = service.features.part(THROUGHPUT).throughputs
    pairs = []
    for place in range(ROUNDS):  # each goes first in turns
        throughputs.replace_terms(throughputs.own_terms)  # fills the buckets
        if place % 2:
            pairs.append((unlimited.run(), enforced.run()))
        else:
            pairs.append((enforced.run(), unlimited.run())[::-1])
    await store.close()
    return median([one for one, _ in pairs]), median([other - one for one, other in pairs])


class Side:
    """Requests for the table, which pass a front or use the store itself."""

    def __init__(self, operation: str, scope: Scope, requests: Sequence[Any], *, is_fronted: bool) -> None:
        self._calls = [Call(scope, OPERATIONS[operation], request, NOTHING_USED, 0, False) for request in requests]
        self._is_fronted = is_fronted

    def run(self) -> float:
        """Run all requests once; returns µs of CPU for one."""
        self._run(self._calls[:1])
        began_seconds = time.process_time()
        self._run(self._calls)
        return (time.process_time() - began_seconds) / CALLS * 1e6

    def _run(self, calls: Sequence[Call]) -> None:
        """Run requests as a service does."""
        is_fronted = self._is_fronted
        for call in calls:
            operation = call.operation
            if is_fronted:
                meter = call.meter = RequestMeter()
                meter.scope = call.scope
                meter.operation = operation
                meter.request = call.request
                meter.notes = None
            else:
                call.meter = []
            operation.run(call.scope, call.request, call.meter)
            if is_fronted and meter.notes:
                tell_ended(call, meter)
            call.meter = NOTHING_USED


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
