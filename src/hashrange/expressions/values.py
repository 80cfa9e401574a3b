"""How are two canonical values compared? Order within S, N and B, prefixes, containment and size.

Values are equal if their dicts are. Strings are ordered by code point, the order of their UTF-8 bytes; binaries by
bytes; numbers by value. Source: service behaviour, captures to Oct 2026.
"""

import operator
from binascii import a2b_base64
from collections.abc import Callable
from typing import AnyStr

from hashrange.items.numbers import number_order
from hashrange.items.sizes import binary_size_bytes
from hashrange.items.steps import look, spend
from hashrange.items.types import SET_TYPES, Value

ORDERED_TYPES = frozenset(("S", "N", "B"))
SURELY_QUICK_LENGTH = 4_096
"""Searching for a part of fewer characters or bytes takes at most 2 ms, even in the longest text."""
NAIVE_PLACES_MAX, QUICK_COMPARISONS = 2_000, 1_000_000
"""NAIVE_PLACES_MAX: Python's search of a text compares all of the wanted part at no more than this many positions.

QUICK_COMPARISONS: comparisons of characters or bytes that take 1 ms.
"""


def number_is_less(left: str, right: str) -> bool:
    """`left < right` for canonical numbers; whole numbers without a sign are compared by length, then by digits."""
    if left.isdigit() and right.isdigit():
        return left < right if len(left) == len(right) else len(left) < len(right)
    return number_order(left) < number_order(right)


_WITH_MEMBERS = frozenset((*SET_TYPES, "L", "M"))
"""Types of values that consist of others."""


def _binary(compare: Callable[[bytes, bytes], bool]) -> Callable[[str, str], bool]:
    """Return a function of two base64 texts that calls `compare` on their decoded bytes."""
    return lambda left, right: compare(_decoded(left), _decoded(right))


def _decoded(text: str) -> bytes:
    """The bytes of a base64 text; gives way before: 2 ms for 400 KB, and an expression may do so hundreds of times."""
    spend(len(text) >> 8)
    return a2b_base64(text)


ORDERS: dict[tuple[str, str], Callable[[str, str], bool]] = {
    ("<", "S"): operator.lt,
    ("<=", "S"): operator.le,
    (">", "S"): operator.gt,
    (">=", "S"): operator.ge,
    ("<", "N"): number_is_less,
    ("<=", "N"): lambda left, right: not number_is_less(right, left),
    (">", "N"): lambda left, right: number_is_less(right, left),
    (">=", "N"): lambda left, right: not number_is_less(left, right),
    ("<", "B"): _binary(operator.lt),
    ("<=", "B"): _binary(operator.le),
    (">", "B"): _binary(operator.gt),
    (">=", "B"): _binary(operator.ge),
}
"""(operator, type) → comparison of two scalars of that type."""


def is_ordered(comparison: str, left: Value, right: Value) -> bool:
    """True if `left comparison right` holds and both have the same type: S, N or B."""
    ((left_type, left_scalar),) = left.items()
    right_scalar = right.get(left_type)
    if right_scalar is None:
        return False
    compare = ORDERS.get((comparison, left_type))
    return compare is not None and compare(left_scalar, right_scalar)


def has_prefix(value: Value, prefix: Value) -> bool:
    """True if `value` begins with `prefix`, and both are S or both B."""
    text, wanted = value.get("S"), prefix.get("S")
    if text is not None and wanted is not None:
        return bool(text.startswith(wanted))
    text, wanted = value.get("B"), prefix.get("B")
    return text is not None and wanted is not None and _decoded(text).startswith(_decoded(wanted))


def contains(container: Value, wanted: Value) -> bool:
    """True if `wanted` is a substring, byte substring, set member or list element of `container`."""
    ((container_type, content),) = container.items()
    if container_type == "L":
        spend(len(content) >> 4)
        if not wanted.keys().isdisjoint(_WITH_MEMBERS):
            look()  # to compare one element may take milliseconds
        return wanted in content
    if container_type in SET_TYPES:
        member = wanted.get(container_type[0])
        spend(len(content) >> 5)
        return member is not None and member in content
    scalar = wanted.get(container_type)
    if scalar is None:
        return False
    if container_type == "S":
        return _has_part(content, scalar)
    return container_type == "B" and _has_part(_decoded(content), _decoded(scalar))


def _has_part(whole: AnyStr, part: AnyStr) -> bool:
    """`part in whole`, in linear time; gives way before a long search.

    Python's search is linear unless the part is so long that it fits at few places of `whole`: it may then compare all
    of the part at up to 2,000 places. If `whole` is at least three times as long as the part, Python's algorithm is
    linear, so a shorter `whole` is lengthened for such a part.
    """
    whole_length, part_length = len(whole), len(part)
    places = whole_length - part_length + 1
    if part_length < SURELY_QUICK_LENGTH or min(places, NAIVE_PLACES_MAX) * part_length <= QUICK_COMPARISONS:
        if whole_length > SURELY_QUICK_LENGTH:
            spend(whole_length >> 8)
        return part in whole
    spend((whole_length + 3 * part_length) >> 7)
    lengthened = whole + whole[:1] * (3 * part_length + 64 - whole_length)
    return 0 <= lengthened.find(part) < places


def size_of(value: Value) -> int | None:
    """The result of size(): UTF-16 code units of a string, else bytes or elements; None for types without a size."""
    ((type_name, content),) = value.items()
    if type_name in ("N", "BOOL", "NULL"):
        return None
    if type_name == "S" and not content.isascii():
        spend(len(content) >> 8)
        return len(content.encode("utf-16-le")) // 2
    return binary_size_bytes(content) if type_name == "B" else len(content)
