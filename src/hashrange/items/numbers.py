"""What is a DynamoDB number? Decimal text of at most 38 significant digits, of magnitude 1E-130 to 9.99…E+125, or zero;
also sizes, exact sums, and bytes that sort.

Canonical text is plain decimal, without exponent, needless zeros or signs: `1.50` → `1.5`, `1E3` → `1000`, `-0` → `0`.
So two numbers are equal exactly when their canonical texts are. A number in a request is refused with NumberFault, a
result of arithmetic with another ValidationException.
Source: service behaviour, captures to Oct 2026; a number out of range and too precise is reported as out of range
(unconfirmed).

A text of any length is refused or accepted in linear time, whatever its exponent.
"""

import re
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any

from hashrange.errors import Malformed, NumberFault, ValidationException
from hashrange.items.steps import spend
from hashrange.limits import NUMBER_DIGITS_MAX, NUMBER_EXPONENT_MAX, NUMBER_EXPONENT_MIN
from hashrange.messages import values as say

_SHORT = NUMBER_DIGITS_MAX
"""Canonical text of at most this many characters has an allowed number of digits and is in range."""
_is_canonical = re.compile(r"-?(?:[1-9][0-9]*(?:\.[0-9]*[1-9])?|0\.[0-9]*[1-9])|0").fullmatch
_split = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?+(?:[eE]([+-]?)([0-9]++))?+").fullmatch
"""Matches a number, or a text that only lacks its digits; groups: sign, whole digits, fraction, sign and digits of the
exponent. Repetitions are possessive: a wrong character must not cause backtracking.
"""

_PIECE_CHARACTERS = 64 * 1024
"""Characters of a long text that are checked in one call, in about 0.1 ms."""
_QUICK_CHARACTERS = 256
"""A text of at most this many characters is read in a few µs."""
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_EXPONENT_DIGITS_MAX = 19
"""Decimal digits of the largest int64; a number whose exponent is no int64 is reported as not convertible."""

_EXACT = Context(prec=300, Emax=999, Emin=-999, traps=[Inexact, InvalidOperation, Overflow])
"""Context for the exact sum of any two numbers, which has up to 127 digits before the point and 167 after it."""
_PLAIN_MAX = 18
"""Whole numbers of at most this many characters are added or subtracted as Python integers."""

number_order = Decimal
"""Converts canonical text to a value that sorts and compares as the number does. 0.15 µs."""


def is_canonical_number(text: str) -> bool:
    """True if the text is a number, and canonical. 0.1–0.3 µs."""
    return len(text) <= _SHORT and (
        (text.isdigit() and text[0] != "0" and text.isascii()) or _is_canonical(text) is not None
    )


def normalize_number(text: str) -> str:
    """The canonical text of a number; the same object if `text` is canonical. 0.1–0.4 µs for common numbers.

    Raises NumberFault, or Malformed for text that is not Unicode.
    """
    return text if is_canonical_number(text) else _normalize(text)


def measure_number(text: str) -> tuple[str, int]:
    """The canonical text of a number and its DynamoDB size in bytes. 0.2–0.4 µs for common numbers.

    Raises what `normalize_number` raises.
    """
    if len(text) <= _SHORT and text.isascii():
        if text.isdigit():
            if text[0] != "0":
                return text, (len(text.rstrip("0")) + 3) >> 1
        else:
            whole, _, fraction = text.partition(".")
            if fraction.isdigit() and fraction[-1] != "0":
                if whole == "0" or whole == "-0":  # noqa: PLR1714 - a tuple takes longer
                    return text, len(whole) + ((len(fraction.lstrip("0")) + 1) >> 1)
                if whole.isdigit() and whole[0] != "0":
                    return text, 1 + ((len(whole) + 1) >> 1) + ((len(fraction) + 1) >> 1)
    canonical = normalize_number(text)
    return canonical, number_size_bytes(canonical)


def _normalize(text: str) -> str:  # noqa: C901 - the faults of a number, in the order of the service
    """The canonical text of any number. Checks syntax, then range, then precision; works on strings, in linear time."""
    is_long = len(text) > _PIECE_CHARACTERS
    if is_long:
        parts = _split_long(text)
    else:
        if len(text) > _QUICK_CHARACTERS:
            spend(len(text) >> 6)
        match = _split(text)
        parts = None if match is None else match.groups("")
    if parts is None:
        raise _not_convertible(text)
    sign, whole, fraction, exponent_sign, exponent_digits = parts
    if not whole and not fraction:
        raise _not_convertible(text)
    exponent = 0
    if exponent_digits:
        exponent_digits = _without_zeros_before(exponent_digits) or "0"
        if len(exponent_digits) > _EXPONENT_DIGITS_MAX:
            raise _not_convertible(text)
        exponent = -int(exponent_digits) if exponent_sign == "-" else int(exponent_digits)
        if not -_INT64_MAX - 1 <= exponent <= _INT64_MAX:
            raise _not_convertible(text)

    written = whole + fraction
    digits = _without_zeros_before(written) if is_long else written.lstrip("0")
    first_exponent = exponent + len(digits) - len(fraction) - 1 if digits else exponent
    if not NUMBER_EXPONENT_MIN <= first_exponent <= NUMBER_EXPONENT_MAX:
        raise _out_of_range(text, exponent, len(fraction), first_exponent)
    digits = _without_zeros_behind(digits) if is_long else digits.rstrip("0")
    if not digits:
        return "0"
    if len(digits) > NUMBER_DIGITS_MAX:
        raise NumberFault(say.NUMBER_TOO_PRECISE)
    canonical = _plain(sign == "-", digits, first_exponent)
    return text if text == canonical else canonical


