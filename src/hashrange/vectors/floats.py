"""How are the numbers of a vector held? As 32-bit floats, little-endian, shown in the shortest decimals.

A text is read as the service reads the `N` of a vector: digits, with a fraction and an exponent if it has them. It may
have more digits than a float holds. Source: vectors.md 9 and 10.
"""

import re
import struct
import sys
from array import array
from collections.abc import Collection, Sequence

import msgspec

from hashrange.items.numbers import float_text
from hashrange.items.steps import batches, spend, walk
from hashrange.limits import FLOAT32_MAX

FLOAT_BYTES = 4
_are_numbers = re.compile(r"(?:[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\n)*+").fullmatch
"""Matches the texts of numbers with an end of line behind each."""
_read_json_numbers = msgspec.json.Decoder(list[float]).decode
_READ_TOGETHER = 128
_NUMBER_CHARACTERS_MAX = 4_096
"""Longest text that is read. Python reads longer texts in linear time too, but no client has a use for one."""
_DIGITS_MIN, _DIGITS_MAX = 6, 9
"""Each 32-bit float is the closest one to a decimal of nine digits; a decimal of six digits has a float of its own."""
_NORMAL_MIN = 2.0**-126
"""Floats that are closer to zero have fewer digits."""
_PLAIN = range(-6, 13)
"""Exponents of numbers that are shown without one."""


def pack_floats(texts: Collection[str]) -> bytes | None:
    """The texts of numbers as 32-bit floats; None if a text is no number, or beyond the range of such a float.

    0.3 ms for 4,096 numbers; gives way.
    """
    numbers: list[float] = []
    for some in batches(texts, _READ_TOGETHER):
        lines = "\n".join([*some, ""])
        read = _json_numbers(lines, len(some))
        if read is None:
            if (
                max(map(len, some), default=0) > _NUMBER_CHARACTERS_MAX
                or lines.count("\n") > len(some)
                or not _are_numbers(lines)
            ):
                return None
            read = list(map(float, some))
        spend(len(lines) >> 6)
        numbers += read
    return packed(numbers)


def _json_numbers(lines: str, count: int) -> list[float] | None:
    """So many numbers, each with an end of line behind it; None unless all are written as JSON writes numbers, which
    is read in a quarter of the time.
    """
    if len(lines) > _NUMBER_CHARACTERS_MAX or " " in lines or "\t" in lines or "\r" in lines:
        return None
    try:
        numbers = _read_json_numbers(f"[{lines[:-1].replace(chr(10), ',')}]")
    except msgspec.DecodeError:
        return None
    return numbers if len(numbers) == count else None


def packed(numbers: Sequence[float]) -> bytes | None:
    """The numbers as 32-bit floats; None if one is beyond the range of such a float."""
    if max(map(abs, numbers), default=0.0) > FLOAT32_MAX:
        return None
    return struct.pack(f"<{len(numbers)}f", *numbers)


def unpack_floats(packed: bytes) -> "array[float]":
    """The floats of a vector, as a sequence of Python's."""
    floats = array("f", packed)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats


def float_texts(packed: bytes) -> list[str]:
    """The shortest decimal of each float, such as `0.1` and `1.0`, and `1e-10` far from the point. 4 µs each."""
    return [_shortest(number) for number in walk(unpack_floats(packed))]


def _shortest(number: float) -> str:
    """The decimal with the fewest digits that reads as this 32-bit float."""
    for digits in range(_DIGITS_MIN if abs(number) >= _NORMAL_MIN else 1, _DIGITS_MAX + 1):
        text = f"{number:.{digits - 1}e}"
        if digits == _DIGITS_MAX or _rounded(text) == number:
            break
    mantissa, _, exponent = text.partition("e")
    written = mantissa.lstrip("-").replace(".", "").rstrip("0")
    if not written:
        return "0.0"
    return float_text(is_negative=number < 0, digits=written, first_exponent=int(exponent), plain=_PLAIN)


def _rounded(text: str) -> float:
    """The 32-bit float that is closest to a decimal; infinity beyond its range."""
    try:
        (number,) = struct.unpack("<f", struct.pack("<f", float(text)))
    except OverflowError:
        return float("inf")
    return float(number)
