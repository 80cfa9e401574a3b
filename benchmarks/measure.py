"""How is one figure measured? A prepared workload is replayed against a running server,
whose CPU time is read before and after.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.client import Connection, ReplyError
from benchmarks.generator import Load, LoadFailed, RunningLoad
from benchmarks.items import ItemMaker
from benchmarks.prepare import Prepared, prepare_requests, write_requests
from benchmarks.processes import Cores, machine_busy_seconds
from benchmarks.results import Figure
from benchmarks.running import Running
from benchmarks.workloads import Plan, Workload

CORES = os.cpu_count() or 1
SECONDS_MAX = 30.0
SCAN_LEAD_SECONDS = 1
"""A concurrent Scan starts this much earlier than the measured workload."""


class Table(NamedTuple):
    """The contents of the server's table."""

    maker: ItemMaker
    item_bytes: int
    items: int


class Pace(NamedTuple):
    """Warm-up and duration of a run."""

    warm_up_seconds: float
    seconds: float
    cores: Cores
    compile_share: float = 1.0
    """Share of their own warm-up that servers with a just-in-time compiler get."""
    replies_min: int = 10
    """With fewer replies per connection the run is repeated for longer: requests unfinished at its end distort it."""


class Ready(NamedTuple):
    """One workload, ready to be replayed."""

    server: Running
    file: Path
    prepared: Prepared
    workload: Workload
    table: Table


def make_ready(server: Running, plan: Plan, workload: Workload, table: Table) -> Ready:
    """Sign a workload's requests now and write them to a file for wrk.

    Raises ReplyError when the table cannot be created or the first request is refused: the server lacks that operation.
    """
    server.fill_indexed(plan, table.maker, table.items, workload.indexes)
    plan = msgspec.structs.replace(plan, requests_prepared=workload.requests or plan.requests_prepared)
    prepared = prepare_requests(plan, workload, table.maker, table.items, server.client.host, server.client)
    server.client.close()
    try_first(server, workload, prepared)
    file = server.folder / f"{workload.name}.requests"
    write_requests(file, prepared.requests)
    return Ready(server, file, prepared, workload, table)


def try_first(server: Running, workload: Workload, prepared: Prepared) -> None:
    """Send one request by hand: its reply says why it is refused."""
    connection = Connection(server.port)
    try:
        connection.send(prepared.requests[0])
        status, body = connection.receive()
    finally:
        connection.close()
    if status != 200:
        raise ReplyError(f"{workload.operation} is refused: {status} {body[:150].decode(errors='replace')}")


def measure(ready: Ready, connections: int, pace: Pace, beside: str = "") -> Figure:
    """Return one figure; raises LoadFailed when requests were refused."""
    connections = ready.workload.connections(connections)
    warm_up(ready, connections, pace)
    seconds = pace.seconds
    wanted = pace.replies_min * connections
    while True:
        figure, requests = replay(ready, connections, seconds, pace.cores, beside)
        if requests >= wanted or seconds >= SECONDS_MAX:
            return figure
        seconds = min(max(seconds * 2, seconds * 1.3 * wanted / max(requests, 1)), SECONDS_MAX)


def warm_up(ready: Ready, connections: int, pace: Pace) -> None:
    """Replay without counting; the first workload of a server with a just-in-time compiler is replayed for longer."""
    server = ready.server
    seconds = pace.warm_up_seconds
    if ready.workload.name not in server.warm:
        own_seconds = server.contender.warm_up_seconds / (4 if server.warm else 1)
        seconds = max(seconds, own_seconds * pace.compile_share)
        server.warm.add(ready.workload.name)
    if seconds:
        replay(ready, connections, seconds, pace.cores, "")


def replay(ready: Ready, connections: int, seconds: float, cores: Cores, beside: str) -> tuple[Figure, int]:
    """Return the figure of one run and the number of requests answered;
    raises LoadFailed when requests were refused.
    """
    server, table = ready.server, ready.table
    process = server.process
    busy_before, cpu_before, began = machine_busy_seconds(), process.cpu_seconds(), time.perf_counter()
    load = RunningLoad(server.port, ready.file, connections, seconds, cores.generator).wait()
    cpu_seconds = process.cpu_seconds() - cpu_before
    elapsed_seconds = time.perf_counter() - began
    busy_seconds = machine_busy_seconds() - busy_before
    check_load(load)
    server.sent[ready.workload.name] += load.requests
    if ready.workload.keys == "new" and server.sent[ready.workload.name] >= len(ready.prepared.requests):
        raise LoadFailed(f"it wrote more than {len(ready.prepared.requests):,} items: some keys were not new")
    units = load.requests * ready.prepared.units_per_request
    run_seconds = load.duration_us / 1e6
    others_seconds = busy_seconds - cpu_seconds - load.generator_share * run_seconds
    figure = Figure(
        server=server.contender.name,
        workload=ready.workload.name,
        connections=connections,
        item_bytes=table.item_bytes,
        table_items=table.items,
        cpu_us=cpu_seconds * 1e6 / units if units else float("inf"),
        units_per_second=units / run_seconds,
        p50_ms=load.p50_us / 1000,
        p99_ms=load.p99_us / 1000,
        p999_ms=load.p999_us / 1000,
        generator_share=load.generator_share,
        other_share=max(0.0, others_seconds / (elapsed_seconds * CORES)),
        beside=beside,
        resident_mb=process.resident_mb(),
    )
    return figure, load.requests


def measure_beside_scan(ready: Ready, scan: Ready, connections: int, pace: Pace) -> Figure:
    """Run `measure` while one connection scans the table in pages of 1 MB, repeatedly.

    The CPU time covers both workloads, so it says nothing about either.
    """
    pace = pace._replace(warm_up_seconds=0, replies_min=0)
    scans = RunningLoad(ready.server.port, scan.file, 1, pace.seconds + SCAN_LEAD_SECONDS, pace.cores.generator)
    try:
        return measure(ready, connections, pace, "scan")
    finally:
        check_load(scans.wait())


def check_load(load: Load) -> None:
    """Raises LoadFailed when replies were refusals or connections broke: such a run is not comparable."""
    if load.refused or load.broken:
        raise LoadFailed(f"{load.refused} of {load.requests} requests were refused, {load.broken} broke")
