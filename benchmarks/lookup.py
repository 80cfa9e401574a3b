"""How is a figure found in the results? By server and workload, with a note of the run that measured it."""

from collections.abc import Iterable

from benchmarks.results import AnyRecord, Figure, Results
from benchmarks.workloads import Plan


def find(plan: Plan, results: Results, server: str, workload: str, **wanted: object) -> Figure | None:
    """Return the figure of a server and workload, by default at the compared connections, first size, small table."""
    conditions: dict[str, object] = {
        "connections": plan.named(workload).connections(plan.connections_compared),
        "item_bytes": plan.item_bytes[0],
        "table_items": plan.table_items,
        "beside": "",
        **wanted,
    }
    for figure in results.figures:
        is_meant = (figure.server, figure.workload) == (server, workload)
        if is_meant and all(getattr(figure, name) == value for name, value in conditions.items()):
            return figure
    return None


def all_records(results: Results) -> list[AnyRecord]:
    """Return all records of the results."""
    return [
        *results.figures, *results.starts, *results.footprints, *results.in_process, *results.backfills,
        *results.searches, *results.skips,
    ]  # fmt: skip


def used_runs(records: Iterable[AnyRecord]) -> list[int]:
    """Return the runs that measured these records, in order."""
    return sorted({record.run for record in records})


def note(results: Results, records: Iterable[AnyRecord]) -> str:
    """Return a paragraph with the commands and dates of these records' runs; empty if the page has only one run."""
    if len(used_runs(all_records(results))) < 2:
        return ""
    runs = [results.runs[place] for place in used_runs(records)]
    return "Measured " + "; ".join(f"on {run.date} by `{run.command}`" for run in runs) + ".\n\n" if runs else ""
