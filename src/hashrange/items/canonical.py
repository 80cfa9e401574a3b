"""What are the canonical bytes of a value? JSON without blanks, with the names of every map sorted:
equal values, equal bytes.

The only encoder of stored rows, of requests whose digest an idempotency token contains, of key maps that are compared
without their table, and of PartiQL's NextTokens. msgspec can sort names, but for some orders of names its time grows
with the square of a map's length (40,000 names: 3.5 s), and a call cannot give way. So each call that sorts gets few
values.
"""

from collections.abc import Collection
from itertools import chain
from typing import Any

import msgspec

from hashrange.items.steps import batches, sort, spend, spend_decoding
from hashrange.items.types import Item

SURELY_QUICK_BYTES = 4_096
"""Up to this DynamoDB size, or length of JSON, msgspec encodes a value in some milliseconds, in any order of names."""
FEW_VALUES = 4_096
"""Of a larger value, one call that sorts encodes at most this many values, counted at all levels, in at most 1 ms."""
SORTED_NAMES_MAX = 512
"""At most this many names of a map or elements of a list go to one call of msgspec's encoder,
which takes up to 1 ms."""
_SOME = 512
"""Members of one list or map that are encoded in one call if they hold at most FEW_VALUES values."""
_ONLY_MAPS = {dict}
_CONTAINERS = {dict, list, tuple}

_encode_sorting = msgspec.json.Encoder(order="sorted").encode
_encode = msgspec.json.Encoder().encode


def encode_item(item: Item, size_bytes: int) -> bytes:
    """The canonical JSON of a canonical item whose DynamoDB size is `size_bytes`. 1 µs for 1.1 KB."""
    if size_bytes <= SURELY_QUICK_BYTES:
        return _encode_sorting(item)
    spend_decoding(size_bytes)
    return _encode_large(item)


def encode_canonically(value: Any) -> bytes:
    """The canonical JSON of JSON values or msgspec structs. 2 µs for 1.1 KB."""
    encoded = _encode(value)
    if len(encoded) <= SURELY_QUICK_BYTES:
        return _encode_sorting(value)
    spend_decoding(len(encoded))
    return _encode_large(msgspec.to_builtins(value))


def _encode_large(value: Any) -> bytes:
    if _has_few_values((value,)):
        return _encode_sorting(value)
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def _has_few_values(values: Collection[Any]) -> bool:
    """True if `values`, with all that is nested in them, are at most FEW_VALUES, and no map or list
    is longer than SORTED_NAMES_MAX.
    """
    count = 0
    while True:
        count += len(values)
        if count > FEW_VALUES:
            return False
        spend(len(values) >> 4)
        kinds = set(map(type, values))
        if kinds == _ONLY_MAPS:
            if max(map(len, values)) > SORTED_NAMES_MAX:
                return False
            values = list(chain.from_iterable(map(dict.values, values)))
        elif not kinds.isdisjoint(_CONTAINERS):
            containers = [value for value in values if value.__class__ in _CONTAINERS]
            if max(map(len, containers)) > SORTED_NAMES_MAX:
                return False
            values = list(chain.from_iterable([_members(container) for container in containers]))
        else:
            return True


def _members(container: Any) -> Collection[Any]:
    return container.values() if container.__class__ is dict else container


def _write(value: Any, parts: list[bytes]) -> None:
    """Append the value's canonical JSON to `parts`."""
    if value.__class__ is dict:
        parts.append(b"{")
        for names in batches(sort(value), _SOME):
            members = {name: value[name] for name in names}
            if _has_few_values(members.values()):
                parts += (_encode_sorting(members)[1:-1], b",")
                continue
            for name, member in members.items():
                parts += (_encode(name), b":")
                _write(member, parts)
                parts.append(b",")
        _close(parts, b"}")
    elif value.__class__ is list or value.__class__ is tuple:
        parts.append(b"[")
        for elements in batches(value, _SOME):
            if _has_few_values(elements):
                parts += (_encode_sorting(elements)[1:-1], b",")
                continue
            for element in elements:
                _write(element, parts)
                parts.append(b",")
        _close(parts, b"]")
    else:
        parts.append(_encode(value))


def _close(parts: list[bytes], bracket: bytes) -> None:
    """Append `bracket`, or put it in place of a comma at the end of `parts`."""
    if parts[-1] == b",":
        parts[-1] = bracket
    else:
        parts.append(bracket)