def float_text(*, is_negative: bool, digits: str, first_exponent: int, plain: range) -> str:
    """A float `d.ddd × 10^first_exponent` as Rust writes it: `100.0`, `3.5`, and `1e20` beyond the exponents `plain`.
    `digits`: as short as they can be, of a number that is not zero.
    """
    if first_exponent in plain:
        text = _plain(is_negative, digits, first_exponent)
        return text if "." in text else f"{text}.0"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if is_negative else ''}{digits[0]}{fraction}e{first_exponent}"


# --- texts of any length ---------------------------------------------------------------------------


def _split_long(text: str) -> tuple[str | Any, ...] | None:
    """The groups of `_split` for a text too long for a single match; None if the text does not match."""
    sign = text[:1] if text.startswith(("+", "-")) else ""
    end = min([place for place in (text.find("e"), text.find("E")) if place >= 0], default=len(text))
    whole, _, fraction = text[len(sign) : end].partition(".")
    exponent = text[end + 1 :]
    exponent_sign = exponent[:1] if exponent.startswith(("+", "-")) else ""
    exponent_digits = exponent[len(exponent_sign) :]
    if end < len(text) and not exponent_digits:
        return None
    if not all(_are_digits(digits) for digits in (whole, fraction, exponent_digits)):
        return None
    return sign, whole, fraction, exponent_sign, exponent_digits


def _are_digits(text: str) -> bool:
    """True if the text has only digits 0 to 9, or is empty."""
    for start in range(0, len(text), _PIECE_CHARACTERS):
        spend(_PIECE_CHARACTERS >> 8)
        piece = text[start : start + _PIECE_CHARACTERS]
        if not (piece.isascii() and piece.isdigit()):
            return False
    return True


def _without_zeros_before(digits: str) -> str:
    start = 0
    while len(digits) - start > _PIECE_CHARACTERS:
        spend(_PIECE_CHARACTERS >> 8)
        piece = digits[start : start + _PIECE_CHARACTERS].lstrip("0")
        if piece:
            return digits[start + _PIECE_CHARACTERS - len(piece) :]
        start += _PIECE_CHARACTERS
    return digits[start:].lstrip("0")


def _without_zeros_behind(digits: str) -> str:
    end = len(digits)
    while end > _PIECE_CHARACTERS:
        spend(_PIECE_CHARACTERS >> 8)
        piece = digits[end - _PIECE_CHARACTERS : end].rstrip("0")
        if piece:
            return digits[: end - _PIECE_CHARACTERS + len(piece)]
        end -= _PIECE_CHARACTERS
    return digits[:end].rstrip("0")


def _plain(is_negative: bool, digits: str, first_exponent: int) -> str:
    """Canonical text of `d.ddd × 10^first_exponent`; `digits` begins and ends with a nonzero digit."""
    if first_exponent < 0:
        text = f"0.{'0' * (-first_exponent - 1)}{digits}"
    elif len(digits) <= first_exponent + 1:
        text = digits + "0" * (first_exponent + 1 - len(digits))
    else:
        text = f"{digits[: first_exponent + 1]}.{digits[first_exponent + 1 :]}"
    return f"-{text}" if is_negative else text


