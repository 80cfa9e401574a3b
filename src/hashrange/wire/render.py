"""How does a value look inside a constraint's message? As Java prints it, in quotes; an absent value is a bare null.

Source: service behaviour, captures to October 2026. Values have passed the check of their JSON types.
"""

from typing import Any

from hashrange.wire.shape import Shape


def lower_camel(name: str) -> str:
    """A member's name as paths and structures show it: `TableName` → `tableName`, `SSEType` → `sSEType`."""
    return name[:1].lower() + name[1:]


def render_value(value: Any, shape: Shape) -> str:
    """The value between quotes, or `null`."""
    return "null" if value is None else f"'{_render(value, shape)}'"


def _render(value: Any, shape: Shape) -> str:
    """Java's toString of the value."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    match shape.kind:
        case "List":
            assert shape.member is not None
            member = shape.member
            return f"[{', '.join(_render(element, member) for element in value)}]"
        case "Map":
            assert shape.member is not None
            member = shape.member
            return f"{{{', '.join(f'{key}={_render(element, member)}' for key, element in value.items())}}}"
        case "Structure":
            members = (f"{lower_camel(name)}={_render(value.get(name), inner)}" for name, inner, _ in shape.members)
            return f"{shape.name}({', '.join(members)})"
        case _:
            assert shape.kind != "AttributeValue", "no member with bounds holds attribute values"
            return str(value)
