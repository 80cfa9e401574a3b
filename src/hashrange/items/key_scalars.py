"""Which scalars is a key made of? The reverse of `keys.py`, for those who know the types of the key's
attributes (docs/formats/keys.md).
"""

from base64 import b64encode
from collections.abc import Sequence

from hashrange.items.numbers import decode_number

_HASH_BYTES, _LENGTH_BYTES = 8, 2
_ESCAPED_ZERO, _END = b"\x00\xff", b"\x00\x01"


def key_scalars(key: bytes, partition_types: Sequence[str], sort_types: Sequence[str]) -> list[str]:
    """The scalars of a key, or of a key that begins with these attributes, as the API writes them:
    numbers as text, binaries in Base64.
    """
    begin = _HASH_BYTES + _LENGTH_BYTES
    end = begin + int.from_bytes(key[_HASH_BYTES:begin], "big")
    if len(partition_types) == 1:
        scalars = [_scalar(partition_types[0], key[begin:end])]
    else:
        scalars, _ = _components(key, begin, partition_types)
    more, _ = _components(key, end, sort_types)
    return scalars + more


def key_end(key: bytes, sort_types: Sequence[str]) -> int:
    """Where a key's own part ends: at an index's entry, the key of its item follows."""
    begin = _HASH_BYTES + _LENGTH_BYTES
    return _components(key, begin + int.from_bytes(key[_HASH_BYTES:begin], "big"), sort_types)[1]


def _components(key: bytes, begin: int, types: Sequence[str]) -> tuple[list[str], int]:
    """Scalars of the components that begin here, and where they end."""
    scalars = []
    for type_name in types:
        if type_name == "N":
            text, length = decode_number(key[begin:])
            scalars.append(text)
            begin += length
        else:
            end = key.index(_END, begin)
            scalars.append(_scalar(type_name, key[begin:end].replace(_ESCAPED_ZERO, b"\x00")))
            begin = end + len(_END)
    return scalars, begin


def _scalar(type_name: str, encoded: bytes) -> str:
    if type_name == "N":
        return decode_number(encoded)[0]
    return encoded.decode() if type_name == "S" else b64encode(encoded).decode()
