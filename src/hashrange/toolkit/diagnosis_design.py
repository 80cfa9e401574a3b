"""Which faults do a table's description and a sample of its items show?

Source of the rules: DynamoDB Developer Guide, *best practices* for large items, partition keys and secondary indexes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hashrange.toolkit.diagnosis_evidence import TableEvidence
from hashrange.toolkit.item_sizes import FoundItem, read_item_bytes
from hashrange.toolkit.verdict import FoundFault, NotSeen

LARGE_BYTES = 100 * 1024
SAMPLE_MIN = 20
"""Of fewer items, nothing is concluded."""
CROWDED_SHARE = 0.5
LONG_ENTRY_BYTES = 1024
INDEXES_MIN = 2
"""Of fewer indexes, ALL is no habit."""


def large_items(seen: TableEvidence) -> Iterator[FoundFault]:
    """Items that cost much to read and write."""
    sizes = [read_item_bytes(item) for item in seen.sample.items]
    large = [size for size in sizes if size > LARGE_BYTES]
    if large:
        yield FoundFault(
            f"{len(large):,} of {len(sizes):,} sampled items have over 100 KB; the largest has {max(large):,} bytes.",
            "Each read and write pays for the whole item, even if one attribute is wanted; an item has at most 400 KB.",
            "Keep large content in S3 with its key in the item, compress it, or split it into items of its own.",
        )


def crowded_keys(seen: TableEvidence) -> Iterator[FoundFault]:
    """Partition keys of the table and of indexes with so few values that most items have the same."""
    items = seen.sample.items
    if len(items) < SAMPLE_MIN:
        raise NotSeen(f"The sample has {len(items)} items, and this is judged from {SAMPLE_MIN} on.")
    for place, described in (
        ("the table", seen.table),
        *((f"the index {one['IndexName']}", one) for one in seen.indexes),
    ):
        names = [one["AttributeName"] for one in described["KeySchema"] if one["KeyType"] == "HASH"]
        keys = _keys_of(items, names)
        if sum(keys.values()) < SAMPLE_MIN:
            continue
        most = max(keys.values())
        if most > CROWDED_SHARE * sum(keys.values()):
            yield FoundFault(
                f"{most:,} of {sum(keys.values()):,} sampled items have the same {' and '.join(names)}, the partition"
                f" key of {place}; there are {len(keys):,} different ones.",
                "Items with one partition key share a partition, which serves 3,000 read, 1,000 write units a second.",
                "Choose a partition key with more values, or add a suffix to it.",
            )


def wide_projections(seen: TableEvidence) -> Iterator[FoundFault]:
    """Indexes that all hold whole items, although these are long."""
    if len(seen.indexes) < INDEXES_MIN or not seen.sample.items:
        return
    average = sum(map(read_item_bytes, seen.sample.items)) / len(seen.sample.items)
    if average > LONG_ENTRY_BYTES and all(one["Projection"]["ProjectionType"] == "ALL" for one in seen.indexes):
        yield FoundFault(
            f"All {len(seen.indexes)} indexes project ALL attributes, of items of {average:,.0f} bytes on average.",
            "Each write is written to each index in full, and stored there again.",
            "Project only what the queries of an index show: INCLUDE or KEYS_ONLY.",
        )


def missing_recovery(seen: TableEvidence) -> Iterator[FoundFault]:
    """A table that cannot be brought back to an earlier moment."""
    if not seen.is_recoverable:
        yield FoundFault(
            "Point-in-time recovery is off.",
            "What a program deletes or overwrites by mistake is lost.",
            f"Switch it on: `aws dynamodb update-continuous-backups --table-name {seen.name}"
            " --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`.",
        )


def _keys_of(items: Sequence[FoundItem], names: Sequence[str]) -> "Counter[tuple[str, ...]]":
    """Values of these attributes → how many items have them; items without them have none."""
    return Counter(tuple(_text(item[name]) for name in names) for item in items if all(name in item for name in names))


def _text(value: Mapping[str, Any]) -> str:
    return repr(sorted(value.items()))