def _not_convertible(text: str) -> NumberFault | Malformed:
    """The fault of a text that is no number: NumberFault with the text; Malformed if the text is not Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return Malformed()
    return NumberFault(say.NUMBER_NOT_CONVERTIBLE.format(text=text), None if text else say.NUMBER_EMPTY_OLDER)


def _out_of_range(text: str, exponent: int, fraction_digits: int, first_exponent: int) -> NumberFault:
    """The NumberFault of a number out of range.

    The older layer's exponents go up to 2^31 - 1. It reports a text whose exponent or scale (fraction digits minus
    exponent) is larger as not convertible, and an overflow as underflow if only the first digit's
    exponent reaches 2^31 - 1.
    """
    message = say.NUMBER_OVERFLOW if first_exponent > NUMBER_EXPONENT_MAX else say.NUMBER_UNDERFLOW
    if not (-_INT32_MAX <= exponent <= _INT32_MAX and fraction_digits - exponent <= _INT32_MAX):
        return NumberFault(message, say.NUMBER_NOT_CONVERTIBLE.format(text=text))
    return NumberFault(message, say.NUMBER_UNDERFLOW if first_exponent >= _INT32_MAX else message)


# --- size ---------------------------------------------------------------------------------------


def number_size_bytes(canonical: str) -> int:
    """DynamoDB size: 1 byte, 1 per two significant digits (rounded up) on each side of the point, 1 if negative."""
    if canonical.isdigit():
        return (len(canonical.rstrip("0")) + 3) >> 1
    size_bytes = 1
    if canonical[0] == "-":
        size_bytes = 2
        canonical = canonical[1:]
    whole, _, fraction = canonical.partition(".")
    if not fraction:
        whole = whole.rstrip("0")
    elif whole == "0":
        whole = ""
        fraction = fraction.lstrip("0")
    return size_bytes + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2


# --- arithmetic ---------------------------------------------------------------------------------


def add_numbers(left: str, right: str) -> str:
    """Exact, canonical sum of two canonical numbers. Raises ValidationException if out of range or beyond 38 digits."""
    if len(left) <= _PLAIN_MAX >= len(right) and "." not in left and "." not in right:
        return str(int(left) + int(right))
    return _result(_EXACT.add(Decimal(left), Decimal(right)))


def subtract_numbers(left: str, right: str) -> str:
    """Exact, canonical difference of two canonical numbers. Raises ValidationException as `add_numbers` does."""
    if len(left) <= _PLAIN_MAX >= len(right) and "." not in left and "." not in right:
        return str(int(left) - int(right))
    return _result(_EXACT.subtract(Decimal(left), Decimal(right)))


def _result(exact: Decimal) -> str:
    """Canonical text of an exact result. Raises ValidationException, not NumberFault: the request has no fault."""
    if not exact:
        return "0"
    try:
        return _normalize(str(exact))
    except NumberFault as fault:
        raise ValidationException(fault.message) from None


# --- order-preserving bytes ---------------------------------------------------------------------
#
# The bytes of an encoded number, in hexadecimal:
#
#   zero       80
#   positive   C0 ‖ exponent + 130 ‖ pairs of digits, each 00–99 as one byte 01–9A ‖ 00
#   negative   40 ‖ the bytes after C0 of the positive number, each complemented
#
# Pairs start at the first significant digit; an odd last digit is followed by a zero. Trailing zeros are not written.
# The end mark 00 is smaller than any pair, so order is preserved and no encoding is a prefix of another.

_ZERO = b"\x80"
_POSITIVE = b"\xc0"
_NEGATIVE = b"\x40"
_PAIRS_UP = bytes((byte + 1) % 256 for byte in range(256))
_PAIRS_DOWN = bytes((byte - 1) % 256 for byte in range(256))
_COMPLEMENT = bytes(255 - byte for byte in range(256))
_EXPONENT_BYTES = [bytes((exponent,)) for exponent in range(256)]
_WHOLE_STARTS = [b"", *(_POSITIVE + exponent for exponent in _EXPONENT_BYTES[-NUMBER_EXPONENT_MIN:])]
"""First two bytes of an encoded positive whole number, indexed by its number of digits."""


def encode_number(canonical: str) -> bytes:
    """Encode a number to at most 22 bytes that sort as the numbers do, none a prefix of another. 0.3–0.5 µs."""
    if canonical == "0":
        return _ZERO
    if canonical.isdigit():
        digits = canonical.rstrip("0")
        pairs = bytes.fromhex(digits + "0" if len(digits) & 1 else digits)
        return _WHOLE_STARTS[len(canonical)] + pairs.translate(_PAIRS_UP) + b"\x00"
    is_negative = canonical[0] == "-"
    magnitude = canonical[1:] if is_negative else canonical
    if "." in magnitude:
        whole, _, fraction = magnitude.partition(".")
        if whole == "0":
            digits = fraction.lstrip("0")
            first_exponent = len(digits) - len(fraction) - 1
        else:
            digits = whole + fraction
            first_exponent = len(whole) - 1
    else:
        first_exponent = len(magnitude) - 1
        digits = magnitude.rstrip("0")
    if len(digits) & 1:
        digits += "0"
    body = _EXPONENT_BYTES[first_exponent - NUMBER_EXPONENT_MIN] + bytes.fromhex(digits).translate(_PAIRS_UP) + b"\x00"
    return _NEGATIVE + body.translate(_COMPLEMENT) if is_negative else _POSITIVE + body


def decode_number(encoded: bytes) -> tuple[str, int]:
    """The canonical number that `encode_number` made these bytes of, and how many of them it takes;
    others may follow.
    """
    if encoded[:1] == _ZERO:
        return "0", 1
    is_negative = encoded[:1] == _NEGATIVE
    body = encoded[1:].translate(_COMPLEMENT) if is_negative else encoded[1:]
    end = body.index(b"\x00", 1)
    digits = body[1:end].translate(_PAIRS_DOWN).hex().rstrip("0")
    return _plain(is_negative, digits, body[0] + NUMBER_EXPONENT_MIN), 1 + end + 1
