"""Which of the service's two layers looks at a request? Those for single items fall back to the older one in two cases.

The older layer words faults in sentences of its own, and has neither forms for single constraints nor an envelope. It is met by
requests without their key, as far as constraints go, and by requests that hold a value which the current layer cannot read, for it is
nested too deep: these meet nothing else. Other operations have one layer each: their records say which operations fall back (`RequestRules.falls_back`).
Source: service behaviour, captures to October 2026.
"""

from typing import Any

import msgspec

from hashrange.items.values import count_levels
from hashrange.limits import NESTING_LEVELS_READ_MAX
from hashrange.wire.rules import RequestRules

_ATTRIBUTE_MAPS = ("Item", "Key", "ExpressionAttributeValues")
_LEGACY_MAPS = ("Expected", "AttributeUpdates")


def holds_unread_values(rules: RequestRules, request: dict[str, Any] | msgspec.Struct) -> bool:
    """Does a request that may fall back, one for a single item, hold a value that is nested deeper than the current layer reads?

    `request` is sound by its JSON types. Only for requests that are refused: linear in their values.
    """
    if not rules.falls_back:
        return False
    given = request if isinstance(request, dict) else msgspec.structs.asdict(request)
    contents = [given[name] for name in _ATTRIBUTE_MAPS if given.get(name)]
    for name in _LEGACY_MAPS:
        for condition in (given.get(name) or {}).values():
            contents += [[condition.get("Value")], condition.get("AttributeValueList") or []]
    return any(count_levels(content) > NESTING_LEVELS_READ_MAX for content in contents)
