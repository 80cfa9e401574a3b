"""How are items written and read as Ion text? A line `$ion_1_0 {Item:{id:"1",…}}` for each.

    S string    N decimal    B blob    BOOL bool    NULL null    L list    M struct
    SS, NS, BS  list with the annotation $dynamodb_SS, $dynamodb_NS, $dynamodb_BS

Lines are written here; they are read by the package `amazon.ion`, of the extra `ion`.
Source: global-tables-backup.md 3.3; a number that is whole is written `1.`, as a decimal of Ion.
"""

import base64
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import msgspec

from hashrange.items.rows import decode_row
from hashrange.items.steps import spend, spend_decoding, walk
from hashrange.items.types import Item, Row, Value
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.json_lines import NO_ITEM
from hashrange.transfers.formats.lines import FaultyLine, RawItem, ReadItem

VERSION_MARK = "$ion_1_0 "
SET_MARKS = {"SS": "$dynamodb_SS", "NS": "$dynamodb_NS", "BS": "$dynamodb_BS"}
_STEP_BYTES = 16
"""Bytes of a line that count as one step when it is read."""

# --- writing ----------------------------------------------------------------------------------------

_is_identifier = re.compile(r"(?!(?:true|false|null|nan)$)(?:[A-Za-z_]|\$(?![0-9]))[A-Za-z0-9_$]*").fullmatch
"""Matches names that need no quotation marks. `$1` would be the number of a symbol."""
_encode_text = msgspec.json.Encoder().encode


def ion_lines(rows: Iterable[Row]) -> bytes:
    """The lines of rows. 15 µs for an item of ten attributes."""
    return b"".join([f"{VERSION_MARK}{{Item:{ion_struct(decode_row(row))}}}\n".encode() for row in rows])


def ion_struct(item: Item) -> str:
    """An item as a struct."""
    members = [f"{_symbol(name)}:{_ion_value(value)}" for name, value in walk(item.items())]
    return "{" + ",".join(members) + "}"


def _ion_value(value: Value) -> str:
    ((kind, content),) = value.items()
    if kind in SET_MARKS:
        write = _SCALARS[kind[0]]
        return f"{SET_MARKS[kind]}::[" + ",".join([write(one) for one in walk(content)]) + "]"
    if kind == "L":
        return "[" + ",".join([_ion_value(one) for one in walk(content)]) + "]"
    if kind == "M":
        return ion_struct(content)
    if kind == "BOOL":
        return "true" if content else "false"
    return "null" if kind == "NULL" else _SCALARS[kind](content)


def _symbol(name: str) -> str:
    if _is_identifier(name):
        return name
    text = _string(name)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{text}'"


def _string(text: str) -> str:
    """A text in quotation marks; what JSON escapes, Ion reads alike."""
    return _encode_text(text).decode()


def _decimal(text: str) -> str:
    return text if "." in text else f"{text}."


def _blob(text: str) -> str:
    return f"{{{{{text}}}}}"


_SCALARS: dict[str, Callable[[str], str]] = {"S": _string, "N": _decimal, "B": _blob}

# --- reading ----------------------------------------------------------------------------------------


class _NotOfDynamoDB(Exception):
    """A value of Ion that no attribute can have; the text is its type."""


def _item_of(value: Any) -> ReadItem:
    if _type_name(value) != "STRUCT":
        return FaultyLine(NO_ITEM)
    item = value.get("Item")
    if item is None or _type_name(item) != "STRUCT":
        return FaultyLine(NO_ITEM)
    try:
        return _attributes(item)
    except (_NotOfDynamoDB, RecursionError) as error:
        return FaultyLine(f"no attribute can have this value of Ion: {error}")


class IonLineReader:
    """Reads lines of Ion text. Needs the extra."""

    wants_first = False

    def __init__(self, read_value: Callable[[Any], ReadItem] = _item_of) -> None:
        # Imported here, because few imports read Ion, and the package belongs to an extra.
        from amazon.ion import simpleion  # noqa: PLC0415 - see above
        from amazon.ion.exceptions import IonException  # noqa: PLC0415 - see above

        self._read_value = read_value
        self._load = simpleion.loads
        self._failures = (IonException, ValueError, TypeError, ArithmeticError, EOFError, RecursionError)

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """Implements `LineReader.read`. 100 µs for a line of 400 bytes."""
        spend_decoding(len(line))
        spend(len(line) // _STEP_BYTES)
        try:
            values = list(self._load(line.decode(), single_value=False))
        except self._failures as error:
            raise DamagedObject(f"a line is no Ion: {error}") from error
        return list(map(self._read_value, values))


def plain_members(value: Any) -> dict[str, Any] | FaultyLine:
    """The members of a record beside an item (`transfers/bulk_lines.py`): texts, names and values in wire form."""
    if _type_name(value) != "STRUCT":
        return FaultyLine(NO_ITEM)
    members: dict[str, Any] = {}
    try:
        for name, member in value.items():
            if name in ("Item", "ExpressionAttributeValues"):
                members[name] = _attributes(member) if _type_name(member) == "STRUCT" else None
            elif name == "ExpressionAttributeNames":
                members[name] = {str(token): str(one) for token, one in member.items()}
            elif name == "ConditionExpression":
                members[name] = str(member)
    except (_NotOfDynamoDB, RecursionError, AttributeError) as error:
        return FaultyLine(f"no attribute can have this value of Ion: {error}")
    return members


def _attributes(struct: Any) -> RawItem:
    return {str(name): _wire_value(value) for name, value in walk(list(struct.items()))}


def _wire_value(value: Any) -> dict[str, Any]:
    """A value in wire form. Raises _NotOfDynamoDB."""
    kind = _type_name(value)
    if kind == "LIST":
        marks = [one.text for one in value.ion_annotations]
        for set_kind, mark in SET_MARKS.items():
            if mark in marks:
                return {set_kind: [_scalar(one, set_kind[0]) for one in walk(value)]}
        return {"L": [_wire_value(one) for one in walk(value)]}
    if kind == "STRUCT":
        return {"M": _attributes(value)}
    if kind == "BOOL":
        return {"BOOL": bool(value)}
    if kind == "NULL":
        return {"NULL": True}
    for scalar_kind, types in _SCALAR_TYPES.items():
        if kind in types:
            return {scalar_kind: _scalar(value, scalar_kind)}
    raise _NotOfDynamoDB(kind.lower())


_SCALAR_TYPES = {"S": ("STRING", "SYMBOL"), "N": ("DECIMAL", "INT"), "B": ("BLOB", "CLOB")}


def _scalar(value: Any, scalar_kind: str) -> str:
    """The text of a scalar in wire form. Raises _NotOfDynamoDB for another type."""
    kind = _type_name(value)
    if kind not in _SCALAR_TYPES[scalar_kind]:
        raise _NotOfDynamoDB(kind.lower())
    if scalar_kind == "B":
        return base64.b64encode(bytes(value)).decode()
    if scalar_kind == "N":
        return str(Decimal(value)) if kind == "DECIMAL" else str(int(value))
    return str(value.text if kind == "SYMBOL" else value)


def _type_name(value: Any) -> str:
    """The name of the value's type in Ion; NULL for each null."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "BOOL"
    kind = getattr(value, "ion_type", None)
    if kind is None:
        return _PYTHON_TYPES.get(type(value), type(value).__name__.upper())
    return "NULL" if type(value).__name__ == "IonPyNull" else str(kind.name)


_PYTHON_TYPES = {str: "STRING", int: "INT", float: "FLOAT", bytes: "BLOB", list: "LIST", dict: "STRUCT"}
"""Types of values that amazon.ion returns bare."""
