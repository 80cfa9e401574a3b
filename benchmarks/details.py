"""Which other figures does the page show? Every run with throughput and latency, starts, memory,
index builds, growth, and skipped measurements.
"""

from collections.abc import Callable
from typing import TypeVar

from benchmarks.lookup import note
from benchmarks.results import (
    GROWTH_KINDS,
    GROWTH_SAME,
    GROWTH_SCATTERED,
    BackfillFigure,
    Figure,
    FootprintFigure,
    Results,
    SearchFigure,
    StartFigure,
)
from benchmarks.servers import BY_NAME, CONTENDERS
from benchmarks.tables import DASH, number, table
from benchmarks.workloads import Plan

TIMES = "\N{MULTIPLICATION SIGN}"
GENERATOR_LIMIT = 0.9
OTHERS_LIMIT = 0.1
ORDER = {contender.name: place for place, contender in enumerate(CONTENDERS)}
DETAIL_COLUMNS = (
    "server", "connections", "item B", "items", "beside", "CPU µs", "per second", "p50 ms", "p99 ms", "p99.9 ms", "",
)  # fmt: skip


def in_process(plan: Plan, results: Results) -> str:
    """Return the table of µs per operation without sockets."""
    titles = {workload.name: workload.title for workload in plan.workload}
    rows = [
        (titles[figure.workload], number(figure.dispatch_us), number(figure.operation_us))
        for figure in results.in_process
    ]
    if not rows:
        return ""
    intro = (
        "µs of CPU per operation (per item for Scans and batches), in memory, the best of several rounds. Dispatched:"
        " from a parsed HTTP request to the reply's body, with signature, decoding and store. Alone:"
        " the operation on a decoded request."
    )
    return f"## In process\n\n{note(results, results.in_process)}{intro}\n\n" + table(
        ["operation", "dispatched", "alone"], rows
    )


def details(plan: Plan, results: Results) -> str:
    """Return the tables of all runs with throughput and latency, of starts and of footprints."""
    parts = ["## All figures"] if results.figures or results.starts or results.footprints else []
    for workload in plan.workload:
        figures = [one for one in results.figures if one.workload == workload.name and one.beside not in GROWTH_KINDS]
        if figures:
            ordered = sorted(figures, key=place_of)
            text = table(DETAIL_COLUMNS, [detail_row(figure) for figure in ordered])
            parts.append(f"### {workload.title}\n\n{note(results, figures)}{text}")
    parts += [starts(results), footprints(results)]
    return "\n\n".join(filter(None, parts))


def place_of(figure: Figure) -> tuple[object, ...]:
    """Return the sort key of a figure in its workload, so that merged runs keep the order of a single run."""
    return (figure.table_items, figure.item_bytes, figure.beside, figure.connections, ORDER[figure.server])


def starts(results: Results) -> str:
    """Return the table of start-up time and idle memory."""
    if not results.starts:
        return ""
    rows = [(BY_NAME[one.server].title, number(one.ready_ms), number(one.idle_mb)) for one in in_order(results.starts)]
    text = table(["server", "ready after ms", "idle MB"], rows)
    return f"### Start\n\n{note(results, results.starts)}{text}"


def footprints(results: Results) -> str:
    """Return the table of memory and disk with many items."""
    if not results.footprints:
        return ""
    columns = ["server", "items", "loaded in s", "memory MB", "disk MB", "beside"]
    rows = [
        (
            BY_NAME[one.server].title, f"{one.items:,}", number(one.load_seconds), number(one.resident_mb),
            DASH if one.disk_mb is None else number(one.disk_mb), one.beside,
        )
        for one in in_order(results.footprints)
    ]  # fmt: skip
    return f"### Memory and disk\n\n{note(results, results.footprints)}{table(columns, rows)}"


T = TypeVar("T", StartFigure, FootprintFigure, BackfillFigure, SearchFigure)


def in_order(records: list[T]) -> list[T]:
    """Sort the records by server, in the page's order."""
    return sorted(records, key=lambda record: ORDER[record.server])


def backfills(_plan: Plan, results: Results) -> str:
    """Return the table of index builds on a full table."""
    if not results.backfills:
        return ""
    rows = []
    for figure in in_order(results.backfills):
        seen = figure.beside
        latencies = [DASH] * 6
        if seen is not None:
            latencies = [
                f"{seen.per_second:,.0f}",
                *(
                    f"{one:.2f}"
                    for one in (seen.get_p50_ms, seen.get_p99_ms, seen.put_p50_ms, seen.put_p99_ms, seen.max_ms)
                ),
            ]
        built = (
            [f"{figure.seconds:.2f}", f"{figure.items / figure.seconds:,.0f}", number(figure.cpu_us)]
            if figure.seconds
            else [DASH] * 3
        )
        rows.append([BY_NAME[figure.server].title, f"{figure.items:,}", *built, *latencies])
    columns = [
        "server",
        "items",
        "seconds",
        "items/s",
        "CPU µs per item",
        "requests/s",
        "get p50 ms",
        "get p99 ms",
        "put p50 ms",
        "put p99 ms",
        "worst ms",
    ]
    intro = (
        "A GSI that projects ALL is made on a full table by UpdateTable: alone; then signed GetItem and PutItem"
        " requests in turns at a fixed rate without an index being made; then both."
        " Latencies count from when a request was due. With requests beside, the CPU per item includes theirs."
    )
    return f"## Backfill\n\n{note(results, results.backfills)}{intro}\n\n" + table(columns, rows)


