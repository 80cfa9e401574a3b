"""What does the page say? Results as Markdown: targets beside our figures, ratios to the best peer, everything measured below."""

from collections.abc import Callable, Iterable, Sequence

from benchmarks.results import Figure, Results
from benchmarks.servers import BY_NAME, CONTENDERS
from benchmarks.tables import table
from benchmarks.workloads import Plan, Workload

PEERS_AT_FIRST = "Dynoxide · DynamoDB Local · dynalite, memory / disk, when the targets were set"
TIMES = "\N{MULTIPLICATION SIGN}"
GENERATOR_LIMIT = 0.9
OTHERS_LIMIT = 0.1


def render(plan: Plan, results: Results) -> str:
    """The whole page; sections without figures are left out."""
    parts = [head(plan, results)]
    for section in (targets, compared, in_process, details, growth, skipped):
        text = section(plan, results)
        if text:
            parts.append(text)
    return "\n\n".join(parts) + "\n"


def head(plan: Plan, results: Results) -> str:
    """What was measured, where, when, and how to do it again."""
    versions = "; ".join(f"{name} {version}" for name, version in results.versions.items())
    return (
        "# Benchmarks\n\n"
        f"Written by `{results.command}` on {results.date}; `make bench` measures again.\n\n"
        f"- Machine: {results.machine}\n"
        f"- Servers: {versions or 'Hashrange only'}\n"
        f"- Load: `wrk` replays signed requests prepared right before, {results.seconds:g} s per run after a warm-up;"
        f" {plan.requests_prepared:,} different requests per workload. Hashrange checks every signature;"
        " the peers do not.\n"
        "- **CPU** is user and system time of the server's processes over the run, divided by operations (for a Scan, by items):"
        " the figure that counts, because it hardly depends on how busy the machine is.\n"
        "- Hashrange on disk answers a write when it is synced; the peers on disk do as they do by default."
    )


# --- the targets ------------------------------------------------------------------------------------


def targets(plan: Plan, results: Results) -> str:
    """Every target beside our figure."""
    rows = [*cpu_targets(plan, results), *latency_targets(plan, results), *start_targets(plan, results)]
    rows += footprint_targets(plan, results)
    if not rows:
        return ""
    return "## Targets\n\n" + table(["target", "wanted", "measured", "met", PEERS_AT_FIRST], rows)


Row = tuple[str, str, str, str, str]


def row(
    what: str, wanted: float, measured: float | None, unit: str, at_first: str = "", *, at_least: bool = False
) -> list[Row]:
    """One target's row; none without a figure."""
    if measured is None:
        return []
    is_met = measured >= wanted if at_least else measured <= wanted
    sign = "≥" if at_least else "≤"
    return [
        (what, f"{sign} {number(wanted)} {unit}", f"{number(measured)} {unit}", "yes" if is_met else "**no**", at_first)
    ]


def number(value: float) -> str:
    """Three figures or so."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")


def find(plan: Plan, results: Results, server: str, workload: str, **wanted: object) -> Figure | None:
    """The figure of a server and workload, by default at the compared connections, first size, small table."""
    conditions: dict[str, object] = {
        "connections": plan.named(workload).connections(plan.connections_compared), "item_bytes": plan.item_bytes[0], "table_items": plan.table_items, "beside": "", **wanted,
    }  # fmt: skip
    for figure in results.figures:
        is_meant = (figure.server, figure.workload) == (server, workload)
        if is_meant and all(getattr(figure, name) == value for name, value in conditions.items()):
            return figure
    return None


def cpu_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """CPU per operation, in memory and on disk."""
    for workload in plan.workload:
        for kind in ("memory", "disk"):
            figure = find(plan, results, f"ours-{kind}", workload.name)
            if figure is not None:
                at_first = workload.at_first if kind == "memory" else ""
                yield from row(f"{workload.title}; {kind}", workload.target_us(kind), figure.cpu_us, "µs", at_first)


def latency_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Latency on disk, alone and beside a Scan; writes with slow syncs."""
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


