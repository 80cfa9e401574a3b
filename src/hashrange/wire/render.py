"""How does a value look inside a constraint's message? As Java prints it, in quotes; an absent value is a bare null.

Printed lazily, and no further than a whole message may have characters: a request of 16 MB would print as several hundred. Whoever
sends the message cuts it. Source: service behaviour, captures to October 2026. Values have passed the check of their JSON types.
"""

from collections.abc import Iterator
from typing import Any

from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.steps import spend
from hashrange.wire.jsontypes import VALUE_LEVELS_MAX, VALUE_MEMBERS
from hashrange.wire.shape import Shape

_PART_STEPS = 4
MEMBERS_AS_PRINTED = {"WriteRequest": ("PutRequest", "DeleteRequest")}
"""Structures that print their members in another order than the one in which faults of these are reported."""

_ELLIPSIS = "..."
"""For attribute values that are nested deeper than anybody looks."""


def lower_camel(name: str) -> str:
    """A member's name as paths and structures show it: `TableName` → `tableName`, `SSEType` → `sSEType`."""
    return name[:1].lower() + name[1:]


def path_key(key: str) -> str:
    """A map's key as it stands in a path."""
    return key[:MESSAGE_CHARACTERS_MAX]


def render_value(value: Any, shape: Shape) -> str:
    """The value between quotes, or `null`. Costs no more than what it prints."""
    if value is None:
        return "null"
    parts = []
    length = 0
    for part in _parts(value, shape):
        spend(_PART_STEPS)
        parts.append(part)
        length += len(part)
        if length > MESSAGE_CHARACTERS_MAX:
            return f"'{''.join(parts)[:MESSAGE_CHARACTERS_MAX]}"
    return f"'{''.join(parts)}'"


def _parts(value: Any, shape: Shape, levels: int = 0) -> Iterator[str]:
    """Java's toString of the value, piece by piece; `levels` counts the attribute values around it."""
    if value is None:
        yield "null"
        return
    if value is True or value is False:
        yield "true" if value else "false"
        return
    match shape.kind:
        case "List":
            assert shape.member is not None
            comma = "["
            for element in value:
                yield comma
                yield from _parts(element, shape.member, levels)
                comma = ", "
            yield "]" if value else "[]"
        case "Map":
            assert shape.member is not None
            comma = "{"
            for key, element in value.items():
                yield f"{comma}{key}="
                yield from _parts(element, shape.member, levels)
                comma = ", "
            yield "}" if value else "{}"
        case "Structure":
            shapes = {name: inner for name, inner, _ in shape.members}
            names = MEMBERS_AS_PRINTED.get(shape.name, shapes)
            yield from _structure_parts(value, shape.name, {name: shapes[name] for name in names}, 0)
        case "AttributeValue" if levels >= VALUE_LEVELS_MAX:
            yield _ELLIPSIS
        case "AttributeValue":
            yield from _structure_parts(value, "AttributeValue", VALUE_MEMBERS, levels + 1)
        case "Blob":
            size_bytes = len(value) // 4 * 3 - value.count("=")
            yield f"java.nio.HeapByteBuffer[pos=0 lim={size_bytes} cap={size_bytes}]"
        case _:
            yield str(value)


def _structure_parts(value: dict[str, Any], name: str, shapes: dict[str, Shape], levels: int) -> Iterator[str]:
    yield f"{name}("
    comma = ""
    for member, inner in shapes.items():
        yield f"{comma}{lower_camel(member)}="
        yield from _parts(value.get(member), inner, levels)
        comma = ", "
    yield ")"
