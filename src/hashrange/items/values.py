"""Is this a sound attribute value, and what is its canonical form? One walk checks, normalises, counts bytes and depth.

Faults come in the order of the request; within one value: number → NULL → empty sets → numbers of sets → repeats → members of
maps and lists → more than one type. `Malformed` is raised for everything that is no attribute value by its JSON types (bad
base64, unknown members and text that is not Unicode included): the slow path words those, and they come first anyway.
Nothing given is mutated; what is canonical already is given back as it is. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable
from typing import Any

from hashrange.errors import Malformed, RequestFault, ValidationException
from hashrange.items.binary import decode_base64
from hashrange.items.numbers import normalize_number, number_size_bytes
from hashrange.items.sets import check_members, walk_binary_set, walk_number_set, walk_string_set
from hashrange.items.sizes import CONTAINER_BYTES, MEMBER_BYTES
from hashrange.items.types import Item, Value
from hashrange.limits import ATTRIBUTE_NAME_MAX_BYTES, NESTING_LEVELS_MAX
from hashrange.messages.values import (
    ATTRIBUTE_NAME_EMPTY,
    ATTRIBUTE_NAME_TOO_LONG,
    EXPRESSION_VALUE_OLDER,
    NESTING_TOO_DEEP,
    NULL_NOT_TRUE,
    VALUE_EMPTY,
    VALUE_HAS_TWO_TYPES,
)

Content = Any
"""What stands behind a type's name in a value; anything that JSON can hold until it is checked."""


def check_item(item: dict[str, Any]) -> tuple[Item, int]:
    """The canonical item and its DynamoDB size in bytes. Raises RequestFault, ValidationException or Malformed.

    7 µs for 1.1 KB in 15 attributes, 3 µs for ten strings.
    """
    try:
        return _walk_attributes(item, 0)
    except UnicodeEncodeError:
        raise Malformed from None


def check_value(value: dict[str, Any]) -> tuple[Value, int]:
    """The canonical value and its size in bytes, without a name. Raises as `check_item` does."""
    try:
        return _walk_value(value, 0)
    except UnicodeEncodeError:
        raise Malformed from None


def check_values(values: dict[str, Any]) -> dict[str, Value]:
    """The canonical ExpressionAttributeValues; the older layer words a fault with the token it stands at."""
    changed: dict[str, Value] | None = None
    for token, value in values.items():
        try:
            canonical, _ = check_value(value)
        except RequestFault as fault:
            assert fault.message is not None
            older = EXPRESSION_VALUE_OLDER.format(message=fault.older, token=token)
            raise RequestFault(fault.message, older) from None
        if canonical is not value:
            if changed is None:
                changed = dict(values)
            changed[token] = canonical
    return values if changed is None else changed


def type_of(value: Value) -> str:
    """The type of a canonical value: `S`, `N`, …"""
    return next(iter(value))


# --- maps and lists -----------------------------------------------------------------------------

_NAME_SURELY_SHORT = ATTRIBUTE_NAME_MAX_BYTES // 4
"""Characters that cannot have more bytes than the limit."""


def _walk_attributes(attributes: Any, level: int) -> tuple[dict[str, Value], int]:
    """Attributes of an item (level 0) or map: canonical, and Σ (name + value) in bytes."""
    if attributes.__class__ is not dict:
        raise Malformed
    if level >= NESTING_LEVELS_MAX and attributes:
        raise RequestFault(NESTING_TOO_DEEP)
    size_bytes = 0
    changed: dict[str, Value] | None = None
    for name, value in attributes.items():
        if not 0 < len(name) <= _NAME_SURELY_SHORT:
            _check_name(name)
        size_bytes += len(name) if name.isascii() else len(name.encode())
        if value.__class__ is not dict:
            raise Malformed
        text = value.get("S")
        if text.__class__ is str and len(value) == 1:
            size_bytes += len(text) if text.isascii() else len(text.encode())
            continue
        canonical, value_bytes = _walk_value(value, level)
        size_bytes += value_bytes
        if canonical is not value:
            if changed is None:
                changed = dict(attributes)
            changed[name] = canonical
    return attributes if changed is None else changed, size_bytes


