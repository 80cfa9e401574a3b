"""How long does adding an index to a full table take, and how much does it slow requests?
UpdateTable on a running server, idle and under load.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.client import Client, ReplyError
from benchmarks.generator import LoadFailed
from benchmarks.items import email
from benchmarks.loader import attribute_definitions, index_arguments, keys_of
from benchmarks.measure import Pace, Table, make_ready, warm_up
from benchmarks.results import BackfillFigure, Beside
from benchmarks.running import Running
from benchmarks.steady import SteadyLoad, SteadyReport
from benchmarks.workloads import Index, Plan

POLL_SECONDS = 0.05
BUILD_SECONDS_MIN = 15.0
ITEMS_PER_SECOND_MIN = 2_000
"""Index build rate below which a server is given up."""
SETTLE_SECONDS = 2.0


THROUGHPUT = {"ReadCapacityUnits": 1_000_000, "WriteCapacityUnits": 1_000_000}


def create_index(client: Client, plan: Plan, index: Index) -> None:
    """Start creating the index; with ProvisionedThroughput if the server refuses an index without it."""
    try:
        update_table(client, plan, {"Create": index_arguments(index)}, index)
    except ReplyError as reason:
        if "rovisionedThroughput" not in str(reason):
            raise
        update_table(client, plan, {"Create": {**index_arguments(index), "ProvisionedThroughput": THROUGHPUT}}, index)


def update_table(client: Client, plan: Plan, change: dict[str, Any], index: Index) -> None:
    """Start creating ({"Create": …}) or deleting ({"Delete": …}) an index."""
    arguments: dict[str, Any] = {"TableName": plan.table, "GlobalSecondaryIndexUpdates": [change]}
    if "Create" in change:
        arguments["AttributeDefinitions"] = attribute_definitions("pk", "sk", *keys_of(index))
    client.call("UpdateTable", arguments)


def wait_for_index(client: Client, plan: Plan, wanted: str | None, items: int) -> None:
    """Wait until the index has this state (None: is gone) and the table is ACTIVE; raises LoadFailed on a time-out."""
    seconds_max = max(BUILD_SECONDS_MIN, items / ITEMS_PER_SECOND_MIN)
    deadline = time.perf_counter() + seconds_max
    while time.perf_counter() < deadline:
        table = client.call("DescribeTable", {"TableName": plan.table})["Table"]
        states = [index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", [])]
        if states == ([wanted] if wanted else []) and table["TableStatus"] == "ACTIVE":
            return
        time.sleep(POLL_SECONDS)
    raise LoadFailed(f"the index was not {wanted or 'gone'} within {seconds_max:.0f} s")


def build(server: Running, plan: Plan, items: int) -> tuple[float, float]:
    """Create the plan's first index; return seconds until it is ACTIVE and the server's CPU seconds meanwhile."""
    cpu_before, began = server.process.cpu_seconds(), time.perf_counter()
    create_index(server.client, plan, plan.index[0])
    wait_for_index(server.client, plan, "ACTIVE", items)
    return time.perf_counter() - began, server.process.cpu_seconds() - cpu_before


def check_index(client: Client, plan: Plan) -> None:
    """Raises LoadFailed unless a Query of the index finds all items of the first customer."""
    index = plan.index[0]
    arguments = {
        "TableName": plan.table, "IndexName": index.name, "Select": "COUNT", "KeyConditionExpression": "email = :email",
        "ExpressionAttributeValues": {":email": {"S": email(0)}},
    }  # fmt: skip
    counted = client.call("Query", arguments)["Count"]
    if counted < plan.sort_keys_per_partition:
        raise LoadFailed(f"the index holds {counted} of {plan.sort_keys_per_partition} items of a customer")


def remove_index(client: Client, plan: Plan, items: int) -> None:
    """Delete the index and wait until it is gone."""
    update_table(client, plan, {"Delete": {"IndexName": plan.index[0].name}}, plan.index[0])
    wait_for_index(client, plan, None, items)
    time.sleep(SETTLE_SECONDS)


@contextmanager
def steady_requests(server: Running, plan: Plan, table: Table, pace: Pace) -> Iterator[SteadyLoad]:
    """Send GetItem and PutItem alternately at the plan's rate, signed just before;
    the generator is killed at the end.
    """
    wanted = plan.backfill
    readies = [make_ready(server, plan, plan.named(name), table) for name in ("get", "put")]
    for ready in readies:
        warm_up(ready, wanted.beside_connections, pace)
    files = [ready.file for ready in readies]
    load = SteadyLoad(server.port, wanted.beside_per_second, wanted.beside_connections, files, pace.cores.generator)
    try:
        yield load
    finally:
        load.kill()


def seen_beside(plan: Plan, report: SteadyReport) -> Beside:
    """Return the record of the latencies under load."""
    get, put = report.seen
    return Beside(
        wanted_per_second=plan.backfill.beside_per_second,
        per_second=(get.requests + put.requests) / report.seconds,
        get_p50_ms=get.p50_ms,
        get_p99_ms=get.p99_ms,
        put_p50_ms=put.p50_ms,
        put_p99_ms=put.p99_ms,
        max_ms=max(get.max_ms, put.max_ms),
    )


def measure_backfill(
    server: Running, plan: Plan, table: Table, pace: Pace, side_pace: Pace
) -> Iterator[BackfillFigure]:
    """Measure an index build on an idle server; requests without a build, for `pace.seconds`; both together.

    Raises LoadFailed or ReplyError. The table must be full and have no index; it has one afterwards.
    """
    name, items = server.contender.name, table.items
    took_seconds, cpu_seconds = build(server, plan, items)
    check_index(server.client, plan)
    yield BackfillFigure(server=name, items=items, seconds=took_seconds, cpu_us=cpu_seconds * 1e6 / items)
    remove_index(server.client, plan, items)
    with steady_requests(server, plan, table, side_pace) as load:
        time.sleep(pace.seconds)
        yield BackfillFigure(server=name, items=items, seconds=0, cpu_us=0, beside=seen_beside(plan, load.end()))
    with steady_requests(server, plan, table, side_pace) as load:
        took_seconds, cpu_seconds = build(server, plan, items)
        seen = seen_beside(plan, load.end())
    check_index(server.client, plan)
    yield BackfillFigure(server=name, items=items, seconds=took_seconds, cpu_us=cpu_seconds * 1e6 / items, beside=seen)