def start_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Start-up time and idle memory."""
    for start in results.starts:
        if start.server.startswith("ours"):
            kind = BY_NAME[start.server].kind
            yield from row(
                f"ready after start; {kind}", plan.start.ready_ms_max, start.ready_ms, "ms", plan.start.at_first
            )
            yield from row(f"idle memory; {kind}", plan.start.idle_mb_max, start.idle_mb, "MB")


def footprint_targets(plan: Plan, results: Results) -> Iterable[Row]:
    """Memory and disk with many items."""
    wanted = plan.footprint
    for footprint in results.footprints:
        if not footprint.server.startswith("ours") or footprint.items != wanted.items:
            continue
        kind = BY_NAME[footprint.server].kind
        memory_max = wanted.memory_mode_mb_max if kind == "memory" else wanted.disk_mode_mb_max
        what = f"{footprint.items:,} items of {wanted.item_bytes} B"
        yield from row(f"{what}: memory; {kind}", memory_max, footprint.resident_mb, "MB", wanted.at_first)
        yield from row(f"{what}: size on disk", wanted.disk_size_mb_max, footprint.disk_mb, "MB")


# --- beside the peers -------------------------------------------------------------------------------


def compared(plan: Plan, results: Results) -> str:
    """CPU per operation of all servers, in one table per mode, size and table."""
    tables: list[str] = []
    cases = sorted({(figure.table_items, figure.item_bytes) for figure in results.figures if not figure.beside})
    for items, item_bytes in cases:
        for kind in ("memory", "disk"):
            text = compared_table(plan, results, kind, items, item_bytes)
            if text:
                where = f"{plan.connections_compared} connections, items of {item_bytes} B, a table of {items:,}"
                tables.append(f"### {'In memory' if kind == 'memory' else 'On disk'}: {where}\n\n{text}")
    if not tables:
        return ""
    intro = "µs of server CPU per operation; in brackets the operations per second. Ratio: the best peer's CPU divided by ours."
    return "\n\n".join(["## Beside the peers", intro, *tables])


def compared_table(plan: Plan, results: Results, kind: str, items: int, item_bytes: int) -> str:
    """Rows are workloads, columns servers of one mode; empty when nobody was measured."""

    def figure_of(server: str, workload: str) -> Figure | None:
        return find(plan, results, server, workload, table_items=items, item_bytes=item_bytes)

    contenders = [
        contender
        for contender in CONTENDERS
        if contender.kind == kind and any(figure_of(contender.name, workload.name) for workload in plan.workload)
    ]
    rows = []
    for workload in plan.workload:
        figures = [figure_of(contender.name, workload.name) for contender in contenders]
        if any(figures):
            rows.append(
                [
                    workload.title,
                    *map(cell, figures),
                    ratio([*zip((c.is_ours for c in contenders), figures, strict=True)]),
                ]
            )
    if not rows:
        return ""
    return table(["workload", *(contender.title for contender in contenders), "ratio"], rows)


def cell(figure: Figure | None) -> str:
    """CPU and operations per second."""
    return "" if figure is None else f"{number(figure.cpu_us)} ({figure.units_per_second:,.0f})"


def ratio(figures: Sequence[tuple[bool, Figure | None]]) -> str:
    """The best peer's CPU time as a multiple of ours."""
    ours = [figure.cpu_us for is_ours, figure in figures if is_ours and figure is not None]
    peers = [figure.cpu_us for is_ours, figure in figures if not is_ours and figure is not None]
    return f"{min(peers) / ours[0]:.1f}{TIMES}" if ours and peers else ""


def in_process(plan: Plan, results: Results) -> str:
    """µs without sockets."""
    titles = {workload.name: workload.title for workload in plan.workload}
    rows = [
        (titles[figure.workload], number(figure.dispatch_us), number(figure.operation_us))
        for figure in results.in_process
    ]
    if not rows:
        return ""
    intro = (
        "µs of CPU per operation (per item for the Scan), in memory, the best of several rounds. Dispatched: from a parsed HTTP request"
        " to the reply's body, with signature, decoding and store. Alone: the operation on a decoded request."
    )
    return f"## In process\n\n{intro}\n\n" + table(["operation", "dispatched", "alone"], rows)


