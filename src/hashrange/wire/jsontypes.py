"""Does every known member have its declared JSON type? Values that the service converts, such as `"yes"`
or 1.5 for an integer, are converted.

`normalise` copies a decoded body, except values that need no change: nulls and unknown members are left out, `"yes"`
becomes True if a Boolean is declared, fractions are cut if an Integer or Long is declared, and an Integer is held to 32
bits. The first fault, in
document order, raises SerializationException. Must not know bounds or required members.
Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 4 and 5).

Unconfirmed, our choice: a number beyond the range of Long or Double is not convertible, like a value of another type;
a null among attribute values becomes an empty attribute value, so that it is refused and nothing is lost; a null in a
list of scalars or structures is an unexpected value type, in a list of maps it has GENERIC_MEMBER's message;
a null in a map of strings is left out.
"""

import math
import re
from collections.abc import Collection
from typing import Any, NoReturn

from hashrange.errors import SerializationException
from hashrange.items.steps import batches, spend, walk
from hashrange.messages import requests as messages
from hashrange.wire.shape import ATTRIBUTE_VALUE, Shape, ShapeKind

VALUE_LEVELS_MAX = 64
"""Attribute values inside this many others or more are not checked: beyond 32 levels, nesting is refused anyway."""

_INTEGER_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_TRUE_WORDS = ("true", "t", "yes", "y", "1")
_FALSE_WORDS = ("false", "f", "no", "n", "0")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*+(?:(?<=[AQgw])==|(?<=[AEIMQUYcgkosw048])=)?")
"""Matches base64 text with zero spare bits in its last group, if its length is a multiple of 4, which callers check
first. The pattern is one run of characters: for groups of four, the regular expression engine would
need 490 MB for 15 MB of text."""
_BASE64_DIGITS = re.compile(r"[A-Za-z0-9+/]*+")
_PIECE_CHARACTERS = 64 * 1024
"""Characters of a long base64 text that are checked at once, in 0.2 ms; a multiple of 4."""
_SHORT_CHARACTERS = 256
"""If no text of a batch has more characters than this, the batch is matched without giving way."""

_STRING = Shape("String")
VALUE_MEMBERS = {
    "S": _STRING,
    "N": _STRING,
    "B": Shape("Blob"),
    "SS": Shape("List", member=_STRING),
    "NS": Shape("List", member=_STRING),
    "BS": Shape("List", member=Shape("Blob")),
    "M": Shape("Map", member=ATTRIBUTE_VALUE),
    "L": Shape("List", member=ATTRIBUTE_VALUE),
    "NULL": Shape("Boolean"),
    "BOOL": Shape("Boolean"),
}
"""Members of an attribute value, in the order in which the service prints them."""
_PLAIN_CLASSES = {"S": str, "N": str, "NULL": bool, "BOOL": bool}
"""Member of an attribute value → Python class of its contents; contents of this class need no check."""
_EMPTY_CLASSES = {"B": str, "SS": list, "NS": list, "BS": list, "L": list, "M": dict}
"""Member of an attribute value → Python class of its contents; empty contents of this class need no check."""


def normalise(value: Any, shape: Shape, levels: int = 0, *, is_member: bool = False) -> Any:
    """Check the JSON type of a value, and return it as declared. Raises SerializationException for the first fault.

    `levels`: number of attribute values around the value. `is_member`: the value is directly in a list or map.
    """
    match shape.kind:
        case "AttributeValue":
            return _attribute_value(value, levels, is_member)
        case "Structure":
            return _structure(value, shape, levels, is_member)
        case "List":
            return _list(value, shape, levels, is_member)
        case "Map":
            return _map(value, shape, levels, is_member)
        case "String":
            return value if type(value) is str else _refuse_scalar(value, "String")
        case "Boolean":
            return _boolean(value)
        case "Integer" | "Long" | "Double":
            return _number(value, shape)
        case "Blob":
            return _blob(value)
        case "Time" | "Any":
            return value


def _refuse(message: str, **parts: object) -> NoReturn:
    raise SerializationException(message.format(**parts))


def _token(value: Any) -> str:
    """Name of a scalar's token in the service's parser, as messages show it."""
    if value is True or value is False:
        return "TRUE_VALUE" if value else "FALSE_VALUE"
    if isinstance(value, str):
        return "STRING_VALUE"
    return "NUMBER_VALUE" if isinstance(value, int) else "DECIMAL_VALUE"


def _refuse_scalar(value: Any, kind: ShapeKind) -> NoReturn:
    """Raise the fault of a value that is not a scalar of this type."""
    if isinstance(value, list):
        _refuse(messages.UNRECOGNIZED_COLLECTION_OF_CLASS, java_type=_java_type(Shape(kind)))
    if isinstance(value, dict):
        _refuse(messages.UNEXPECTED_STRUCTURE)
    if value is None:
        _refuse(messages.UNEXPECTED_VALUE_TYPE)
    if kind == "Blob":
        _refuse(messages.BLOB_NOT_TEXT)
    _refuse(messages.NOT_CONVERTIBLE, token=_token(value), type=kind)


