"""How is a number written so that its bytes sort as it does?
As LexDecimal, the form of sort keys in DAX's protocol. Source: dax.md 1.

The value is sign × 0.d1d2… × 10 ** e: a header for the sign and e, then groups of three digits in ten bits each,
then how many digits the last group has.
"""

from hashrange.wire.dax.reading import BadBytes

_ZERO = 0x80
_SHORT_MIN, _SHORT_MAX = -62, 62
"""Exponents from the first to before the second are written in the header's one byte."""
_GROUP_POSITIVE, _GROUP_NEGATIVE = 12, 1011
_TERMINATOR_NEGATIVE = 1023
_DIGITS_MAX = 200
"""Digits read; DynamoDB's numbers have 38."""


def write_lex_decimal(text: str) -> bytes:
    """A canonical number, such as `-12.5`, as LexDecimal, spelled without zeros behind a point."""
    is_negative = text.startswith("-")
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = whole.lstrip("0") + fraction if whole.strip("0") else fraction.lstrip("0")
    if not digits:
        return bytes((_ZERO,))
    exponent = len(whole.lstrip("0")) if whole.strip("0") else len(digits) - len(fraction)
    padded = digits + "0" * (-len(digits) % 3)
    codes = [int(padded[at : at + 3]) for at in range(0, len(padded), 3)]
    ending = (2, 0, 1)[len(digits) % 3]
    if is_negative:
        codes = [_GROUP_NEGATIVE - code for code in codes] + [_TERMINATOR_NEGATIVE - ending]
    else:
        codes = [_GROUP_POSITIVE + code for code in codes] + [ending]
    bits = 0
    for code in codes:
        bits = bits << 10 | code
    count = 10 * len(codes)
    size = -(-count // 8)
    return _header(exponent, is_negative=is_negative) + (bits << (size * 8 - count)).to_bytes(size, "big")


def _header(exponent: int, *, is_negative: bool) -> bytes:
    if _SHORT_MIN <= exponent < _SHORT_MAX:
        return bytes((0x3F - exponent if is_negative else 0xC0 + exponent,))
    marks = (0x7E, 0x01) if is_negative else (0x81, 0xFE)
    mask = 0x7FFFFFFF if is_negative else 0x80000000
    return bytes((marks[exponent >= 0],)) + ((exponent & 0xFFFFFFFF) ^ mask).to_bytes(4, "big")


def read_lex_decimal(raw: bytes) -> str:
    """The number as text, not canonical. Raises BadBytes."""
    if not raw:
        raise BadBytes("a number without bytes")
    first = raw[0]
    if first in (_ZERO, 0x7F):
        return "0"
    is_negative = first < _ZERO
    exponent, at = _read_header(raw, is_negative=is_negative)
    digits = _read_digits(raw[at:], is_negative=is_negative)
    return f"{'-' if is_negative else ''}0.{digits}E{exponent}"


def _read_header(raw: bytes, *, is_negative: bool) -> tuple[int, int]:
    """The exponent, and where the groups begin."""
    first = raw[0]
    if first not in (0x81, 0xFE, 0x7E, 0x01):
        if first in (0x00, 0xFF):
            raise BadBytes("an undefined number")
        return (0x3F - first if is_negative else first - 0xC0), 1
    if len(raw) < 5:
        raise BadBytes("a number that is cut off")
    mask = 0x7FFFFFFF if is_negative else 0x80000000
    exponent = int.from_bytes(raw[1:5], "big") ^ mask
    return (exponent - (1 << 32) if exponent >> 31 else exponent), 5


def _read_digits(packed: bytes, *, is_negative: bool) -> str:
    count = len(packed) * 8 // 10
    if count * 3 > _DIGITS_MAX:
        raise BadBytes("a number with too many digits")
    bits = int.from_bytes(packed, "big") >> (len(packed) * 8 - count * 10)
    digits = ""
    for place in range(count):
        code = bits >> (10 * (count - 1 - place)) & 0x3FF
        ending = _TERMINATOR_NEGATIVE - code if is_negative else code
        if ending <= 2:
            left_out = (2, 1, 0)[ending]
            return digits[: len(digits) - left_out] if left_out else digits
        group = _GROUP_NEGATIVE - code if is_negative else code - _GROUP_POSITIVE
        if not 0 <= group <= 999:
            raise BadBytes("a number with a group that is none")
        digits += f"{group:03}"
    raise BadBytes("a number without an end")
