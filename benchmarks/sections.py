"""Which sections does a run have? Each measures its contenders one after the other and adds to the results.

A failed measurement becomes a Skip with its reason; the run continues.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.backfill import measure_backfill
from benchmarks.client import ReplyError
from benchmarks.generator import LoadFailed
from benchmarks.inprocess import measure_in_process
from benchmarks.measure import Pace, Ready, Table, make_ready, measure, measure_beside_scan, warm_up
from benchmarks.peers import ROOT, NotInstallable
from benchmarks.results import (
    GROWTH_KINDS,
    GROWTH_SCATTERED,
    BackfillFigure,
    Figure,
    FootprintFigure,
    Ledger,
    Skip,
    StartFigure,
)
from benchmarks.running import Running, running
from benchmarks.searches import describe_vectors, measure_searches
from benchmarks.servers import BY_NAME, Contender
from benchmarks.slowsync import slow_sync_environment
from benchmarks.workloads import Plan, Workload

PEER_SHARE = 2 / 3
PEER_STARTS_MAX = 3
"""Peers run for a shorter time and start less often, to bound the length of a run."""
IDLE_SECONDS = 1.0
"""Seconds that a server rests before its idle memory is read."""
SETTLE_SECONDS = 2.0
"""Seconds that a server rests after a load."""
QUIET_SHARE, QUIET_LOOKS_MAX = 0.05, 180
"""A server that uses less than this share of a core is at rest; checked once a second, at most QUIET_LOOKS_MAX times.
"""
GROWTH_WARM_UP_SECONDS = 6.0
"""Warm-up of the growth check, whose many different keys fill the engine's cache more slowly than one small table's."""
SLOW_AFTER_SECONDS, SLOW_AFTER_SHARE = 15.0, 0.3
"""A load is judged slow only after these seconds, and after this share of its allowed time."""
REASON_LENGTH_MAX = 240
GROWTH_REQUESTS = 100_000
"""Large tables also get this many different requests, so that not all items are in caches."""


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)


class Choice(NamedTuple):
    """The settings of this run."""

    plan: Plan
    contenders: Sequence[Contender]
    workloads: Sequence[Workload]
    pace: Pace
    """Pace of compared figures; peers' runs are PEER_SHARE as long."""
    side_pace: Pace
    """Pace of all other figures."""
    connections: Sequence[int]
    """Numbers of connections, the compared one first: some tables are measured with it alone."""
    item_bytes: Sequence[int]
    starts: int = 5
    is_full: bool = False
    """True if index builds of peers are also measured under load."""

    def pace_of(self, contender: Contender) -> Pace:
        """Return the pace of compared figures for that server."""
        return self.pace if contender.is_ours else self.pace._replace(seconds=self.pace.seconds * PEER_SHARE)

    def starts_of(self, contender: Contender) -> int:
        """Return how often the contender is started."""
        return self.starts if contender.is_ours else min(self.starts, PEER_STARTS_MAX)


@contextmanager
def skipping(ledger: Ledger, contender: Contender, what: str = "") -> Iterator[None]:
    """Record an error of the body as a Skip, without this machine's paths, in place of an earlier Skip of that name."""
    name = f"{contender.title}{what}"
    ledger.forget_skip(contender.name, name)
    try:
        yield
    except (NotInstallable, LoadFailed, ReplyError, OSError) as reason:
        say(f"  {name}: skipped: {reason}")
        ledger.add(Skip(server=contender.name, what=name, reason=without_paths(str(reason))))


def without_paths(reason: str) -> str:
    """Return a reason without this machine's paths, shortened."""
    return shortened(reason.replace(str(ROOT) + "/", "").replace(str(Path.home()), "~"))


def shortened(text: str) -> str:
    """Return the beginning and the end of a long text: programs give the reason of an exit at the end."""
    if len(text) <= REASON_LENGTH_MAX:
        return text
    return f"{text[: REASON_LENGTH_MAX // 2]} … {text[-REASON_LENGTH_MAX // 2 :]}"


