"""Which of the service's two validation layers checks a request?
Some requests fall back from the current to the older one.

The older layer words faults in its own sentences. It reports a RequestFault (`errors.py`) without the envelope, the
prefix "1 validation error detected: ". It reports broken constraints in the envelope, but ignores an operation's
special wordings of them. A request that lacks a required member falls back for its constraints only. A request falls
back for all checks if it has a value nested too deep for the current layer, a word such as "yes" in BOOL or NULL, or a
number that is cut or held to 32 bits. An operation's record says for which reasons its requests fall back
(`RequestRules.falls_back`).
Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4 and 5).
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from hashrange.items.steps import batches, walk
from hashrange.items.values import count_levels
from hashrange.limits import NESTING_LEVELS_READ_MAX
from hashrange.wire.rules import RequestRules

_ATTRIBUTE_MAPS = ("Item", "Key", "ExpressionAttributeValues")
_LEGACY_MAPS = ("Expected", "AttributeUpdates")
_SCALARS = frozenset((str, int, float, bool, type(None)))
_TRUTH_MEMBERS = ("BOOL", "NULL")


def holds_unread_values(rules: RequestRules, request: dict[str, Any] | msgspec.Struct) -> bool:
    """True if a request that may fall back holds a value nested deeper than the current layer reads.

    `request` must have passed the check of JSON types. Called only for requests that are refused, because the time is
    linear in the number of their values.
    """
    if "deep" not in rules.falls_back:
        return False
    given = request if isinstance(request, dict) else msgspec.structs.asdict(request)
    contents = [given[name] for name in _ATTRIBUTE_MAPS if given.get(name)]
    for name in _LEGACY_MAPS:
        for condition in (given.get(name) or {}).values():
            contents += [[condition.get("Value")], condition.get("AttributeValueList") or []]
    return any(count_levels(content) > NESTING_LEVELS_READ_MAX for content in contents)


def is_converted(rules: RequestRules, decoded: dict[str, Any], request: dict[str, Any] | msgspec.Struct) -> bool:
    """True if a request that may fall back was converted: a number that was cut or held to 32 bits,
    a word in BOOL or NULL.

    `decoded`: the body as plain values; `request`: its members as they were read. Called only for requests that took
    the slow path and are refused, because the time is linear in the number of their values.
    """
    if "converted" not in rules.falls_back:
        return False
    read = request.get if isinstance(request, dict) else lambda name: getattr(request, name, None)
    for name, given in walk(decoded.items()):
        if (given.__class__ is int or given.__class__ is float) and read(name) not in (None, given):
            return True
    layer: list[Any] = [outer for outer in walk(decoded.values()) if outer.__class__ is dict or outer.__class__ is list]
    while layer:
        layer = [inner for outer in layer for inner in _members(outer)]
        if any(inner.__class__ is dict and _has_word(inner) for inner in walk(layer)):
            return True
    return False


def _members(outer: Any) -> Iterator[Any]:
    """The lists and maps directly inside a list or map; texts, of which there may be a million,
    are passed over in batches.
    """
    if outer.__class__ is dict or outer.__class__ is list:
        for some in batches(outer.values() if outer.__class__ is dict else outer):
            if not _SCALARS.issuperset(map(type, some)):
                yield from (inner for inner in some if inner.__class__ is dict or inner.__class__ is list)


def _has_word(value: dict[str, Any]) -> bool:
    return any(value.get(name).__class__ is str for name in _TRUTH_MEMBERS)
