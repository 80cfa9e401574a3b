"""How are DAX's bytes written? Heads, numbers, text and byte strings as CBOR,
appended to a bytearray. Source: dax.md 1.
"""

import struct
from collections.abc import Mapping
from typing import Any

from hashrange.wire.dax.reading import TAG_BIGNUM, TAG_DECIMAL, TAG_NEGATIVE_BIGNUM

UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG = range(7)
FALSE, TRUE, NULL = b"\xf4", b"\xf5", b"\xf6"
BREAK = b"\xff"
OPEN_MAP = b"\xbf"
"""Head of a map of indefinite length."""
_FLOAT = struct.Struct(">Bd")
_UINT64_MAX = 1 << 64


_SHORT_HEADS = [
    [
        bytes((major << 5 | argument,)) if argument < 24 else bytes((major << 5 | 24, argument))
        for argument in range(256)
    ]
    for major in range(8)
]


def head(major: int, argument: int) -> bytes:
    """The head of a value: its major type, and its length or number, below 2 ** 64."""
    if argument < 0x100:
        return _SHORT_HEADS[major][argument]
    if argument < 0x10000:
        return bytes((major << 5 | 25,)) + argument.to_bytes(2, "big")
    if argument < 0x100000000:
        return bytes((major << 5 | 26,)) + argument.to_bytes(4, "big")
    return bytes((major << 5 | 27,)) + argument.to_bytes(8, "big")


def write_integer(out: bytearray, number: int) -> None:
    """Append an integer of any size."""
    if 0 <= number < 0x100:
        out += _SHORT_HEADS[UNSIGNED][number]
        return
    magnitude = number if number >= 0 else -1 - number
    if magnitude < _UINT64_MAX:
        out += head(UNSIGNED if number >= 0 else NEGATIVE, magnitude)
    else:
        out += head(TAG, TAG_BIGNUM if number >= 0 else TAG_NEGATIVE_BIGNUM)
        write_bytes(out, magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big"))


def write_number(out: bytearray, text: str) -> None:
    """Append a number in canonical form, as it is stored: an integer, or a decimal fraction with a negative
    exponent. "-0.5" is -5 × 10 ** -1.

    Clients show a decimal fraction with a positive exponent as `1E+2`.
    """
    whole, _, fraction = text.partition(".")
    if fraction:
        out += head(TAG, TAG_DECIMAL) + head(ARRAY, 2) + head(NEGATIVE, len(fraction) - 1)
    write_integer(out, int(whole + fraction))


def write_bytes(out: bytearray, content: bytes | bytearray) -> None:
    """Append a byte string."""
    out += head(BYTES, len(content))
    out += content


def write_text(out: bytearray, text: str) -> None:
    """Append text."""
    content = text.encode()
    out += head(TEXT, len(content))
    out += content


def as_cbor(value: Any) -> bytes:
    """A number, text, byte string or None as CBOR, or a list or map of such values.

    Floats have 64 bits. Clients read capacity units and sizes in no other form: that in Go no shorter one, that for
    Java no integer.
    """
    if value is None:
        return NULL
    if isinstance(value, float):
        return _FLOAT.pack(0xFB, value)
    if isinstance(value, str):
        content = value.encode()
        return head(TEXT, len(content)) + content
    if isinstance(value, bytes):
        return head(BYTES, len(value)) + value
    if isinstance(value, int):
        out = bytearray()
        write_integer(out, value)
        return bytes(out)
    if isinstance(value, Mapping):
        return head(MAP, len(value)) + b"".join([as_cbor(name) + as_cbor(one) for name, one in value.items()])
    return head(ARRAY, len(value)) + b"".join(map(as_cbor, value))