def progress(label: str, items: int) -> Callable[[int], None]:
    """Return a callback that prints the progress of a long load every few seconds."""
    said_at = time.monotonic()

    def on_progress(written: int) -> None:
        nonlocal said_at
        if time.monotonic() - said_at > 10:
            said_at = time.monotonic()
            say(f"  {label}: {written:,} of {items:,} items written")

    return on_progress


def not_too_slow(items: int, per_second_min: float, report: Callable[[int], None]) -> Callable[[int], None]:
    """Callback that raises LoadFailed for a load below the minimum rate at its deadline,
    or below half of it earlier.
    """
    began = time.monotonic()
    seconds_max = items / per_second_min
    early_seconds = max(SLOW_AFTER_SECONDS, seconds_max * SLOW_AFTER_SHARE)

    def on_progress(written: int) -> None:
        elapsed = time.monotonic() - began
        wanted = per_second_min if elapsed > seconds_max else per_second_min / 2
        if elapsed > early_seconds and written / elapsed < wanted:
            raise LoadFailed(f"it loads {written / elapsed:,.0f} items a second, fewer than {per_second_min:,.0f}")
        report(written)

    return on_progress


def patience(plan: Plan, contender: Contender, items: int) -> Callable[[int], None]:
    """Return the load's progress callback; for peers it also ends a slow load."""
    report = progress(contender.name, items)
    return report if contender.is_ours else not_too_slow(items, plan.load_per_second_min_small, report)


def run_in_process(choice: Choice, ledger: Ledger) -> None:
    """(a) µs per operation by kind, without sockets."""
    say(f"in process: {', '.join(workload.name for workload in choice.workloads)}")
    for figure in measure_in_process(choice.plan, choice.workloads, choice.plan.table_items, choice.side_pace.seconds):
        ledger.add(figure)


def run_load(choice: Choice, ledger: Ledger, table_items: int) -> None:
    """(b) Every workload on every server: compared connections for each item size, other numbers for the first size."""
    plan = choice.plan
    is_small = table_items == plan.table_items
    for contender in choice.contenders:
        for item_bytes in choice.item_bytes if is_small else choice.item_bytes[:1]:
            where = f", {item_bytes} B, {table_items:,} items"
            say(contender.name + where)
            report = progress(contender.name, table_items)
            if not (is_small or contender.is_ours):
                report = not_too_slow(table_items, plan.load_per_second_min, report)
            with skipping(ledger, contender, where), running(contender, choice.pace.cores) as server:
                table = Table(server.fill(plan, item_bytes, table_items, report), item_bytes, table_items)
                if not is_small:
                    wait_until_quiet(server)
                is_first = is_small and item_bytes == choice.item_bytes[0]
                for workload in choice.workloads:
                    if is_first or not workload.is_compared_only:
                        with skipping(ledger, contender, f"{where}, {workload.title}"):
                            measure_load(choice, ledger, make_ready(server, plan, workload, table))


def measure_load(choice: Choice, ledger: Ledger, ready: Ready) -> None:
    """Measure one workload: all numbers of connections on the small table of the first size, else only the first."""
    plan, workload, table = choice.plan, ready.workload, ready.table
    is_first = table.item_bytes == choice.item_bytes[0] and table.items == plan.table_items
    is_wide = is_first and not workload.is_compared_only
    counts = choice.connections if is_wide else choice.connections[:1]
    compared, pace = workload.connections(plan.connections_compared), choice.pace_of(ready.server.contender)
    for connections in dict.fromkeys(workload.connections(count) for count in counts):
        is_compared = connections == compared and table.item_bytes == plan.item_bytes[0]
        add(ledger, measure(ready, connections, pace if is_compared else choice.side_pace))


