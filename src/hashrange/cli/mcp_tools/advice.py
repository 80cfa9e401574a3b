"""What would one change in a table's schema? Rules over evidence, each with its numbers. Pure functions.

Source of the rules: DynamoDB developer guide, *best practices* for partition keys, secondary indexes,
scans, large items and time to live.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hashrange.cli.main import count
from hashrange.cli.mcp_tools.evidence import DAY_SECONDS, DAYS_MAX, HOUR_SECONDS, Evidence

SAMPLE_MIN = 20
"""Of fewer items, nothing is concluded."""
CROWDED_SHARE = 0.5
HOT_SHARE = 0.25
"""Part of a day's units of a table that one partition key uses."""
HOT_UNITS_MIN = 100
"""Fewer units, or throttled parts of requests, are too few to conclude from."""
SCANS_MIN = 100
"""Fewer Scans in all are those of people who look around."""
LARGE_BYTES = 100_000
LONG_ENTRY_BYTES = 1_000
LOW_USE = 0.1
"""Part of the provisioned units; less is little."""
UNUSED_DAYS_MIN = 7
"""Days that must have metrics of an index before its deletion is recommended, because some are read once a week."""
CAPACITY_SECONDS_MIN = DAY_SECONDS
"""Metrics of less time say nothing about provisioned units, because use changes over a day."""


class SchemaAdvice(NamedTuple):
    """One piece of advice."""

    subject: str
    advice: str
    evidence: str


def advise(known: Evidence) -> list[SchemaAdvice]:
    """All advice for a table, the most pressing first; empty if nothing is to be said."""
    return [*_capacity(known), *_partition_key(known), *_reads(known), *_indexes(known), *_items(known)]


