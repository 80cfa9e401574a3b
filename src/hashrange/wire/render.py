"""How does a value look inside a constraint's message? As Java prints it, in quotes; an absent value is a bare null.

Source: service behaviour, captures to October 2026. Values have passed the check of their JSON types.
"""

from typing import Any

from hashrange.wire.jsontypes import VALUE_LEVELS_MAX, VALUE_MEMBERS
from hashrange.wire.shape import Shape

MEMBERS_AS_PRINTED = {"WriteRequest": ("PutRequest", "DeleteRequest")}
"""Structures that print their members in another order than the one in which faults of these are reported."""

_NOT_PRINTED = "..."
"""For attribute values that are nested deeper than anybody looks."""


def lower_camel(name: str) -> str:
    """A member's name as paths and structures show it: `TableName` → `tableName`, `SSEType` → `sSEType`."""
    return name[:1].lower() + name[1:]


def render_value(value: Any, shape: Shape) -> str:
    """The value between quotes, or `null`."""
    return "null" if value is None else f"'{_render(value, shape)}'"


def _render(value: Any, shape: Shape, levels: int = 0) -> str:
    """Java's toString of the value; `levels` counts the attribute values around it."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    match shape.kind:
        case "List":
            assert shape.member is not None
            member = shape.member
            return f"[{', '.join(_render(element, member, levels) for element in value)}]"
        case "Map":
            assert shape.member is not None
            member = shape.member
            return f"{{{', '.join(f'{key}={_render(element, member, levels)}' for key, element in value.items())}}}"
        case "Structure":
            return _render_structure(value, shape)
        case "AttributeValue":
            if levels >= VALUE_LEVELS_MAX:
                return _NOT_PRINTED
            shapes = VALUE_MEMBERS.items()
            members = (f"{lower_camel(name)}={_render(value.get(name), inner, levels + 1)}" for name, inner in shapes)
            return f"AttributeValue({', '.join(members)})"
        case "Blob":
            size_bytes = len(value) // 4 * 3 - value.count("=")
            return f"java.nio.HeapByteBuffer[pos=0 lim={size_bytes} cap={size_bytes}]"
        case _:
            return str(value)


def _render_structure(value: dict[str, Any], shape: Shape) -> str:
    shapes = {name: inner for name, inner, _ in shape.members}
    names = MEMBERS_AS_PRINTED.get(shape.name, shapes)
    members = (f"{lower_camel(name)}={_render(value.get(name), shapes[name])}" for name in names)
    return f"{shape.name}({', '.join(members)})"
