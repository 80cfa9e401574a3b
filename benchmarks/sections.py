"""Which parts does a run have? Each section measures its contenders one after the other and adds to the results.

What fails or is missing becomes a Skip with its reason; the run goes on.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.client import ReplyError
from benchmarks.generator import LoadFailed
from benchmarks.inprocess import measure_in_process
from benchmarks.measure import Pace, Table, measure, measure_beside_scan
from benchmarks.peers import ROOT, NotInstallable
from benchmarks.results import Figure, FootprintFigure, Results, Skip, StartFigure
from benchmarks.running import running
from benchmarks.servers import BY_NAME, Contender
from benchmarks.slowsync import slow_sync_environment
from benchmarks.workloads import Plan, Workload

STARTS = 5
IDLE_SECONDS = 1.0
"""A server rests so long before its idle memory is read."""
SETTLE_SECONDS = 2.0
"""And so long after a load."""
REASON_LENGTH_MAX = 200
GROWTH_REQUESTS = 100_000
"""Large tables are asked for more different keys, so that not all of them are in caches."""


def say(text: str) -> None:
    """Progress for whoever watches."""
    print(text, file=sys.stderr, flush=True)


class Choice:
    """What this run measures."""

    def __init__(
        self, plan: Plan, contenders: Sequence[Contender], workloads: Sequence[Workload], pace: Pace,
        connections: Sequence[int], item_bytes: Sequence[int],
    ) -> None:  # fmt: skip
        self.plan = plan
        self.contenders = contenders
        self.workloads = workloads
        self.pace = pace
        self.connections = connections
        self.item_bytes = item_bytes


@contextmanager
def skipping(results: Results, contender: Contender, what: str = "") -> Iterator[None]:
    """What goes wrong within is written down as a Skip, without the paths of this machine."""
    try:
        yield
    except (NotInstallable, LoadFailed, ReplyError, OSError) as reason:
        say(f"  {contender.title}{what}: skipped: {reason}")
        text = str(reason).replace(str(ROOT) + "/", "").replace(str(Path.home()), "~")
        results.skips.append(Skip(contender.name, f"{contender.title}{what}", text[-REASON_LENGTH_MAX:]))


def progress(label: str, items: int) -> Callable[[int], None]:
    """Says how far a long load is, every few seconds."""
    said_at = time.monotonic()

    def on_progress(written: int) -> None:
        nonlocal said_at
        if time.monotonic() - said_at > 10:
            said_at = time.monotonic()
            say(f"  {label}: {written:,} of {items:,} items written")

    return on_progress


def run_in_process(choice: Choice, results: Results) -> None:
    """(a) µs per operation by kind, without sockets."""
    say(f"in process: {', '.join(workload.name for workload in choice.workloads)}")
    seconds = choice.pace.seconds
    results.in_process += measure_in_process(choice.plan, choice.workloads, choice.plan.table_items, seconds)


def run_load(choice: Choice, results: Results, table_items: int) -> None:
    """(b) Every workload on every server: the compared number of connections for each size, the others for the first."""
    plan = choice.plan
    for contender in choice.contenders:
        for item_bytes in choice.item_bytes:
            where = f", {item_bytes} B, {table_items:,} items"
            label = contender.name + where
            say(label)
            with skipping(results, contender, where), running(contender, choice.pace.cores) as server:
                table = Table(
                    server.fill(plan, item_bytes, table_items, progress(label, table_items)), item_bytes, table_items
                )
                is_first = item_bytes == choice.item_bytes[0] and table_items == plan.table_items
                counts = choice.connections if is_first else choice.connections[:1]
                for workload in choice.workloads:
                    for connections in sorted({workload.connections(count) for count in counts}, reverse=True):
                        with skipping(results, contender, f"{where}, {workload.name}, {connections} connections"):
                            add(results, measure(server, plan, workload, table, connections, choice.pace))


def run_latency(choice: Choice, results: Results) -> None:
    """GetItem and PutItem on disk while a Scan runs beside."""
    plan = choice.plan
    for contender in on_disk(choice.contenders):
        say(f"{contender.name}: beside a Scan")
        with skipping(results, contender, ", beside a Scan"), running(contender, choice.pace.cores) as server:
            table = Table(server.fill(plan, plan.item_bytes[0], plan.table_items), plan.item_bytes[0], plan.table_items)
            for name in ("get", "put"):
                workload = plan.named(name)
                measure(server, plan, workload, table, plan.connections_compared, choice.pace._replace(seconds=1))
                add(results, measure_beside_scan(server, plan, workload, table, plan.connections_compared, choice.pace))


def run_slow_sync(choice: Choice, results: Results) -> None:
    """PutItem on disk with every sync slowed down: does group commit carry it?"""
    plan = choice.plan
    for contender in on_disk(choice.contenders):
        what = f", syncs {plan.slow_sync.delay_us} µs slower"
        say(contender.name + what)
        with skipping(results, contender, what):
            environment = slow_sync_environment(plan.slow_sync.delay_us)
            with running(contender, choice.pace.cores, environment) as server:
                table = Table(
                    server.fill(plan, plan.item_bytes[0], plan.table_items), plan.item_bytes[0], plan.table_items
                )
                workload = plan.named("put")
                add(
                    results,
                    measure(server, plan, workload, table, plan.slow_sync.connections, choice.pace, "slow sync"),
                )


def run_start(choice: Choice, results: Results) -> None:
    """Start-up time and idle memory, medians of several starts."""
    for contender in choice.contenders:
        say(f"{contender.name}: start")
        ready_ms: list[float] = []
        idle_mb: list[float] = []
        with skipping(results, contender, ", start"):
            for _ in range(STARTS):
                with running(contender, choice.pace.cores) as server:
                    ready_ms.append(server.ready_ms)
                    time.sleep(IDLE_SECONDS)
                    idle_mb.append(server.process.resident_mb())
            results.starts.append(StartFigure(contender.name, statistics.median(ready_ms), statistics.median(idle_mb)))


def run_footprint(choice: Choice, results: Results) -> None:
    """Memory and disk with many items."""
    plan = choice.plan
    items = plan.footprint.items
    for contender in choice.contenders:
        say(f"{contender.name}: {items:,} items")
        with skipping(results, contender, f", {items:,} items"), running(contender, choice.pace.cores) as server:
            began = time.perf_counter()
            server.fill(plan, plan.footprint.item_bytes, items, progress(contender.name, items))
            load_seconds = time.perf_counter() - began
            time.sleep(SETTLE_SECONDS)
            results.footprints.append(
                FootprintFigure(contender.name, items, load_seconds, server.process.resident_mb(), server.disk_mb())
            )


def run_growth(choice: Choice, results: Results, sizes: Sequence[int]) -> None:
    """Does an operation stay as quick while the table grows? Hashrange on disk, one table that is filled up further."""
    plan = choice.plan
    contender = BY_NAME["ours-disk"]
    item_bytes = plan.item_bytes[0]
    workloads = [workload for workload in choice.workloads if workload.is_in_growth_check]
    wide_plan = msgspec.structs.replace(plan, requests_prepared=GROWTH_REQUESTS)
    with skipping(results, contender, ", growth"), running(contender, choice.pace.cores) as server:
        maker = server.fill(plan, item_bytes, 0)
        filled = 0
        for items in sizes:
            began = time.perf_counter()
            server.add(plan, maker, range(filled, items), progress("growth", items))
            filled = items
            load_seconds = time.perf_counter() - began
            time.sleep(SETTLE_SECONDS)
            results.footprints.append(
                FootprintFigure(contender.name, items, load_seconds, server.process.resident_mb(), server.disk_mb())
            )
            for workload in workloads:
                table = Table(maker, item_bytes, items)
                add(
                    results,
                    measure(server, wide_plan, workload, table, plan.connections_compared, choice.pace, "growth"),
                )


def on_disk(contenders: Sequence[Contender]) -> list[Contender]:
    """Those that keep data on disk."""
    return [contender for contender in contenders if contender.kind == "disk"]


def add(results: Results, figure: Figure) -> None:
    """Keep a figure, and say it."""
    results.figures.append(figure)
    say(
        f"  {figure.workload:15} {figure.connections:3} connections: {figure.cpu_us:8.1f} µs CPU, {figure.units_per_second:9,.0f}/s,"
        f" p50 {figure.p50_ms:7.2f}, p99 {figure.p99_ms:7.2f}, p99.9 {figure.p999_ms:7.2f} ms"
        f" (generator {figure.generator_share:.0%}, others {figure.other_share:.0%})"
    )
