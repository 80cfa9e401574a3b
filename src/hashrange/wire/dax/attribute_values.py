"""How are attribute values written in DAX's protocol? Read into the API's own form, unchecked,
and written from canonical values. Source: dax.md 1.
"""

from base64 import b64decode, b64encode
from typing import Any

from hashrange.items.steps import walk
from hashrange.items.types import Item, Value
from hashrange.wire.dax.reading import TAG_BINARY_SET, TAG_NUMBER_SET, TAG_STRING_SET, BadBytes, CborNumber, Tagged
from hashrange.wire.dax.writing import ARRAY, FALSE, MAP, NULL, TAG, TRUE, head, write_bytes, write_number, write_text

_SETS = {TAG_STRING_SET: "SS", TAG_NUMBER_SET: "NS", TAG_BINARY_SET: "BS"}
_SET_TAGS = {name: tag for tag, name in _SETS.items()}


def attribute_value_of(value: Any) -> Value:
    """A value of `CborReader` as an attribute value. Raises BadBytes."""
    kind = value.__class__
    if kind is str:
        return {"S": value}
    if kind is int or kind is CborNumber or kind is float:
        return {"N": number_text(value)}
    if kind is bytes:
        return {"B": b64encode(value).decode()}
    if kind is bool:
        return {"BOOL": value}
    if value is None:
        return {"NULL": True}
    if kind is list:
        return {"L": [attribute_value_of(one) for one in walk(value)]}
    if kind is dict:
        return {"M": attributes_of(value)}
    if kind is Tagged and value.tag in _SETS:
        name = _SETS[value.tag]
        return {name: [_member_of(name, one) for one in walk(value.value)]}
    raise BadBytes("no attribute value")


def attributes_of(values: dict[Any, Any]) -> Item:
    """A map of `CborReader` as attributes by name. Raises BadBytes."""
    attributes: Item = {}
    for name, value in walk(values.items()):
        if name.__class__ is not str:
            raise BadBytes("an attribute whose name is no text")
        attributes[name] = attribute_value_of(value)
    return attributes


def number_text(value: Any) -> str:
    """A number of `CborReader` as text, not canonical. Raises BadBytes for anything else."""
    kind = value.__class__
    if kind is CborNumber:
        mantissa, exponent = value
        return f"{mantissa}E{exponent}" if exponent else str(mantissa)
    if kind is int or kind is float:
        return str(value)
    raise BadBytes("a number was expected")


def _member_of(name: str, value: Any) -> str:
    kind = value.__class__
    if name == "NS":
        return number_text(value)
    if kind is (str if name == "SS" else bytes):
        return value if kind is str else b64encode(value).decode()
    raise BadBytes("a member of a set that has another type")


def write_attribute_value(out: bytearray, value: Value) -> None:
    """Append a canonical attribute value. Gives way."""
    ((kind, content),) = value.items()
    if kind == "S":
        write_text(out, content)
    elif kind == "N":
        write_number(out, content)
    elif kind == "B":
        write_bytes(out, b64decode(content))
    elif kind == "BOOL":
        out += TRUE if content else FALSE
    elif kind == "NULL":
        out += NULL
    elif kind == "M":
        out += head(MAP, len(content))
        for name, member in walk(content.items()):
            write_text(out, name)
            write_attribute_value(out, member)
    elif kind == "L":
        out += head(ARRAY, len(content))
        for element in walk(content):
            write_attribute_value(out, element)
    else:
        _write_set(out, kind, content)


def _write_set(out: bytearray, kind: str, members: list[str]) -> None:
    out += head(TAG, _SET_TAGS[kind]) + head(ARRAY, len(members))
    for member in walk(members):
        if kind == "SS":
            write_text(out, member)
        elif kind == "NS":
            write_number(out, member)
        else:
            write_bytes(out, b64decode(member))