def run_latency(choice: Choice, ledger: Ledger) -> None:
    """GetItem and PutItem on disk during a Scan."""
    plan = choice.plan
    for contender in on_disk(choice.contenders):
        say(f"{contender.name}: beside a Scan")
        with skipping(ledger, contender, ", beside a Scan"), running(contender, choice.pace.cores) as server:
            table = Table(server.fill(plan, plan.item_bytes[0], plan.table_items), plan.item_bytes[0], plan.table_items)
            scan = make_ready(server, plan, plan.named("scan"), table)
            for name in ("get", "put"):
                ready = make_ready(server, plan, plan.named(name), table)
                warm_up(ready, plan.connections_compared, choice.side_pace)
                add(ledger, measure_beside_scan(ready, scan, plan.connections_compared, choice.pace_of(contender)))


def run_slow_sync(choice: Choice, ledger: Ledger) -> None:
    """PutItem on disk with every sync slowed down: does group commit compensate?"""
    plan = choice.plan
    for contender in ours_of(on_disk(choice.contenders)):
        what = f", syncs {plan.slow_sync.delay_us} µs slower"
        say(contender.name + what)
        with skipping(ledger, contender, what):
            environment = slow_sync_environment(plan.slow_sync.delay_us)
            with running(contender, choice.pace.cores, environment) as server:
                maker = server.fill(plan, plan.item_bytes[0], plan.table_items)
                ready = make_ready(server, plan, plan.named("put"), Table(maker, plan.item_bytes[0], plan.table_items))
                add(ledger, measure(ready, plan.slow_sync.connections, choice.pace, "slow sync"))


def run_start(choice: Choice, ledger: Ledger) -> None:
    """Start-up time and idle memory, medians of several starts."""
    for contender in choice.contenders:
        say(f"{contender.name}: start")
        ready_ms: list[float] = []
        idle_mb: list[float] = []
        with skipping(ledger, contender, ", start"):
            for _ in range(choice.starts_of(contender)):
                with running(contender, choice.pace.cores) as server:
                    ready_ms.append(server.ready_ms)
                    time.sleep(IDLE_SECONDS)
                    idle_mb.append(server.process.resident_mb())
            ready, idle = statistics.median(ready_ms), statistics.median(idle_mb)
            ledger.add(StartFigure(server=contender.name, ready_ms=ready, idle_mb=idle))


def run_footprint(choice: Choice, ledger: Ledger) -> None:
    """Memory and disk with many items."""
    plan = choice.plan
    items = plan.footprint.items
    for contender in choice.contenders:
        say(f"{contender.name}: {items:,} items")
        with skipping(ledger, contender, f", {items:,} items"), running(contender, choice.pace.cores) as server:
            began = time.perf_counter()
            server.fill(plan, plan.footprint.item_bytes, items, patience(plan, contender, items))
            ledger.add(footprint_of(server, items, time.perf_counter() - began))


def wait_until_quiet(server: Running) -> None:
    """Wait until background work after the load has ended: otherwise it would count as the cost of requests."""
    for _ in range(QUIET_LOOKS_MAX):
        before = server.process.cpu_seconds()
        time.sleep(1.0)
        if server.process.cpu_seconds() - before < QUIET_SHARE:
            return


def footprint_of(server: Running, items: int, load_seconds: float, beside: str = "") -> FootprintFigure:
    """Return memory and disk after a rest."""
    time.sleep(SETTLE_SECONDS)
    return FootprintFigure(
        server=server.contender.name,
        items=items,
        load_seconds=load_seconds,
        resident_mb=server.process.resident_mb(),
        disk_mb=server.disk_mb(),
        beside=beside,
    )


def run_backfill(choice: Choice, ledger: Ledger) -> None:
    """Build an index on a full table, on an idle server and under load."""
    plan = choice.plan
    for contender in choice.contenders:
        items = plan.backfill.items if contender.is_ours else plan.backfill.items_peers
        what = f", an index on {items:,} items"
        say(contender.name + what)
        with skipping(ledger, contender, what), running(contender, choice.pace.cores) as server:
            maker = server.fill(plan, plan.backfill.item_bytes, items, patience(plan, contender, items))
            table = Table(maker, plan.backfill.item_bytes, items)
            wait_until_quiet(server)
            figures = measure_backfill(server, plan, table, choice.pace_of(contender), choice.side_pace)
            for figure in figures if contender.is_ours or choice.is_full else islice(figures, 1):
                ledger.add(figure)
                say_backfill(figure)


