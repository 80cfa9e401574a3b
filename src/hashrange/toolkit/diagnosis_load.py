"""Which faults does the load of a table show? Checks of metrics, and of the keys that Contributor Insights has counted.

Source of the rules: DynamoDB Developer Guide, *troubleshooting throttling*, *best practices* for partition keys, scans
and indexes.
"""

import math
from collections.abc import Iterator

from hashrange.toolkit.capacity_units import READ_STEP_BYTES
from hashrange.toolkit.diagnosis_evidence import (
    CONFLICTS,
    LIMITS,
    PAGED,
    PARTIQL,
    POINTED,
    READ_UNITS,
    SIDES,
    WRITE_UNITS,
    TableEvidence,
)
from hashrange.toolkit.item_sizes import read_item_bytes
from hashrange.toolkit.table_metrics import DAY_SECONDS, of_table
from hashrange.toolkit.verdict import FoundFault, NotSeen

HOT_SHARE, HOT_UNITS_MIN = 0.25, 100
"""Part of a day's units that one partition key uses, and how many units the day must have."""
SCANS_MIN, SCAN_HOURS_MIN, SCAN_SHARE = 100, 3, 0.1
"""Scans, hours with Scans, and their part of all reads: what is less is an export, or somebody who looks around."""
EVALUATED_MIN, RETURNED_SHARE = 1000, 0.1
"""Items that Query and Scan must have evaluated, and the part of them that a good filter returns at least."""
BATCH_ITEMS_MAX = 100
UNUSED_DAYS = 14
CONFLICT_SHARE = 0.01
CAUSES = {
    "ProvisionedThroughput": (
        "More units were asked for than are provisioned, and the burst was used up.",
        "Raise the units, let auto scaling do it, or switch to on demand (`hashrange capacity --from-table {table}`).",
    ),
    "AccountLimit": (
        "The account's quota for a table was reached.",
        "Ask for a higher quota, or spread the load over time.",
    ),
    "MaxOnDemandThroughput": (
        "The on-demand maximum that the table or index was given was reached.",
        "Raise or remove the maximum (OnDemandThroughput).",
    ),
    "": (
        "The server does not tell which limit was met.",
        "Compare consumed units with provisioned ones by the minute.",
    ),
}
"""What throttled, in the names of metrics → cause, and remedy. Key ranges have a check of their own."""


def lacking_units(seen: TableEvidence) -> Iterator[FoundFault]:
    """Requests that were refused for want of units, except those of hot keys and of writes by indexes."""
    for index in (None, *_index_names(seen)):
        for side in SIDES if index is None else SIDES[:1]:
            by_limit = {limit: seen.of_place(f"{side}{limit}ThrottleEvents", index) for limit in LIMITS}
            rest = seen.of_place(f"{side}ThrottleEvents", index) - sum(by_limit.values())
            for limit, events in (by_limit | {"": rest}).items():
                if events > 0 and limit in CAUSES:
                    cause, remedy = CAUSES[limit]
                    place = "the table" if index is None else f"the index {index}"
                    yield FoundFault(
                        f"{_number(events, f'{side.lower()} event')} of {place} {_was(events)} throttled.",
                        cause,
                        remedy.format(table=seen.name),
                    )


def hot_ranges(seen: TableEvidence) -> Iterator[FoundFault]:
    """Requests that one partition refused."""
    for index in (None, *_index_names(seen)):
        for side in SIDES:
            events = seen.of_place(f"{side}KeyRangeThroughputThrottleEvents", index)
            if events > 0:
                place = "the table" if index is None else f"the index {index}"
                most = "3,000 read" if side == "Read" else "1,000 write"
                yield FoundFault(
                    f"{_number(events, f'{side.lower()} event')} of {place} {_was(events)} throttled by a key range."
                    f"{_throttled_keys(seen) if index is None else ''}",
                    f"One partition serves {most} units a second, and few keys got most of the load.",
                    "Choose a partition key with more values, spread the hot key over several with a suffix"
                    f"{', or cache what is read' if side == 'Read' else ''}. Contributor Insights names the keys.",
                )


def hot_keys(seen: TableEvidence) -> Iterator[FoundFault]:
    """Partition keys that use much of a table's units, although nothing is refused yet."""
    keys = [one for one in seen.top_keys if one.kind == "PKC"]
    if not keys:
        raise NotSeen(
            "Contributor Insights is off, counts throttled keys only, or has counted nothing in the last day."
        )
    for one in keys:
        if one.of_all >= HOT_UNITS_MIN and one.counted > HOT_SHARE * one.of_all:
            yield FoundFault(
                f"{one.counted / one.of_all:.0%} of the units of the last day are those of the key {one.key}.",
                "One partition serves it, however many the table has.",
                "Spread this key over several with a suffix, or cache what is read of it.",
            )


