"""In which order does a Java hash set list its members? Some of the service's messages show it.

Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 6); Java's documentation defines the hashes.
"""

from collections.abc import Mapping
from typing import TypeVar

from hashrange.items.steps import sort, spend, walk

T = TypeVar("T")

HASH_MASK = 0xFFFFFFFF


def text_hash(text: str) -> int:
    """`String.hashCode` of Java, as 32 bits without a sign: UTF-16 code units, each time 31."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    spend(len(units) >> 1)
    value = 0
    for unit in walk(units):
        value = 31 * value + unit & HASH_MASK
    return value


def in_hash_order(hashes: Mapping[T, int], buckets: int) -> list[T]:
    """The members in the order of a hash set that has them inserted one by one: by bucket, then by time of insertion.

    `hashes`: member → its 32 bits. `buckets`: how many the set begins with, a power of two; they double when more than
    three quarters as many members are in it.
    """
    while len(hashes) > buckets * 3 // 4:
        buckets *= 2
    filled: dict[int, list[T]] = {}
    for member, value in walk(hashes.items()):
        filled.setdefault((value ^ value >> 16) & (buckets - 1), []).append(member)
    return [member for bucket in walk(sort(filled)) for member in filled[bucket]]