def _boolean(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    if isinstance(value, str):
        word = value.lower()
        if word in _TRUE_WORDS:
            return True
        if word in _FALSE_WORDS:
            return False
        _refuse(messages.UNEXPECTED_TOKEN)
    if isinstance(value, list):
        raise SerializationException
    _refuse_scalar(value, "Boolean")


def _number(value: Any, shape: Shape) -> int | float:
    """The number as declared. Raises SerializationException if it is no number,
    or beyond the range of Long or Double.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse_scalar(value, shape.kind)
    if shape.kind == "Integer":
        return int(max(-_INTEGER_MAX - 1, min(value, _INTEGER_MAX)))
    try:
        number = float(value) if shape.kind == "Double" else math.trunc(value)
    except OverflowError:  # an infinite number, or one that no float holds
        _refuse_scalar(value, shape.kind)
    if shape.kind == "Double":
        return number if math.isfinite(number) else _refuse_scalar(value, shape.kind)
    return number if -_LONG_MAX - 1 <= number <= _LONG_MAX else _refuse_scalar(value, shape.kind)


def _blob(value: Any) -> str:
    if not isinstance(value, str):
        _refuse_scalar(value, "Blob")
    if len(value) % 4:
        _refuse(messages.BLOB_LENGTH, length=len(value))
    if not _is_base64(value):
        _refuse(messages.BLOB_CHARACTERS)
    return value


def _is_base64(text: str) -> bool:
    """True if a text, whose length is a multiple of 4, is base64; a long text is matched in pieces."""
    start = 0
    while len(text) - start > _PIECE_CHARACTERS:
        spend(_PIECE_CHARACTERS >> 8)
        if not _BASE64_DIGITS.fullmatch(text, start, start + _PIECE_CHARACTERS):
            return False
        start += _PIECE_CHARACTERS
    return _BASE64.fullmatch(text, start) is not None


def _list(value: Any, shape: Shape, levels: int, is_member: bool) -> list[Any]:
    if not isinstance(value, list):
        if isinstance(value, dict):
            _refuse(messages.UNEXPECTED_STRUCTURE)
        _refuse(messages.GENERIC_MEMBER if is_member else messages.UNEXPECTED_FIELD_TYPE)
    member = shape.element
    if member.kind == "AttributeValue":
        return [_attribute_value(element, levels, is_member=True) for element in walk(value)]
    if member.kind == "String" and _are_texts(value):
        return value
    if member.kind == "Blob" and _are_texts(value) and _are_base64(value):
        return value
    return [normalise(element, member, levels, is_member=True) for element in walk(value)]


def _are_texts(values: Collection[Any]) -> bool:
    """True if all values are strings; they are checked in batches, because there may be a million."""
    return all(set(map(type, some)) <= {str} for some in batches(values))


def _are_base64(texts: list[str]) -> bool:
    for some in batches(texts):
        lengths = set(map(len, some))
        if any(length % 4 for length in lengths):
            return False
        match = _BASE64.fullmatch if max(lengths, default=0) <= _SHORT_CHARACTERS else _is_base64
        if not all(map(match, some)):
            return False
    return True


def _map(value: Any, shape: Shape, levels: int, is_member: bool) -> dict[str, Any]:
    member = shape.element
    if not isinstance(value, dict):
        if isinstance(value, list):
            _refuse(messages.UNRECOGNIZED_COLLECTION, java_type=messages.JAVA_MAP.format(value=_java_type(member)))
        _refuse(messages.GENERIC_MEMBER if is_member else messages.UNEXPECTED_FIELD_TYPE)
    if member.kind == "AttributeValue":
        return {key: _attribute_value(element, levels, is_member=True) for key, element in walk(value.items())}
    if member.kind == "String" and _are_texts(value.values()):
        return value
    return {
        key: normalise(element, member, levels, is_member=True)
        for key, element in walk(value.items())
        if element is not None
    }


def _structure(value: Any, shape: Shape, levels: int, is_member: bool) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse_structure(value, shape, is_member)
    shapes = shape.inner
    assert shapes is not None
    items = value.items() if len(value) <= len(shapes) else walk(value.items())  # there may be unknown ones
    return {
        name: normalise(inner, shapes[name], levels) for name, inner in items if inner is not None and name in shapes
    }


def _attribute_value(value: Any, levels: int, is_member: bool) -> Any:
    if value is None:
        return {}
    if not isinstance(value, dict):
        _refuse_structure(value, ATTRIBUTE_VALUE, is_member)
    if not value or levels >= VALUE_LEVELS_MAX:
        return value
    if len(value) == 1:  # nearly every attribute value of a very large body
        ((name, inner),) = value.items()
        if inner.__class__ is _PLAIN_CLASSES.get(name) or (not inner and inner.__class__ is _EMPTY_CLASSES.get(name)):
            return value
        if name == "L" and inner.__class__ is list:
            return {"L": [_attribute_value(element, levels + 1, is_member=True) for element in walk(inner)]}
    return {
        name: normalise(inner, VALUE_MEMBERS[name], levels + 1)
        for name, inner in value.items()
        if inner is not None and name in VALUE_MEMBERS
    }


def _refuse_structure(value: Any, shape: Shape, is_member: bool) -> NoReturn:
    """Raise the fault of a value that is not a structure."""
    if isinstance(value, list):
        _refuse(messages.UNRECOGNIZED_COLLECTION_OF_CLASS, java_type=_java_type(shape))
    _refuse(messages.UNEXPECTED_VALUE_TYPE if is_member else messages.UNEXPECTED_FIELD_TYPE)


def _java_type(shape: Shape) -> str:
    """The Java type by which the service's messages name a declared type."""
    if shape.kind == "Blob":
        return messages.JAVA_BLOB
    if shape.kind in ("Structure", "AttributeValue"):
        return messages.JAVA_STRUCTURE.format(type=shape.name)
    if shape.member is not None:
        inner = _java_type(shape.member)
        return (messages.JAVA_MAP if shape.kind == "Map" else messages.JAVA_LIST).format(value=inner, member=inner)
    return messages.JAVA_SCALAR.format(type=shape.kind)
