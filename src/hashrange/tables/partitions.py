"""What is a partition? A range of hashes of partition keys: a part of the rows of a table, or of the entries of an index.

The partitions of a source cover all hashes, and no hash twice. Every source begins with one; each has a row in the catalog
(docs/formats/store.md).
"""

from typing import NamedTuple

from hashrange.tables.source_id import SourceId

HASH_SPACE = 1 << 64
"""Hashes are 8 bytes."""


class HashRange(NamedTuple):
    """Hashes of partition keys, both ends included."""

    first: int
    last: int


WHOLE = HashRange(0, HASH_SPACE - 1)
"""All rows."""


class Partition(NamedTuple):
    """One partition of a source."""

    source: SourceId
    number: int
    """Counts the partitions that the source has ever had, from 1."""
    hashes: HashRange


def first_partition(source: SourceId) -> Partition:
    """What a new source begins with."""
    return Partition(source, 1, WHOLE)


def cover(partitions: list[Partition]) -> bool:
    """Do these, in order of their hashes, hold every hash once?"""
    ends = [-1, *[one.hashes.last for one in partitions]]
    return ends[-1] == WHOLE.last and all(
        end + 1 == one.hashes.first <= one.hashes.last for end, one in zip(ends, partitions, strict=False)
    )
