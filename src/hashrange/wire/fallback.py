"""Which of the service's two validation layers checks a request? Requests for single items fall back to the older one in two cases.

The older layer words faults in its own sentences. It reports a RequestFault (`errors.py`) without the envelope, the
prefix "1 validation error detected: ". It reports broken constraints in the envelope, but ignores an operation's
special wordings of them. A request without its `Key` falls back for its constraints only; a request with a value nested
too deep for the current layer falls back for all checks. Requests of other operations have one layer each: an
operation's record says whether its requests fall back (`RequestRules.falls_back`).
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
    """True if a request that may fall back holds a value nested deeper than the current layer reads.

    `request` must have passed the check of JSON types. Called only for requests that are refused, because the time is
    linear in the number of their values.
    """
    if not rules.falls_back:
        return False
    given = request if isinstance(request, dict) else msgspec.structs.asdict(request)
    contents = [given[name] for name in _ATTRIBUTE_MAPS if given.get(name)]
    for name in _LEGACY_MAPS:
        for condition in (given.get(name) or {}).values():
            contents += [[condition.get("Value")], condition.get("AttributeValueList") or []]
    return any(count_levels(content) > NESTING_LEVELS_READ_MAX for content in contents)
