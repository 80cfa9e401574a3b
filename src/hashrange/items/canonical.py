"""What are the canonical bytes of a value? JSON without blanks, the names of every map sorted: equal values, equal bytes.

The one encoder of rows, transaction tokens, keys of missing tables and NextTokens. The JSON library can sort names itself, but when
they come in some orders it takes the square of a map's length (40,000 names: 3.5 s). So long maps are sorted here before.
"""

from typing import Any

import msgspec

from hashrange.items.types import Item, Value
from hashrange.steps import spend_decoding, walk

SURELY_QUICK_BYTES = 4_096
"""An item of this size has so few names that the library sorts them in some milliseconds, whatever their order."""
LONG_MAP_NAMES = 512
"""The library sorts so many names in at most 1 ms."""

_encode_sorting = msgspec.json.Encoder(order="sorted").encode
_encode = msgspec.json.Encoder().encode


def encode_item(item: Item, size_bytes: int) -> bytes:
    """The canonical JSON of a canonical item whose DynamoDB size is `size_bytes`. 1 µs for 1.1 KB."""
    if size_bytes <= SURELY_QUICK_BYTES:
        return _encode_sorting(item)
    spend_decoding(size_bytes)
    return _encode(_with_sorted_names(item)) if _has_long_map(item) else _encode_sorting(item)


def encode_canonically(value: Any) -> bytes:
    """The canonical JSON of plain values or structs. 2 µs for 1.1 KB."""
    encoded = _encode(value)
    if len(encoded) <= SURELY_QUICK_BYTES:
        return _encode_sorting(value)
    spend_decoding(len(encoded))
    return _encode(_with_sorted_names(msgspec.to_builtins(value)))


def _has_long_map(attributes: dict[str, Value]) -> bool:
    """Has an item, or a map inside of it, more names than the library may be asked to sort?"""
    if len(attributes) > LONG_MAP_NAMES:
        return True
    return any(_holds_long_map(value) for value in walk(attributes.values()) if "M" in value or "L" in value)


def _holds_long_map(value: Value) -> bool:
    attributes = value.get("M")
    if attributes is not None:
        return _has_long_map(attributes)
    return any(_holds_long_map(element) for element in walk(value["L"]) if "M" in element or "L" in element)


def _with_sorted_names(value: Any) -> Any:
    """The same with the names of all its maps sorted; nesting is bounded by what has been read."""
    if value.__class__ is dict:
        if len(value) == 1:
            ((name, inner),) = value.items()
            return value if inner.__class__ is str else {name: _with_sorted_names(inner)}
        return {name: _with_sorted_names(value[name]) for name in walk(sorted(value))}
    if value.__class__ is list or value.__class__ is tuple:
        return [_with_sorted_names(element) for element in walk(value)]
    return value
