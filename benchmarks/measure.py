"""How is one figure taken? A prepared workload is replayed against a running server, and its CPU time read before and after."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.generator import Load, LoadFailed, RunningLoad
from benchmarks.items import ItemMaker
from benchmarks.prepare import Prepared, prepare_requests, write_requests
from benchmarks.processes import Cores, machine_busy_seconds
from benchmarks.results import Figure
from benchmarks.running import Running
from benchmarks.workloads import Plan, Workload

CORES = os.cpu_count() or 1
REPLIES_PER_CONNECTION_MIN = 10
SECONDS_MAX = 60.0
SCAN_LEAD_SECONDS = 2
"""A Scan beside runs so much longer: meanwhile the other workload's requests are signed."""


class Table(NamedTuple):
    """What the server's table holds."""

    maker: ItemMaker
    item_bytes: int
    items: int


class Pace(NamedTuple):
    """How long a workload runs before it counts, and while it does."""

    warm_up_seconds: float
    seconds: float
    cores: Cores


class Run(NamedTuple):
    """One workload, ready to be replayed."""

    server: Running
    file: Path
    prepared: Prepared
    workload: Workload
    table: Table
    connections: int
    beside: str


def prepare_file(server: Running, plan: Plan, workload: Workload, table: Table) -> tuple[Path, Prepared]:
    """Sign a workload's requests now and put them where wrk finds them."""
    prepared = prepare_requests(plan, workload, table.maker, table.items, server.client.host, server.client)
    server.client.close()
    file = server.folder / f"{workload.name}.requests"
    write_requests(file, prepared.requests)
    return file, prepared


def measure(
    server: Running, plan: Plan, workload: Workload, table: Table, connections: int, pace: Pace, beside: str = ""
) -> Figure:
    """One figure; raises LoadFailed when requests were refused.

    A run in which each connection saw only a few replies is repeated with more time: what is unfinished at its end would weigh.
    """
    file, prepared = prepare_file(server, plan, workload, table)
    run = Run(server, file, prepared, workload, table, workload.connections(connections), beside)
    warm_up(run, pace)
    seconds = pace.seconds
    while True:
        figure, requests = replay(run, seconds, pace.cores)
        if requests >= REPLIES_PER_CONNECTION_MIN * run.connections or seconds >= SECONDS_MAX:
            return figure
        seconds = min(seconds * 4, SECONDS_MAX)


def warm_up(run: Run, pace: Pace) -> None:
    """Replay without counting: longer the first time on a server that compiles itself."""
    server = run.server
    seconds = pace.warm_up_seconds
    if run.workload.name not in server.warm:
        seconds = max(seconds, server.contender.warm_up_seconds)
        server.warm.add(run.workload.name)
    if seconds:
        replay(run, seconds, pace.cores)


def replay(run: Run, seconds: float, cores: Cores) -> tuple[Figure, int]:
    """One run and how many requests it answered; raises LoadFailed when requests were refused."""
    process = run.server.process
    busy_before, cpu_before, began = machine_busy_seconds(), process.cpu_seconds(), time.perf_counter()
    load = RunningLoad(run.server.port, run.file, run.connections, seconds, cores.generator).wait()
    cpu_seconds = process.cpu_seconds() - cpu_before
    elapsed_seconds = time.perf_counter() - began
    busy_seconds = machine_busy_seconds() - busy_before
    check_load(load)
    units = load.requests * run.prepared.units_per_request
    run_seconds = load.duration_us / 1e6
    others_seconds = busy_seconds - cpu_seconds - load.generator_share * run_seconds
    figure = Figure(
        server=run.server.contender.name,
        workload=run.workload.name,
        connections=run.connections,
        item_bytes=run.table.item_bytes,
        table_items=run.table.items,
        cpu_us=cpu_seconds * 1e6 / units if units else float("inf"),
        units_per_second=units / run_seconds,
        p50_ms=load.p50_us / 1000,
        p99_ms=load.p99_us / 1000,
        p999_ms=load.p999_us / 1000,
        generator_share=load.generator_share,
        other_share=max(0.0, others_seconds / (elapsed_seconds * CORES)),
        beside=run.beside,
        resident_mb=process.resident_mb(),
    )
    return figure, load.requests


def measure_beside_scan(
    server: Running, plan: Plan, workload: Workload, table: Table, connections: int, pace: Pace
) -> Figure:
    """`measure` while one connection scans the table in pages of 1 MB, again and again.

    The CPU time is then both workloads' and says nothing about one.
    """
    scan_file, _ = prepare_file(server, plan, plan.named("scan"), table)
    scans = RunningLoad(server.port, scan_file, 1, pace.seconds + SCAN_LEAD_SECONDS, pace.cores.generator)
    try:
        return measure(server, plan, workload, table, connections, pace._replace(warm_up_seconds=0), "scan")
    finally:
        check_load(scans.wait())


def check_load(load: Load) -> None:
    """Raises LoadFailed when replies were refusals or connections broke: such a run compares nothing."""
    if load.refused or load.broken:
        raise LoadFailed(f"{load.refused} of {load.requests} requests were refused, {load.broken} broke")