def searches(plan: Plan, results: Results) -> str:
    """Return the table of searches of vector indexes, and of writes of vectors."""
    if not results.searches:
        return ""
    wanted = plan.searched_vectors
    rows = [
        (
            BY_NAME[one.server].title, f"{one.items:,}", number(one.search_us), f"{one.p50_ms:.2f}",
            f"{one.recall:.1%}", number(one.filled_us), number(one.plain_put_us), number(one.indexed_put_us),
        )
        for one in in_order(results.searches)
    ]  # fmt: skip
    columns = ["server", "vectors", "search", "p50 ms", "recall", "filled", "PutItem", "PutItem, indexed"]
    intro = (
        f"SearchVectors (COSINE) finds {wanted.top_k} of the vectors, which have {wanted.dimensions} dimensions;"
        " BatchWriteItem has filled the table. PutItem writes items with vectors of"
        f" {wanted.written_dimensions:,} dimensions, without and with a vector index. One connection, one request after"
        " the other: µs of CPU per search and per item, of writes until a search finds the last item. Recall: the share"
        " of the most similar items that searches found."
    )
    return f"## Vector search\n\n{note(results, results.searches)}{intro}\n\n" + table(columns, rows)


def detail_row(figure: Figure) -> tuple[str, ...]:
    """Return one run as a row; the last column warns when other load makes the figure doubtful."""
    warnings = []
    if figure.generator_share > GENERATOR_LIMIT:
        warnings.append("generator was the limit")
    if figure.other_share > OTHERS_LIMIT:
        warnings.append(f"machine shared ({figure.other_share:.0%})")
    cpu = "" if figure.beside == "scan" else number(figure.cpu_us)
    return (
        BY_NAME[figure.server].title,
        str(figure.connections),
        str(figure.item_bytes),
        f"{figure.table_items:,}",
        figure.beside,
        cpu,
        f"{figure.units_per_second:,.0f}",
        f"{figure.p50_ms:.2f}",
        f"{figure.p99_ms:.2f}",
        f"{figure.p999_ms:.2f}",
        ", ".join(warnings),
    )


def growth(plan: Plan, results: Results) -> str:
    """Return the table of one Hashrange table filled up in steps."""
    figures = [figure for figure in results.figures if figure.beside in GROWTH_KINDS]
    sizes = sorted({figure.table_items for figure in figures})
    if not sizes:
        return ""
    workloads = [workload for workload in plan.workload if workload.is_in_growth_check]
    rows = []
    for kind, asked in (
        (GROWTH_SAME, f"{plan.table_items:,} items, again and again"),
        (GROWTH_SCATTERED, "items scattered over the table"),
    ):
        for workload in workloads:
            found = [figure for figure in figures if figure.workload == workload.name and figure.beside == kind]
            if found:
                rows.append(growth_row(plan, f"{workload.title}; {asked}", found))
    intro = (
        f"Hashrange on disk, items of {plan.item_bytes[0]} B, {plan.connections_compared} connections, at rest, files"
        " read into the system's page cache before: µs of CPU per operation, and p50 in ms. Wanted:"
        f" the largest at most {plan.growth_ratio_max:g}{TIMES} the smallest table's CPU."
        ' "Again and again": the table grows, what is asked for does not. "Scattered":'
        " 100,000 different requests, so what is asked for grows as well."
    )
    columns = ["workload", *(f"{size:,} items" for size in sizes), "ratio", "met"]
    return f"## Growth\n\n{note(results, figures)}{intro}\n\n" + table(columns, rows)


def growth_row(plan: Plan, title: str, figures: list[Figure]) -> list[str]:
    """Return one workload's figures over the table sizes."""
    by_size: Callable[[Figure], int] = lambda figure: figure.table_items  # noqa: E731 - a key, named for its type
    figures = sorted(figures, key=by_size)
    cells = [f"{number(figure.cpu_us)} ({figure.p50_ms:.2f})" for figure in figures]
    times = figures[-1].cpu_us / figures[0].cpu_us
    return [title, *cells, f"{times:.2f}{TIMES}", "yes" if times <= plan.growth_ratio_max else "**no**"]


def skipped(_plan: Plan, results: Results) -> str:
    """Return the list of measurements that failed, with their reasons."""
    if not results.skips:
        return ""
    return "## Not measured\n\n" + "\n".join(
        f"- {skip.what}: {' '.join(skip.reason.split())}" for skip in results.skips
    )
