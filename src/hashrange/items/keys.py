"""How do keys become bytes that sort as DynamoDB sorts? Partition keys by hash, sort keys by value (docs/formats/keys.md).

    partition    8 bytes hash ‖ 2 bytes length ‖ encoded scalar     hash = first 8 bytes of MD5("Outliers" ‖ encoded scalar)
    component    the encoded scalar, escaped and ended; one for each sort key attribute

An encoded scalar is UTF-8 for S, the bytes for B, `numbers.encode_number` for N. Several partition key attributes of an
index stand as components in place of the one encoded scalar. Scalars are canonical here.
"""

import hashlib
from binascii import a2b_base64
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hashrange.items.numbers import encode_number

_md5: Any = import_module("_md5").md5 if find_spec("_md5") else hashlib.md5
"""Python's own MD5 costs a third of OpenSSL's for so few bytes, and does not depend on what OpenSSL permits."""

_HASH_SEED = b"Outliers"
_LENGTHS = [length.to_bytes(2, "big") for length in range(2049)]

_ESCAPED_ZERO = b"\x00\xff"
_END = b"\x00\x01"


def encode_sort(type_name: str, scalar: str) -> bytes:
    """Bytes in the order of the type's values; for N, none a prefix of another."""
    if type_name == "S":
        return scalar.encode()
    if type_name == "N":
        return encode_number(scalar)
    return a2b_base64(scalar)


def encode_partition_key(type_name: str, scalar: str) -> bytes:
    """Bytes of a partition key, none a prefix of another; `scalar` encodes to at most 2,048 bytes."""
    encoded = scalar.encode() if type_name == "S" else encode_sort(type_name, scalar)
    digest: bytes = _md5(_HASH_SEED + encoded).digest()
    return digest[:8] + _LENGTHS[len(encoded)] + encoded


def encode_texts(scalar: str, sort_scalar: str) -> bytes:
    """A partition key and a sort key that are both strings, as `encode_partition_key` and `encode_component` do one after the other. 0.8 µs."""
    encoded = scalar.encode()
    digest: bytes = _md5(_HASH_SEED + encoded).digest()
    sort_encoded = sort_scalar.encode().replace(b"\x00", _ESCAPED_ZERO)
    return b"".join((digest[:8], _LENGTHS[len(encoded)], encoded, sort_encoded, _END))


def encode_composite_partition(scalars: list[tuple[str, str]]) -> bytes:
    """The same for several (type, scalar), as an index may have."""
    encoded = b"".join([encode_component(type_name, scalar) for type_name, scalar in scalars])
    digest: bytes = _md5(_HASH_SEED + encoded).digest()
    return digest[:8] + len(encoded).to_bytes(2, "big") + encoded


def encode_component(type_name: str, scalar: str) -> bytes:
    """Bytes in the order of the type's values, none a prefix of another, so that something may follow in the same key."""
    if type_name == "S":
        encoded = scalar.encode()
    elif type_name == "N":
        return encode_number(scalar)
    else:
        encoded = a2b_base64(scalar)
    return encoded.replace(b"\x00", _ESCAPED_ZERO) + _END


def encode_prefix(type_name: str, scalar: str) -> bytes:
    """What the components of all values that begin with `scalar` (S or B) begin with."""
    return encode_component(type_name, scalar)[: -len(_END)]


def prefix_upper_bound(prefix: bytes) -> bytes:
    """The smallest bytes above everything that begins with `prefix`, which must not be empty or all 0xff."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,))
