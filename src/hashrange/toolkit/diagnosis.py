"""What is wrong with a table, why, and what helps? A checklist over all that can be seen from outside.

What only a program's code shows is not on it: reads before writes, missing projections, and unprocessed items that are
ignored.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hashrange.toolkit import diagnosis_design as design
from hashrange.toolkit import diagnosis_load as load
from hashrange.toolkit.diagnosis_evidence import TableEvidence
from hashrange.toolkit.verdict import CheckVerdict, FoundFault, NotSeen


class TableCheck(NamedTuple):
    """One thing to look at."""

    name: str
    look: Callable[[TableEvidence], Iterator[FoundFault]]
    """Yields what it finds. Raises NotSeen if it cannot judge."""
    clean: str
    """What is told if it finds nothing."""


CHECKS = (
    TableCheck("throttling", load.lacking_units, "Nothing was throttled for want of units."),
    TableCheck("hot partitions", load.hot_ranges, "No partition refused anything."),
    TableCheck("hot keys", load.hot_keys, "No partition key used much of the units."),
    TableCheck("back-pressure", load.back_pressure, "No index refused writes of the table."),
    TableCheck("scans", load.scans, "Few Scans read the table."),
    TableCheck("filters", load.discarding_filters, "Query and Scan return much of what they read."),
    TableCheck("unused indexes", load.unused_indexes, "All indexes are read."),
    TableCheck("conflicts", load.conflicts, "Transactions hardly meet each other."),
    TableCheck("large items", design.large_items, "No sampled item has more than 100 KB."),
    TableCheck("partition keys", design.crowded_keys, "Sampled items are spread over partition keys."),
    TableCheck("projections", design.wide_projections, "Indexes do not all hold whole long items."),
    TableCheck("recovery", design.missing_recovery, "Point-in-time recovery is on."),
)


def diagnose(seen: TableEvidence) -> list[CheckVerdict]:
    """The verdicts of all checks, at least one of each."""
    return [verdict for check in CHECKS for verdict in _verdicts(check, seen)]


def _verdicts(check: TableCheck, seen: TableEvidence) -> Iterator[CheckVerdict]:
    is_silent = True
    try:
        for fault in check.look(seen):
            is_silent = False
            yield CheckVerdict(check.name, "found", *fault)
    except NotSeen as reason:
        is_silent = False
        yield CheckVerdict(check.name, "unknown", str(reason))
    if is_silent:
        yield CheckVerdict(check.name, "ok", check.clean)