def time_in_words(seconds: float) -> str:
    """A length of time in words, in its largest whole unit: `14 days`, `1 hour`, `less than a minute`."""
    for unit_seconds, unit in ((DAY_SECONDS, "day"), (HOUR_SECONDS, "hour"), (60, "minute")):
        number = int(seconds // unit_seconds)
        if number:
            return count(number, unit)
    return "less than a minute"


def looked_back(known: Evidence) -> str:
    """How far the advice looks back, and what is not judged yet."""
    if known.seen_seconds is None:
        return "There are no metrics of this table, so its use is not judged."
    told = f"Metrics of this table cover {time_in_words(known.seen_seconds)}."
    waiting = []
    if known.seen_seconds < CAPACITY_SECONDS_MIN:
        waiting.append("provisioned capacity is judged from a day of metrics on")
    if any(use.days < UNUSED_DAYS_MIN for use in known.index_uses.values()):
        waiting.append(f"an index is called unused once there are metrics of it on {UNUSED_DAYS_MIN} days")
    return f"{told} {_sentence(waiting)}" if waiting else told


def _sentence(parts: list[str]) -> str:
    text = ", and ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _capacity(known: Evidence) -> Iterator[SchemaAdvice]:
    if known.seen_seconds is None:
        return
    period = time_in_words(known.seen_seconds)
    if known.use.throttled:
        yield SchemaAdvice(
            "throttling",
            "Raise the capacity of the table or index, let auto scaling do it, or switch to on-demand;"
            " if one partition key is hot, spread it over several.",
            f"{known.use.throttled:,.0f} requests or parts of them were throttled in {period}.",
        )
    if known.seen_seconds < CAPACITY_SECONDS_MIN:
        return
    given = known.table.get("ProvisionedThroughput", {})
    for word, units, used in (
        ("read", given.get("ReadCapacityUnits", 0), known.use.read_units),
        ("write", given.get("WriteCapacityUnits", 0), known.use.write_units),
    ):
        if units > 1 and used is not None and used < LOW_USE * units * known.seen_seconds:
            yield SchemaAdvice(
                "capacity",
                f"Provision fewer {word} units, or switch to on-demand.",
                f"{used:,.0f} {word} units were used in {period}, of {units * known.seen_seconds:,.0f} that"
                f" {units:,} units a second give.",
            )


def _partition_key(known: Evidence) -> Iterator[SchemaAdvice]:
    sample = known.sample
    name = known.table["KeySchema"][0]["AttributeName"]
    if sample.items >= SAMPLE_MIN and sample.most_items_of_a_key > CROWDED_SHARE * sample.items:
        yield SchemaAdvice(
            "partition key",
            f"Choose a partition key with more values than {name} has: a partition takes 3,000 read and"
            " 1,000 write units a second.",
            f"{sample.most_items_of_a_key:,} of {sample.items:,} sampled items have the same {name}, and there are"
            f" {sample.partition_keys:,} different ones.",
        )

    period = "a day" if known.seen_seconds is None else time_in_words(min(known.seen_seconds, DAY_SECONDS))
    for hot in known.hot_keys:
        if hot.of_all >= HOT_UNITS_MIN and hot.counted > HOT_SHARE * hot.of_all:
            yield SchemaAdvice(
                "hot key",
                f"Spread the partition key {hot.key} over several, with a suffix that is drawn or computed, or cache"
                " what is read of it: one partition takes 3,000 read and 1,000 write units a second.",
                f"{hot.counted:,.0f} of {hot.of_all:,.0f} {hot.what} of {period} are those of {hot.key}.",
            )


def _reads(known: Evidence) -> Iterator[SchemaAdvice]:
    scans, queries = known.use.scans, known.use.queries
    if known.seen_seconds is None:
        return
    if scans is not None and scans >= SCANS_MIN and scans > (queries or 0.0):
        yield SchemaAdvice(
            "scans",
            "Read by Query: give the attribute that programs filter by an index of its own."
            " A Scan reads, and pays for, all items.",
            f"{scans:,.0f} Scans and {queries or 0:,.0f} Queries in {time_in_words(known.seen_seconds)}.",
        )


def _indexes(known: Evidence) -> Iterator[SchemaAdvice]:
    for index in known.table.get("GlobalSecondaryIndexes", ()):
        name, use = index["IndexName"], known.index_uses.get(index["IndexName"])
        is_known = use is not None and use.days >= UNUSED_DAYS_MIN
        if use is not None and is_known and use.read_units == 0.0 and known.use.write_units:
            yield SchemaAdvice(
                f"index {name}",
                "Delete it, if nobody needs it: each write of the table that touches it costs write units and storage.",
                f"No read unit was used on the {use.days} of the last {DAYS_MAX} days that have metrics of the index,"
                f" while the table used {known.use.write_units:,.0f} write units.",
            )
        count, size_bytes = index.get("ItemCount", 0), index.get("IndexSizeBytes", 0)
        if index["Projection"]["ProjectionType"] == "ALL" and count and size_bytes / count > LONG_ENTRY_BYTES:
            yield SchemaAdvice(
                f"index {name}",
                "Project only the attributes that its queries show (INCLUDE or KEYS_ONLY):"
                " entries cost what they are long.",
                f"It holds whole items: {size_bytes / count:,.0f} bytes each, {size_bytes:,} in all.",
            )
    sample = known.sample
    for name, missing in sample.missing_in_indexes.items():
        if sample.items >= SAMPLE_MIN and missing == sample.items:
            yield SchemaAdvice(
                f"index {name}",
                "Look whether its key attributes have the right names: items without them have no entry.",
                f"None of {sample.items:,} sampled items has all of them.",
            )


def _items(known: Evidence) -> Iterator[SchemaAdvice]:
    sample = known.sample
    if sample.longest_bytes > LARGE_BYTES:
        yield SchemaAdvice(
            "large items",
            "Keep large content in S3 with its key in the item, or in items of its own:"
            " an item has at most 400 KB, and each read pays for all of it.",
            f"The longest of {sample.items:,} sampled items has about {sample.longest_bytes:,} bytes.",
        )
    expiring = [name for name in sample.times if any(word in name.lower() for word in ("ttl", "expir", "delete"))]
    if expiring and not known.expires:
        yield SchemaAdvice(
            "time to live",
            f"Switch time to live on for {expiring[0]}: expired items are then deleted without write units.",
            f"{expiring[0]} is a time in seconds in every sampled item that has it, and time to live is off.",
        )
