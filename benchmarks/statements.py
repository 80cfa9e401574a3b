"""`python -m benchmarks.statements`: how much more does a PartiQL statement cost than the equivalent operation?

Ratios of CPU time through the dispatcher, signed requests, a table in memory; the best of several rounds,
alternating so that other load affects both. The exit status is 1 when a ratio is above its bound.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

from benchmarks.inprocess import HOST, Bench, parse
from benchmarks.items import partition_key, sort_key
from benchmarks.signing import Signer
from benchmarks.workloads import read_plan
from hashrange.wire.http import HttpRequest

ITEMS = 2_000
REQUESTS = 2_000
ROUNDS = 7
Make = Callable[[int], tuple[str, dict[str, Any]]]
"""Function from the number of a request to its operation and members."""


class Pair(NamedTuple):
    """A request, the statement that means the same, and the highest ratio of their costs."""

    title: str
    call: Make
    statement: Make
    ratio_max: float
    requests: int = REQUESTS


def pairs(table: str, sorts: int, items: int, maker: Callable[[int], str]) -> Iterator[Pair]:
    """The three pairs that have bounds."""

    def key(number: int) -> tuple[dict[str, str], dict[str, str]]:
        partition, sort = divmod(number * 7 % items, sorts)
        return {"S": partition_key(partition)}, {"S": sort_key(sort)}

    by_key = f'SELECT * FROM "{table}" WHERE pk = ? AND sk = ?'
    yield Pair(
        "SELECT by key / GetItem",
        lambda number: ("GetItem", {"TableName": table, "Key": dict(zip(("pk", "sk"), key(number), strict=True))}),
        lambda number: ("ExecuteStatement", {"Statement": by_key, "Parameters": list(key(number))}),
        1.3,
    )
    by_partition = f'SELECT * FROM "{table}" WHERE pk = ?'
    condition = {"TableName": table, "KeyConditionExpression": "pk = :pk"}
    yield Pair(
        f"SELECT of {sorts} items / Query",
        lambda number: ("Query", condition | {"ExpressionAttributeValues": {":pk": key(number)[0]}}),
        lambda number: ("ExecuteStatement", {"Statement": by_partition, "Parameters": [key(number)[0]]}),
        1.2,
        REQUESTS // 5,
    )
    fresh = count(items)
    names = list(json.loads(maker(0)))
    insert = f'INSERT INTO "{table}" VALUE {{{", ".join([f"{name!r}: ?" for name in names])}}}'
    yield Pair(
        "INSERT / PutItem",
        lambda _: ("PutItem", {"TableName": table, "Item": json.loads(maker(next(fresh)))}),
        lambda _: (
            "ExecuteStatement",
            {"Statement": insert, "Parameters": list(json.loads(maker(next(fresh))).values())},
        ),
        1.3,
    )


def ratio_of(bench: Bench, pair: Pair) -> tuple[float, float]:
    """Return CPU µs of the request and the ratio of the statement to it; every round has requests of its own."""
    signer = Signer(HOST)

    def requests(make: Make) -> list[HttpRequest]:
        made = [make(number) for number in range(pair.requests)]
        return [parse(signer.request(operation, json.dumps(members).encode())) for operation, members in made]

    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for place, make in enumerate((pair.call, pair.statement)):
            ready = requests(make)
            best[place] = min(best[place], seconds_once(bench, ready))
    return best[0] * 1e6 / pair.requests, best[1] / best[0]


def seconds_once(bench: Bench, ready: list[HttpRequest]) -> float:
    """Return CPU seconds of answering these requests once (an INSERT succeeds only once)."""
    before = time.process_time()
    bench.answer(ready)
    return time.process_time() - before


def main() -> int:
    """Print the ratios; return the exit status."""
    plan = read_plan()
    bench = Bench(plan, 1_000, ITEMS)
    bench.prepare(next(workload for workload in plan.workload if workload.operation == "GetItem"))
    is_within = True
    try:
        for pair in pairs(plan.table, plan.sort_keys_per_partition, ITEMS, bench.maker.item):
            call_us, ratio = ratio_of(bench, pair)
            is_within = is_within and ratio <= pair.ratio_max
            sys.stdout.write(f"{pair.title:28}{call_us:8.1f} µs, {ratio:.2f} times as much; at most {pair.ratio_max}\n")
    finally:
        bench.close()
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