def say_backfill(figure: BackfillFigure) -> None:
    """Print the figure of an index build."""
    seen = figure.beside
    parts = [f"{figure.items / figure.seconds:,.0f} items/s"] if figure.seconds else []
    if seen is not None:
        parts.append(f"beside {seen.per_second:,.0f}/s with p99 {seen.get_p99_ms:.2f} and {seen.put_p99_ms:.2f} ms")
    say("  " + " ".join(parts))


def run_searches(choice: Choice, ledger: Ledger) -> None:
    """Search a vector index, and write vectors with and without one."""
    what = f", {describe_vectors(choice.plan.searched_vectors)} dimensions"
    for contender in choice.contenders:
        say(contender.name + what)
        with skipping(ledger, contender, what), running(contender, choice.pace.cores) as server:
            figure = measure_searches(server, choice.plan)
            ledger.add(figure)
            say(
                f"  search {figure.search_us:,.0f} µs CPU, p50 {figure.p50_ms:.2f} ms, recall {figure.recall:.1%};"
                f" filled {figure.filled_us:,.0f}, PutItem {figure.plain_put_us:,.0f},"
                f" indexed {figure.indexed_put_us:,.0f} µs CPU"
            )


def run_growth(choice: Choice, ledger: Ledger, sizes: Sequence[int]) -> None:
    """Does an operation stay as fast while the table grows? Hashrange on disk, one table that is filled in steps."""
    plan = choice.plan
    contender = BY_NAME["ours-disk"]
    item_bytes = plan.item_bytes[0]
    workloads = [workload for workload in choice.workloads if workload.is_in_growth_check]
    pace = choice.pace._replace(warm_up_seconds=GROWTH_WARM_UP_SECONDS)
    with skipping(ledger, contender, ", growth"), running(contender, choice.pace.cores) as server:
        maker = server.fill(plan, item_bytes, 0)
        filled = 0
        for items in sizes:
            began = time.perf_counter()
            server.add(plan, maker, range(filled, items), progress("growth", items))
            filled = items
            load_seconds = time.perf_counter() - began
            wait_until_quiet(server)
            ledger.add(footprint_of(server, items, load_seconds, GROWTH_SCATTERED))
            for workload, beside in product(workloads, GROWTH_KINDS):
                asked_plan = msgspec.structs.replace(plan, requests_prepared=growth_requests(plan, workload, beside))
                ready = make_ready(server, asked_plan, workload, Table(maker, item_bytes, items))
                wait_until_quiet(server)
                server.read_files()
                add(ledger, measure(ready, plan.connections_compared, pace, beside))


def growth_requests(plan: Plan, workload: Workload, beside: str) -> int:
    """Return the number of different requests in the growth check."""
    if beside == GROWTH_SCATTERED:
        return GROWTH_REQUESTS
    return plan.table_items // (plan.sort_keys_per_partition if workload.keys == "partitions" else 1)


def on_disk(contenders: Sequence[Contender]) -> list[Contender]:
    """Return the contenders that keep data on disk."""
    return [contender for contender in contenders if contender.kind == "disk"]


def ours_of(contenders: Sequence[Contender]) -> list[Contender]:
    """Return Hashrange's contenders."""
    return [contender for contender in contenders if contender.is_ours]


def add(ledger: Ledger, figure: Figure) -> None:
    """Add a figure to the ledger and print it."""
    ledger.add(figure)
    say(
        f"  {figure.workload:15} {figure.connections:3} connections: {figure.cpu_us:8.1f} µs CPU,"
        f" {figure.units_per_second:9,.0f}/s, p50 {figure.p50_ms:7.2f}, p99 {figure.p99_ms:7.2f}, p99.9"
        f" {figure.p999_ms:7.2f} ms (generator {figure.generator_share:.0%}, others {figure.other_share:.0%})"
    )
