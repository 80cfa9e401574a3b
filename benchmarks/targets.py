"""Which targets are met? Each target beside Hashrange's figure, and the peers' figures when the target was set."""

from collections.abc import Iterable

from benchmarks.lookup import all_records, find, note
from benchmarks.results import Results
from benchmarks.servers import BY_NAME
from benchmarks.tables import number, table
from benchmarks.workloads import Plan

PEERS_AT_FIRST = "Dynoxide · DynamoDB Local · dynalite, memory / disk, when the targets were set"


def targets(plan: Plan, results: Results) -> str:
    """Return the table of all targets with Hashrange's figures."""
    rows = [*cpu_targets(plan, results), *further_index_targets(plan, results), *latency_targets(plan, results)]
    rows += [*backfill_targets(plan, results), *start_targets(plan, results), *footprint_targets(plan, results)]
    if not rows:
        return ""
    ours = [one for one in all_records(results) if getattr(one, "server", "").startswith("ours")]
    return f"## Targets\n\n{note(results, ours)}" + table(["target", "wanted", "measured", "met", PEERS_AT_FIRST], rows)


Row = tuple[str, str, str, str, str]


def row(
    what: str, wanted: float, measured: float | None, unit: str, at_first: str = "", *, at_least: bool = False
) -> list[Row]:
    """Yield one target's row; none without a figure."""
    if measured is None:
        return []
    is_met = measured >= wanted if at_least else measured <= wanted
    sign = "≥" if at_least else "≤"
    return [
        (what, f"{sign} {number(wanted)} {unit}", f"{number(measured)} {unit}", "yes" if is_met else "**no**", at_first)
    ]


def cpu_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Yield CPU per operation, in memory and on disk."""
    for workload in plan.workload:
        for kind in ("memory", "disk"):
            figure, wanted = find(plan, results, f"ours-{kind}", workload.name), workload.target_us(kind)
            if figure is not None and wanted is not None:
                at_first = workload.at_first if kind == "memory" else ""
                yield from row(f"{workload.title}; {kind}", wanted, figure.cpu_us, "µs", at_first)


def further_index_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Yield the CPU that an index adds to a PutItem: the mean of five."""
    for kind in ("memory", "disk"):
        without = find(plan, results, f"ours-{kind}", "put")
        with_five = find(plan, results, f"ours-{kind}", "put-5-indexes")
        if without is not None and with_five is not None:
            added = (with_five.cpu_us - without.cpu_us) / plan.named("put-5-indexes").indexes
            yield from row(f"each GSI of a PutItem, mean of five; {kind}", plan.further_index_us_max, added, "µs")


def latency_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Yield latency on disk, alone and during a Scan, and writes with slow syncs."""
    wanted = plan.latency
    for beside, words in (("", ""), ("scan", ", while a Scan runs beside")):
        get = find(plan, results, "ours-disk", "get", beside=beside)
        put = find(plan, results, "ours-disk", "put", beside=beside)
        if get is not None:
            yield from row(f"GetItem p99, disk{words}", wanted.get_p99_ms_max, get.p99_ms, "ms")
        if put is not None:
            yield from row(f"PutItem p99, disk{words}", wanted.put_p99_ms_max, put.p99_ms, "ms")
            yield from row(f"PutItem p99.9, disk{words}", wanted.put_p999_ms_max, put.p999_ms, "ms")
    slow = plan.slow_sync
    put = find(plan, results, "ours-disk", "put", beside="slow sync", connections=slow.connections)
    if put is not None:
        what = f"PutItem, disk, each sync {slow.delay_us / 1000:g} ms slower, {slow.connections} connections"
        yield from row(what, slow.puts_per_second_min, put.units_per_second, "/s", at_least=True)


def backfill_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Yield items per second of an index build when idle, and latencies of requests during one."""
    wanted = plan.backfill
    for figure in results.backfills:
        if not figure.server.startswith("ours") or figure.items != wanted.items or not figure.seconds:
            continue
        kind = BY_NAME[figure.server].kind
        what = f"GSI on a table of {figure.items:,} items"
        if figure.beside is None:
            rate = figure.items / figure.seconds
            yield from row(f"{what}; {kind}", wanted.items_per_second_min, rate, "items/s", at_least=True)
        else:
            beside = f"GetItem and PutItem p99 beside it, {wanted.beside_per_second:,}/s"
            yield from row(f"{what}: {beside}; {kind}", wanted.beside_p99_ms_max, figure.beside.worst_p99_ms(), "ms")


def start_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Yield start-up time and idle memory."""
    for start in results.starts:
        if start.server.startswith("ours"):
            kind = BY_NAME[start.server].kind
            yield from row(
                f"ready after start; {kind}", plan.start.ready_ms_max, start.ready_ms, "ms", plan.start.at_first
            )
            yield from row(f"idle memory; {kind}", plan.start.idle_mb_max, start.idle_mb, "MB")


def footprint_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Yield memory and disk with many items."""
    wanted = plan.footprint
    for footprint in results.footprints:
        if not footprint.server.startswith("ours") or footprint.items != wanted.items or footprint.beside:
            continue
        kind = BY_NAME[footprint.server].kind
        memory_max = wanted.memory_mode_mb_max if kind == "memory" else wanted.disk_mode_mb_max
        what = f"{footprint.items:,} items of {wanted.item_bytes} B"
        yield from row(f"{what}: memory; {kind}", memory_max, footprint.resident_mb, "MB", wanted.at_first)
        yield from row(f"{what}: size on disk", wanted.disk_size_mb_max, footprint.disk_mb, "MB")
