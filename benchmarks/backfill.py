"""How long does a full table take to get an index, and who notices? UpdateTable on a running server, alone and beside requests."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.client import Client
from benchmarks.generator import LoadFailed
from benchmarks.items import email
from benchmarks.loader import attribute_definitions, index_arguments, keys_of
from benchmarks.measure import Table, make_ready
from benchmarks.processes import Cores
from benchmarks.results import BackfillFigure, Beside
from benchmarks.running import Running
from benchmarks.steady import SteadyLoad, SteadyReport
from benchmarks.workloads import Index, Plan

POLL_SECONDS = 0.05
BUILD_SECONDS_MAX = 600.0
SETTLE_SECONDS = 2.0


def update_table(client: Client, plan: Plan, action: str, index: Index) -> None:
    """Begin to make ("Create") or to remove ("Delete") an index."""
    change = index_arguments(index) if action == "Create" else {"IndexName": index.name}
    arguments: dict[str, Any] = {"TableName": plan.table, "GlobalSecondaryIndexUpdates": [{action: change}]}
    if action == "Create":
        arguments["AttributeDefinitions"] = attribute_definitions("pk", "sk", *keys_of(index))
    client.call("UpdateTable", arguments)


def wait_for_index(client: Client, plan: Plan, wanted: str | None) -> None:
    """Until its state is that, or it is gone (None), and the table ACTIVE; raises LoadFailed after long."""
    deadline = time.perf_counter() + BUILD_SECONDS_MAX
    while time.perf_counter() < deadline:
        table = client.call("DescribeTable", {"TableName": plan.table})["Table"]
        states = [index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", [])]
        if states == ([wanted] if wanted else []) and table["TableStatus"] == "ACTIVE":
            return
        time.sleep(POLL_SECONDS)
    raise LoadFailed(f"the index was not {wanted or 'gone'} within {BUILD_SECONDS_MAX:.0f} s")


def build(server: Running, plan: Plan) -> tuple[float, float]:
    """Make the plan's first index: seconds until it is ACTIVE, and the server's CPU seconds meanwhile."""
    cpu_before, began = server.process.cpu_seconds(), time.perf_counter()
    update_table(server.client, plan, "Create", plan.index[0])
    wait_for_index(server.client, plan, "ACTIVE")
    return time.perf_counter() - began, server.process.cpu_seconds() - cpu_before


def check_index(client: Client, plan: Plan) -> None:
    """Raises LoadFailed unless the first customer's items are all found through it."""
    index = plan.index[0]
    arguments = {
        "TableName": plan.table, "IndexName": index.name, "Select": "COUNT", "KeyConditionExpression": "email = :email",
        "ExpressionAttributeValues": {":email": {"S": email(0)}},
    }  # fmt: skip
    counted = client.call("Query", arguments)["Count"]
    if counted < plan.sort_keys_per_partition:
        raise LoadFailed(f"the index holds {counted} of {plan.sort_keys_per_partition} items of a customer")


def remove_index(client: Client, plan: Plan) -> None:
    """Wait until it is gone."""
    update_table(client, plan, "Delete", plan.index[0])
    wait_for_index(client, plan, None)
    time.sleep(SETTLE_SECONDS)


@contextmanager
def steady_requests(server: Running, plan: Plan, table: Table, cores: Cores) -> Iterator[SteadyLoad]:
    """GetItem and PutItem in turns at the plan's rate, signed now; killed at the end unless it has ended."""
    files = [make_ready(server, plan, plan.named(name), table).file for name in ("get", "put")]
    wanted = plan.backfill
    load = SteadyLoad(server.port, wanted.beside_per_second, wanted.beside_connections, files, cores.generator)
    try:
        yield load
    finally:
        load.kill()


def seen_beside(plan: Plan, report: SteadyReport) -> Beside:
    """The record of what they saw."""
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
    server: Running, plan: Plan, table: Table, cores: Cores, seconds: float
) -> Iterator[BackfillFigure]:
    """Alone; then requests without an index being made, for `seconds`; then both. Raises LoadFailed or ReplyError.

    The table is full and has no index; at the end it has one.
    """
    name, items = server.contender.name, table.items
    took_seconds, cpu_seconds = build(server, plan)
    check_index(server.client, plan)
    yield BackfillFigure(server=name, items=items, seconds=took_seconds, cpu_us=cpu_seconds * 1e6 / items)
    remove_index(server.client, plan)
    with steady_requests(server, plan, table, cores) as load:
        time.sleep(seconds)
        yield BackfillFigure(server=name, items=items, seconds=0, cpu_us=0, beside=seen_beside(plan, load.end()))
    with steady_requests(server, plan, table, cores) as load:
        took_seconds, cpu_seconds = build(server, plan)
        seen = seen_beside(plan, load.end())
    check_index(server.client, plan)
    yield BackfillFigure(server=name, items=items, seconds=took_seconds, cpu_us=cpu_seconds * 1e6 / items, beside=seen)