def back_pressure(seen: TableEvidence) -> Iterator[FoundFault]:
    """Writes of the table that an index has refused."""
    for index in _index_names(seen):
        events = seen.of_place("WriteThrottleEvents", index)
        if events > 0:
            yield FoundFault(
                f"{_number(events, 'write')} of the table {_was(events)} throttled, because the index {index} could not"
                " keep up.",
                "Each write of the table that changes an entry needs units of the index, too.",
                "Give the index as many write units as the table, give its partition key more values, or project less.",
            )


def scans(seen: TableEvidence) -> Iterator[FoundFault]:
    """Scans that belong to an application, not to an export."""
    count, hours = seen.requests("Scan"), seen.request_hours("Scan")
    others = seen.requests(*(one for one in (*PAGED, *POINTED, *PARTIQL) if one != "Scan"))
    if count >= SCANS_MIN and hours >= SCAN_HOURS_MIN and count > SCAN_SHARE * (count + others):
        yield FoundFault(
            f"{count:,.0f} Scans in {hours} different hours, and {others:,.0f} other requests that read.",
            "A Scan reads and pays for all items, whatever its filter returns.",
            "Query an index whose key is what programs filter by; export the table to S3 for reports.",
        )


def discarding_filters(seen: TableEvidence) -> Iterator[FoundFault]:
    """Filters that discard most of what Query and Scan read. What was read is concluded from units, and is too small
    rather than too great: each unit is taken for 4 KB, and all other requests for as dear as they can be.
    """
    if any(seen.requests(one) for one in PARTIQL):
        raise NotSeen("Statements of PartiQL read this table, and metrics do not tell how many items they return.")
    sizes = [read_item_bytes(item) for item in seen.sample.items]
    if not sizes:
        return
    steps = math.ceil(max(sizes) / READ_STEP_BYTES)
    point_units = (seen.requests("GetItem") + BATCH_ITEMS_MAX * seen.requests(*POINTED[1:])) * steps * 2
    read_units = sum(seen.of_place(READ_UNITS, index) for index in (None, *_index_names(seen)))
    read_bytes = (read_units - point_units - seen.requests(*PAGED)) * READ_STEP_BYTES
    evaluated, returned = read_bytes * len(sizes) / sum(sizes), seen.returned()
    if evaluated >= EVALUATED_MIN and returned < RETURNED_SHARE * evaluated:
        yield FoundFault(
            f"Query and Scan read at least {evaluated:,.0f} items, and returned {returned:,.0f}.",
            "A filter discards items after they were read and paid for.",
            "Put what is filtered by into a sort key or an index, so that the key condition selects it.",
        )


def unused_indexes(seen: TableEvidence) -> Iterator[FoundFault]:
    """Indexes that nobody has read for 14 days."""
    if seen.window.seconds < UNUSED_DAYS * DAY_SECONDS:
        raise NotSeen(f"This is judged over {UNUSED_DAYS} days; leave out --days.")
    young = []
    for index in _index_names(seen):
        reads, writes = (seen.values(of_table(name, seen.name, index)) for name in (READ_UNITS, WRITE_UNITS))
        if sum(reads.values()) > 0:
            continue
        if min([*reads, *writes], default=math.inf) > seen.window.start + DAY_SECONDS:
            young.append(index)
            continue
        yield FoundFault(
            f"The index {index} has not been read for {UNUSED_DAYS} days, and its writes took"
            f" {sum(writes.values()):,.0f} units.",
            "Each write that changes an entry costs units, and each entry storage.",
            "Delete the index, if nothing reads it less often than that.",
        )
    if young:
        raise NotSeen(f"The metrics of {', '.join(young)} are younger than {UNUSED_DAYS} days.")


def conflicts(seen: TableEvidence) -> Iterator[FoundFault]:
    """Transactions that met others at the same items."""
    count, requests = seen.of_place(CONFLICTS), seen.requests("TransactWriteItems")
    if count > CONFLICT_SHARE * (count + requests):
        yield FoundFault(
            f"{_number(count, 'conflict')} of transactions at items, and {requests:,.0f} TransactWriteItems succeeded.",
            "Several requests change the same item at the same time.",
            "Try again after a random pause, and keep counters that all change out of transactions, or split them.",
        )


def _index_names(seen: TableEvidence) -> list[str]:
    return [index["IndexName"] for index in seen.indexes]


def _throttled_keys(seen: TableEvidence) -> str:
    try:
        keys = [one.key for one in seen.top_keys if one.kind == "PKT"]
    except NotSeen:
        return ""
    return f" Throttled most: {', '.join(keys)}." if keys else ""


def _number(count: float, noun: str) -> str:
    return f"{count:,.0f} {noun}{'' if count == 1 else 's'}"


def _was(count: float) -> str:
    return "was" if count == 1 else "were"