# --- everything -------------------------------------------------------------------------------------


def details(plan: Plan, results: Results) -> str:
    """All runs with throughput and latency, starts and footprints."""
    parts = ["## All figures"] if results.figures or results.starts or results.footprints else []
    for workload in plan.workload:
        rows = [
            detail_row(figure)
            for figure in results.figures
            if figure.workload == workload.name and figure.beside != "growth"
        ]
        if rows:
            columns = [
                "server",
                "connections",
                "item B",
                "items",
                "beside",
                "CPU µs",
                "per second",
                "p50 ms",
                "p99 ms",
                "p99.9 ms",
                "",
            ]
            parts.append(f"### {workload.title}\n\n" + table(columns, rows))
    if results.starts:
        rows = [
            (BY_NAME[start.server].title, number(start.ready_ms), number(start.idle_mb)) for start in results.starts
        ]
        parts.append("### Start\n\n" + table(["server", "ready after ms", "idle MB"], rows))
    if results.footprints:
        columns = ["server", "items", "loaded in s", "memory MB", "disk MB"]
        parts.append("### Memory and disk\n\n" + table(columns, [
            (BY_NAME[f.server].title, f"{f.items:,}", number(f.load_seconds), number(f.resident_mb), "" if f.disk_mb is None else number(f.disk_mb))
            for f in results.footprints
        ]))  # fmt: skip
    return "\n\n".join(parts)


def detail_row(figure: Figure) -> tuple[str, ...]:
    """One run; the last column warns of a run that says less than it seems to."""
    warnings = []
    if figure.generator_share > GENERATOR_LIMIT:
        warnings.append("generator was the limit")
    if figure.other_share > OTHERS_LIMIT:
        warnings.append(f"machine shared ({figure.other_share:.0%})")
    cpu = "" if figure.beside == "scan" else number(figure.cpu_us)
    return (
        BY_NAME[figure.server].title, str(figure.connections), str(figure.item_bytes), f"{figure.table_items:,}", figure.beside,
        cpu, f"{figure.units_per_second:,.0f}", f"{figure.p50_ms:.2f}", f"{figure.p99_ms:.2f}", f"{figure.p999_ms:.2f}",
        ", ".join(warnings),
    )  # fmt: skip


def growth(plan: Plan, results: Results) -> str:
    """One table filled up further and further."""
    figures = [figure for figure in results.figures if figure.beside == "growth"]
    sizes = sorted({figure.table_items for figure in figures})
    if not sizes:
        return ""
    rows = [growth_row(plan, workload, [f for f in figures if f.workload == workload.name]) for workload in plan.workload
            if workload.is_in_growth_check]  # fmt: skip
    intro = (
        f"Hashrange on disk, items of {plan.item_bytes[0]} B, {plan.connections_compared} connections, up to 100,000 different keys asked for:"
        f" µs of CPU per operation, and p50 in ms. Wanted: the largest at most {plan.growth_ratio_max:g}{TIMES} the smallest table's CPU."
    )
    return f"## Growth\n\n{intro}\n\n" + table(
        ["workload", *(f"{size:,} items" for size in sizes), "ratio", "met"], rows
    )


def growth_row(plan: Plan, workload: Workload, figures: list[Figure]) -> list[str]:
    """One workload over the sizes."""
    by_size: Callable[[Figure], int] = lambda figure: figure.table_items  # noqa: E731 - a key, named for its type
    figures = sorted(figures, key=by_size)
    cells = [f"{number(figure.cpu_us)} ({figure.p50_ms:.2f})" for figure in figures]
    times = figures[-1].cpu_us / figures[0].cpu_us
    return [workload.title, *cells, f"{times:.2f}{TIMES}", "yes" if times <= plan.growth_ratio_max else "**no**"]


def skipped(_plan: Plan, results: Results) -> str:
    """What could not be measured, with its reason."""
    if not results.skips:
        return ""
    return "## Not measured\n\n" + "\n".join(
        f"- {skip.what}: {' '.join(skip.reason.split())}" for skip in results.skips
    )
