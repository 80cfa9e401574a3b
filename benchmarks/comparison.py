"""How do the servers compare? CPU per operation of all servers, the cost of an index, and this machine's
speed against that of the targets.
"""

from collections.abc import Sequence
from statistics import median

from benchmarks.lookup import find, note
from benchmarks.results import Figure, Results
from benchmarks.servers import BY_NAME, CONTENDERS
from benchmarks.tables import DASH, number, table
from benchmarks.workloads import Plan, Workload

TIMES = "\N{MULTIPLICATION SIGN}"


def compared(plan: Plan, results: Results) -> str:
    """Return the tables of CPU per operation of all servers: one table per mode, item size and table size."""
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
    intro = (
        "µs of server CPU per operation; in brackets the operations per second. Ratio:"
        f" the best peer's CPU divided by ours. {DASH}: the server lacks it, or was not measured (the"
        " reasons stand at the end)."
    )
    figures = [figure for figure in results.figures if not figure.beside]
    parts = [*tables, index_costs(plan, results)]
    return "\n\n".join(["## Beside the peers", note(results, figures) + intro, *filter(None, parts)])


def compared_table(plan: Plan, results: Results, kind: str, items: int, item_bytes: int) -> str:
    """Return a table with workloads as rows and servers of one mode as columns; empty without figures."""

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
    """Return CPU and operations per second as a table cell."""
    return DASH if figure is None else f"{number(figure.cpu_us)} ({figure.units_per_second:,.0f})"


def ratio(figures: Sequence[tuple[bool, Figure | None]]) -> str:
    """Return the best peer's CPU time as a multiple of Hashrange's."""
    ours = [figure.cpu_us for is_ours, figure in figures if is_ours and figure is not None]
    peers = [figure.cpu_us for is_ours, figure in figures if not is_ours and figure is not None]
    return f"{min(peers) / ours[0]:.1f}{TIMES}" if ours and peers else ""


def index_costs(plan: Plan, results: Results) -> str:
    """Return the table of CPU that GSIs add to a PutItem, per server."""
    names = {0: "put", **{one.indexes: one.name for one in plan.workload if one.indexes and one.operation == "PutItem"}}
    rows = []
    for contender in CONTENDERS:
        figures = {count: find(plan, results, contender.name, name) for count, name in names.items()}
        cells = [added(figures[few], figures[many], many - few) for few, many in ((0, 1), (1, 2), (2, 5), (0, 5))]
        if set(cells) != {DASH}:
            rows.append([contender.title, *cells])
    if not rows:
        return ""
    intro = "µs of server CPU that each GSI (ALL projected) adds to a replacing PutItem."
    columns = ["server", "first", "second", "third to fifth", "mean of five"]
    return f"### What an index costs\n\n{intro}\n\n" + table(columns, rows)


def added(before: Figure | None, after: Figure | None, indexes: int) -> str:
    """Return the CPU added per index, between two runs that differ by this many indexes."""
    return DASH if before is None or after is None else number((after.cpu_us - before.cpu_us) / indexes)


# --- this machine compared with the one of the targets --------------------------------------------------------------


def machine_factors(plan: Plan, results: Results, workload: Workload) -> dict[str, float]:
    """Return each peer's CPU now as a multiple of its CPU when the targets were set, by contender's name."""
    factors = {}
    for name, at_first_us in workload.peers_at_first_us().items():
        figure = find(plan, results, name, workload.name)
        if figure is not None:
            factors[name] = figure.cpu_us / at_first_us
    return factors


def machine(plan: Plan, results: Results) -> str:
    """Return the tables of machine factors, and of Hashrange's CPU beside the target, plain and times the factor."""
    by_workload = [(one, machine_factors(plan, results, one)) for one in plan.workload]
    by_workload = [(workload, factors) for workload, factors in by_workload if factors]
    if not by_workload:
        return ""
    names = [one.name for one in CONTENDERS if any(one.name in factors for _, factors in by_workload)]
    rows = [
        [workload.title, *(times(factors.get(name)) for name in names), times(median(factors.values()))]
        for workload, factors in by_workload
    ]
    context = [
        [f"{workload.title}; {kind}", number(wanted), number(ours.cpu_us), times(factor), number(wanted * factor)]
        for workload, factors in by_workload
        for kind in ("memory", "disk")
        if (wanted := workload.target_us(kind)) is not None
        and (ours := find(plan, results, f"ours-{kind}", workload.name)) is not None
        for factor in [median(factors.values())]
    ]
    intro = (
        "How many times the CPU each peer needs here of what it needed where the targets were set:"
        " a peer that has not changed shows how much slower or faster this machine is, with whatever else ran on it."
        " A single figure of then counts as memory's."
    )
    columns = ["workload", *(BY_NAME[name].title for name in names), "median"]
    used = [one for one in results.figures if one.workload in {workload.name for workload, _ in by_workload}]
    parts = ["## This machine", note(results, used) + intro, table(columns, rows)]
    if context:
        intro = (
            "Context only: a target is met or not as the table of targets says, whatever stands in the last column"
            " here. µs of CPU per operation; the factor is the median of that workload's peers."
        )
        parts += [intro, table(["workload", "target", "measured", "factor", f"target {TIMES} factor"], context)]
    return "\n\n".join(parts)


def times(factor: float | None) -> str:
    """Return a factor as text."""
    return DASH if factor is None else f"{factor:.2f}{TIMES}"
