"""How is a value printed in a constraint's message? As Java prints it, or as JSON, in quotes;
an absent value is a bare null.

Values are printed lazily, up to the length of a whole message: a request of 16 MB would print as several hundred MB.
The whole message is cut where it is sent. Values have passed the check of their JSON types (`wire.jsontypes`).
Source: service behaviour, captures to October 2026.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hashrange.items.steps import spend
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.wire.jsontypes import VALUE_LEVELS_MAX, VALUE_MEMBERS
from hashrange.wire.shape import Shape

_PART_STEPS = 4
MEMBERS_AS_PRINTED = {"WriteRequest": ("PutRequest", "DeleteRequest")}
"""Structure → its members in the order in which they are printed, if their faults are reported in another order."""

JSON_LEVELS_MAX = 2 * VALUE_LEVELS_MAX
"""Greatest printed nesting of JSON lists and maps; an attribute value of type L or M takes two levels."""

_ELLIPSIS = "..."
"""Printed in place of values that are nested too deep."""


def lower_camel(name: str) -> str:
    """A member's name as messages print it: `TableName` → `tableName`, `SSEType` → `sSEType`."""
    return name[:1].lower() + name[1:]


def path_key(key: str) -> str:
    """A map's key as a path in a message shows it, cut to the length of a message."""
    return key[:MESSAGE_CHARACTERS_MAX]


def render_value(value: Any, shape: Shape) -> str:
    """The value as Java prints it, in quotes; `null` for None. Takes time only for what is printed."""
    return "null" if value is None else _quoted(_parts(value, shape))


def render_json(value: Any) -> str:
    """The value as compact JSON in single quotes; what exceeds a message is cut off, and takes no time."""
    return _quoted(_json_parts(value))


def _quoted(rendered: Iterator[str]) -> str:
    parts = []
    length = 0
    for part in rendered:
        spend(_PART_STEPS)
        parts.append(part)
        length += len(part)
        if length > MESSAGE_CHARACTERS_MAX:
            return f"'{''.join(parts)[:MESSAGE_CHARACTERS_MAX]}"
    return f"'{''.join(parts)}'"


def _parts(value: Any, shape: Shape, levels: int = 0) -> Iterator[str]:
    """Yield the strings that make up Java's toString of the value; `levels` counts the attribute values around it."""
    if value is None:
        yield "null"
        return
    if value is True or value is False:
        yield "true" if value else "false"
        return
    match shape.kind:
        case "List":
            yield from _listed("[", ", ", "]", (("", _parts(one, shape.element, levels)) for one in value))
        case "Map":
            entries = ((f"{key}=", _parts(one, shape.element, levels)) for key, one in value.items())
            yield from _listed("{", ", ", "}", entries)
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


def _json_parts(value: Any, levels: int = 0) -> Iterator[str]:
    """Yield the strings that make up compact JSON of the value; `levels` counts the lists and maps around it."""
    if levels > JSON_LEVELS_MAX:
        yield _ELLIPSIS
    elif isinstance(value, dict):
        entries = ((f"{_json_scalar(key)}:", _json_parts(one, levels + 1)) for key, one in value.items())
        yield from _listed("{", ",", "}", entries)
    elif isinstance(value, list):
        yield from _listed("[", ",", "]", (("", _json_parts(one, levels + 1)) for one in value))
    else:
        yield _json_scalar(value)


def _json_scalar(value: Any) -> str:
    """A scalar as JSON, for an error message; a text is cut just beyond the greatest length of a message."""
    if isinstance(value, str):
        value = value[: MESSAGE_CHARACTERS_MAX + 1]
    return json.dumps(value, ensure_ascii=False)


def _structure_parts(value: dict[str, Any], name: str, shapes: dict[str, Shape], levels: int) -> Iterator[str]:
    members = (
        (f"{lower_camel(member)}=", _parts(value.get(member), inner, levels)) for member, inner in shapes.items()
    )
    return _listed(f"{name}(", ", ", ")", members)


def _listed(opening: str, comma: str, closing: str, parts: Iterable[tuple[str, Iterator[str]]]) -> Iterator[str]:
    """Yield the strings of a list's, map's or structure's parts, each behind its label, with what stands around and
    between them.
    """
    before = opening
    for label, strings in parts:
        yield before + label
        yield from strings
        before = comma
    yield closing if before == comma else opening + closing
