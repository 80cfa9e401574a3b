"""What is a partition? A range of hashes of partition keys: a part of the rows of a table,
or of the entries of an index.

A source's partitions cover each hash exactly once. The store keeps a row for each partition (docs/formats/store.md).
"""

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from hashrange.limits import (
    ON_DEMAND_PARTITIONS,
    PARTITION_READ_UNITS,
    PARTITION_WRITE_UNITS,
    PARTITIONS_MAX,
)
from hashrange.tables.schema import Table, Throughput
from hashrange.tables.source_id import SourceId

HASH_SPACE = 1 << 64
"""Number of hashes of 8 bytes."""


class HashRange(NamedTuple):
    """A range of hashes of partition keys, both ends included."""

    first: int
    last: int


WHOLE = HashRange(0, HASH_SPACE - 1)
"""The range of all hashes."""


class Partition(NamedTuple):
    """One partition of a source."""

    source_id: SourceId
    number: int
    """The partition's number among all that its source ever had, from 1."""
    hashes: HashRange


CountInitialPartitions = Callable[[Table, SourceId], int]
"""Returns how many partitions a source of a table begins with; one that has fewer,
because its throughput was raised, is split."""


def one_partition(table: Table, source_id: SourceId) -> int:
    """Return 1: a new source begins with one partition, which is best for small tables."""
    del table, source_id
    return 1


def partitions_of_service(table: Table, source_id: SourceId) -> int:
    """Return as many partitions as the service gives a new source: by provisioned or warm throughput.

    The greater number counts: on demand, at least `ON_DEMAND_PARTITIONS`; at most an equal share of `PARTITIONS_MAX`
    for the table and each of its indexes. A partition serves warm reads and writes each by itself, as the four of a new
    on-demand table serve 12,000 and 4,000. Source: developer guide, warm throughput of 2026.
    """
    index = next((one for one in table.indexes if source_id.endswith(one.index_id.to_bytes(2, "big"))), None)
    subject = table if index is None else index
    warm = max(
        ceil((subject.warm_read_units or 0) / PARTITION_READ_UNITS),
        ceil((subject.warm_write_units or 0) / PARTITION_WRITE_UNITS),
    )
    at_least = ON_DEMAND_PARTITIONS
    if table.billing_mode == "PROVISIONED":
        given = subject.throughput if index is None or index.is_global else table.throughput
        units = given or Throughput(0, 0)
        at_least = ceil(units.read_units / PARTITION_READ_UNITS + units.write_units / PARTITION_WRITE_UNITS)
    return min(PARTITIONS_MAX // (1 + len(table.indexes)), max(1, at_least, warm))


def first_partitions(source_id: SourceId, count: int = 1) -> list[Partition]:
    """The `count` partitions of a new source: equal ranges of hashes, in their order."""
    ends = [HASH_SPACE * number // count for number in range(count + 1)]
    return [
        Partition(source_id, number, HashRange(ends[number - 1], ends[number] - 1)) for number in range(1, count + 1)
    ]


def split_partition(partition: Partition, next_number: int) -> list[Partition]:
    """The two partitions that replace one, each with half of its hashes, of which there must be more than one."""
    source_id, (first, last) = partition.source_id, partition.hashes
    middle = (first + last + 1) // 2
    return [
        Partition(source_id, next_number, HashRange(first, middle - 1)),
        Partition(source_id, next_number + 1, HashRange(middle, last)),
    ]


def next_to_split(
    partitions: Sequence[Partition], size_bytes: int, size_max_bytes: int, least_count: int = 1
) -> Partition | None:
    """The partition of a source to split if its partitions hold more than `size_max_bytes` on average,
    or are fewer than `least_count`; otherwise None.

    It is the first of the partitions with the most hashes, which hold the most bytes if there are many keys. None also
    if that partition has only one hash, or there are PARTITIONS_MAX partitions.
    """
    is_enough = len(partitions) >= least_count and size_bytes <= size_max_bytes * len(partitions)
    if is_enough or len(partitions) >= PARTITIONS_MAX:
        return None
    widest = max(partitions, key=lambda one: one.hashes.last - one.hashes.first)
    return widest if widest.hashes.first < widest.hashes.last else None


def is_complete_cover(partitions: list[Partition]) -> bool:
    """True if the partitions, given in order of their hashes, cover each hash exactly once."""
    ends = [-1, *[one.hashes.last for one in partitions]]
    return ends[-1] == WHOLE.last and all(
        end + 1 == one.hashes.first <= one.hashes.last for end, one in zip(ends, partitions, strict=False)
    )
