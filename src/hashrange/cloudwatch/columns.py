"""How are many similar numbers kept in few bytes? As whole numbers above the least of them where possible,
byte by byte of their places.

A column of numbers that all are the same takes no bytes beside that number; others compress well,
because bytes of equal place stand together. Long columns give way. Format: docs/formats/metrics.md.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from hashrange.items.steps import walk

WHOLE_MAX = 2.0**50
"""Numbers up to this are kept as whole numbers, if they are whole, or whole halves or half thousandths."""
SCALES = (1, 2, 2000)
ROUNDED_PART_MAX = 2.0**-44
"""Part of a number by which it may differ from whole half thousandths, which it then is taken for:
sums of those are that inexact."""


class Column(msgspec.Struct, array_like=True):
    """Numbers in order."""

    scale: int
    """One of SCALES: the numbers times this are whole and kept so; 0: the bytes are those of doubles."""
    least: int = 0
    """The least of the whole numbers."""
    width: int = 0
    """Bytes of each number above `least`; 0: all are `least`."""
    places: bytes = b""
    """The lowest bytes of all numbers, then the next bytes of all numbers, and so on."""


def column_of(numbers: Sequence[float]) -> Column:
    """The numbers as a column; they are finite."""
    largest = max(max(walk(numbers), default=0.0), -min(walk(numbers), default=0.0))
    for scale in SCALES:
        if largest * scale <= WHOLE_MAX:
            whole = [round(number * scale) for number in walk(numbers)]
            if _are_equal(
                [one / scale for one in walk(whole)], numbers, 0.0 if scale < SCALES[-1] else ROUNDED_PART_MAX
            ):
                return column_of_whole(whole, scale)
    return Column(0, places=_by_place(array("d", numbers)))


def _are_equal(some: list[float], others: Sequence[float], part: float) -> bool:
    """True if no number differs from its counterpart by more than this part of it."""
    if part == 0.0:
        return some == list(others)
    return all(abs(one - other) <= part * abs(other) for one, other in zip(walk(some), others, strict=True))


def column_of_whole(numbers: Sequence[int], scale: int = 1) -> Column:
    """Whole numbers as a column; they stand for numbers that are `scale` times smaller."""
    least = min(walk(numbers), default=0)
    width = ((max(walk(numbers), default=0) - least).bit_length() + 7) // 8
    if width == 0:
        return Column(scale, least)
    if width == 1:
        return Column(scale, least, 1, bytes([number - least for number in walk(numbers)]))
    return Column(scale, least, width, _by_place(array("Q", [number - least for number in walk(numbers)]), width))


def numbers_of(column: Column, size: int) -> Sequence[float]:
    """The numbers of a column that has `size` of them."""
    if column.scale == 0:
        return array("d", _in_order(column.places))
    whole = whole_numbers_of(column, size)
    return [float(one) if column.scale == 1 else one / column.scale for one in walk(whole)]


def whole_numbers_of(column: Column, size: int) -> list[int]:
    """The whole numbers of a column that has `size` of them."""
    least = column.least
    if column.width == 0:
        return [least] * size
    if column.width == 1:
        return [least + one for one in walk(column.places)]
    return [least + one for one in walk(array("Q", _in_order(column.places, column.width)))]


def differences(numbers: Sequence[int]) -> list[int]:
    """The first number, then the difference of each number from the one before; `itertools.accumulate` undoes this."""
    return [*numbers[:1], *[after - before for before, after in pairwise(numbers)]]


def _by_place(numbers: "array[float] | array[int]", width: int = 8) -> bytes:
    """The first `width` of the 8 bytes of each number."""
    plain = numbers.tobytes()
    return b"".join(plain[place::8] for place in range(width))


def _in_order(places: bytes, width: int = 8) -> bytes:
    """Numbers of 8 bytes each, the first `width` of which stand in `places`; the others are 0."""
    numbers = len(places) // width
    plain = bytearray(numbers * 8)
    for place in range(width):
        plain[place::8] = places[place * numbers : (place + 1) * numbers]
    return bytes(plain)