def _check_name(name: str) -> None:
    if not name:
        raise RequestFault(ATTRIBUTE_NAME_EMPTY)
    if len(name.encode()) > ATTRIBUTE_NAME_MAX_BYTES:
        raise RequestFault(ATTRIBUTE_NAME_TOO_LONG)


def _walk_map(content: Content, level: int) -> tuple[Content, int]:
    attributes, size_bytes = _walk_attributes(content, level + 1)
    return attributes, size_bytes + CONTAINER_BYTES + MEMBER_BYTES * len(content)


def _walk_list(content: Content, level: int) -> tuple[Content, int]:
    if content.__class__ is not list:
        raise Malformed
    size_bytes = CONTAINER_BYTES + MEMBER_BYTES * len(content)
    changed: list[Value] | None = None
    for position, value in enumerate(content):
        canonical, value_bytes = _walk_value(value, level + 1)
        size_bytes += value_bytes
        if canonical is not value:
            if changed is None:
                changed = list(content)
            changed[position] = canonical
    return content if changed is None else changed, size_bytes


# --- one value ----------------------------------------------------------------------------------


def _walk_value(value: Any, level: int) -> tuple[Value, int]:
    """One value inside `level` lists and maps."""
    if value.__class__ is not dict:
        raise Malformed
    if level >= NESTING_LEVELS_MAX:
        raise RequestFault(NESTING_TOO_DEEP)
    if len(value) != 1:
        _refuse_count(value, level)
    ((type_name, content),) = value.items()
    walk = _WALKS.get(type_name)
    if walk is None:
        raise Malformed
    canonical, size_bytes = walk(content, level)
    return value if canonical is content else {type_name: canonical}, size_bytes


def _walk_string(content: Content, level: int) -> tuple[Content, int]:
    if content.__class__ is not str:
        raise Malformed
    return content, len(content) if content.isascii() else len(content.encode())


def _walk_number(content: Content, level: int) -> tuple[Content, int]:
    if content.__class__ is not str:
        raise Malformed
    canonical = normalize_number(content)
    return canonical, number_size_bytes(canonical)


def _walk_binary(content: Content, level: int) -> tuple[Content, int]:
    return content, len(decode_base64(content))


def _walk_boolean(content: Content, level: int) -> tuple[Content, int]:
    if content.__class__ is not bool:
        raise Malformed
    return content, 1


def _walk_null(content: Content, level: int) -> tuple[Content, int]:
    if content is not True:
        if content is not False:
            raise Malformed
        raise RequestFault(NULL_NOT_TRUE)
    return content, 1


_WALKS: dict[str, Callable[[Content, int], tuple[Content, int]]] = {
    "S": _walk_string,
    "N": _walk_number,
    "B": _walk_binary,
    "SS": walk_string_set,
    "NS": walk_number_set,
    "BS": walk_binary_set,
    "BOOL": _walk_boolean,
    "NULL": _walk_null,
    "L": _walk_list,
    "M": _walk_map,
}
"""Type → what checks the content behind it and gives (canonical content, size in bytes)."""


# --- values with no type, or several ------------------------------------------------------------

_JSON_TYPES = {
    "S": str, "N": str, "B": str, "SS": list, "NS": list, "BS": list, "BOOL": bool, "NULL": bool, "L": list, "M": dict,
}  # fmt: skip


def _refuse_count(value: dict[str, Any], level: int) -> None:
    """Refuse a value with no type, or with several: for the first fault inside one of them, else for their number."""
    if not value:
        raise ValidationException(VALUE_EMPTY)
    for type_name, content in value.items():
        if content.__class__ is not _JSON_TYPES.get(type_name):
            raise Malformed
    for type_name in ("N", "NULL"):
        if type_name in value:
            _WALKS[type_name](value[type_name], level)
    for type_name in ("SS", "NS", "BS"):
        if type_name in value:
            check_members(type_name, value[type_name])
    for number in value.get("NS", ()):
        normalize_number(number)
    for type_name in ("SS", "BS", "NS", "M", "L"):
        if type_name in value:
            _WALKS[type_name](value[type_name], level)
    raise ValidationException(VALUE_HAS_TWO_TYPES)
