"""How are lines of Ion text read as items? The lines of one value are read together (`ion_texts.py`), by the package
`amazon.ion`, of the extra `ion`. It asks for their text little by little, and each time gives way. `ion_text.py` says
which types of Ion are which of DynamoDB.
"""

import base64
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

from hashrange.items.steps import PIECE_BYTES, look, spend, walk
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.messages.transfers import NOT_AN_ITEM
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.ion_digits import has_long_digits
from hashrange.transfers.formats.ion_text import SET_MARKS
from hashrange.transfers.formats.json_lines import NO_ITEM
from hashrange.transfers.formats.lines import ITEM_TEXT_MAX_BYTES, FaultyLine, RawItem, ReadItem
from hashrange.wire.body_members import require_utf8
from hashrange.wire.piecewise import LEFT_MEMBERS_MAX, empty

_READ_BYTES = 256
"""Bytes of a line that are read at once: in 1 ms where the package is pure Python. Where it is not, it reads 8 KB like
this and then decodes them, in up to 15 ms if they are symbols."""
_SHORT_BYTES = 1024
"""A line of at most this length is read at once."""
_VALUE_STEPS = 5
"""Steps of a value that is in no other."""
_COMMAS_MAX = ITEM_SIZE_MAX_BYTES
"""Commas of an item's line, at most: each stands in a text, or before a value, both of which have a size."""


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
    except (_NotOfDynamoDB, RecursionError, ValueError) as error:
        return FaultyLine(f"no attribute can have this value of Ion: {error}")


class IonLineReader:
    """Reads lines of Ion text. Needs the extra."""

    wants_first = False
    joins_lines = True

    def __init__(self, read_value: Callable[[Any], ReadItem] = _item_of) -> None:
        # Imported here, because few imports read Ion, and the package belongs to an extra.
        from amazon.ion import simpleion  # noqa: PLC0415 - see above
        from amazon.ion.exceptions import IonException  # noqa: PLC0415 - see above

        self._read_value = read_value
        self._load = simpleion.load
        self._value_model = simpleion.IonPyValueModel.MAY_BE_BARE | simpleion.IonPyValueModel.STRUCT_AS_STD_DICT
        self._failures = (IonException, ValueError, TypeError, ArithmeticError, EOFError, RecursionError)

    def read_together(self, lines: Sequence[bytes]) -> None:
        """Implements `LineReader.read_together`: there is no quicker way."""

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """Implements `LineReader.read`. 30 µs for a line of 400 bytes."""
        if len(line) > PIECE_BYTES and _is_too_long(line):
            yield FaultyLine(ITEM_TOO_LARGE)
            return
        if has_long_digits(line):
            yield FaultyLine(NOT_AN_ITEM)
            return
        try:
            require_utf8(line)
            for value in self._values_of(line):
                spend(_VALUE_STEPS)
                yield self._read_value(value)
                if len(line) > PIECE_BYTES:
                    _release(value)
        except self._failures as error:
            raise DamagedObject(f"a line is no Ion: {error}") from error

    def _values_of(self, line: bytes) -> Iterable[Any]:
        """The values of a line; of one that is not short, read one after the other."""
        is_short = len(line) <= _SHORT_BYTES
        values: Iterable[Any] = self._load(
            BytesIO(line) if is_short else _PiecewiseText(line),
            single_value=False,
            parse_eagerly=is_short,
            text_buffer_size_limit=max(len(line), _SHORT_BYTES),  # what it makes room for
            value_model=self._value_model,
        )
        return values


class _PiecewiseText(BytesIO):
    """A text that gives way before each of its pieces is read."""

    def read(self, size: int | None = -1) -> bytes:
        look()
        return super().read(_READ_BYTES if size is None or not 0 <= size < _READ_BYTES else size)


def _is_too_long(line: bytes) -> bool:
    """True if a line has more text or values than that of any item; gives way."""
    if len(line) > ITEM_TEXT_MAX_BYTES:
        return True
    commas = 0
    for start in range(0, len(line), PIECE_BYTES):
        spend(PIECE_BYTES >> 8)
        commas += line.count(b",", start, start + PIECE_BYTES)
    return commas > _COMMAS_MAX


def _release(value: Any) -> None:
    """Free the long lists and structs in a value that is used no more, piece by piece."""
    if isinstance(value, list | dict) and len(value) > LEFT_MEMBERS_MAX:
        empty(value)
    elif isinstance(value, list | dict):
        for member in walk(value.values() if isinstance(value, dict) else value):
            if isinstance(member, list | dict):
                _release(member)


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
    except (_NotOfDynamoDB, RecursionError, ValueError, AttributeError) as error:
        return FaultyLine(f"no attribute can have this value of Ion: {error}")
    return members


def _attributes(struct: Any) -> RawItem:
    members = struct.items() if isinstance(struct, dict) else list(struct.items())
    return {str(name): _wire_value(value) for name, value in walk(members)}


def _wire_value(value: Any) -> dict[str, Any]:
    """A value in wire form. Raises _NotOfDynamoDB."""
    kind = _type_name(value)
    if kind == "LIST":
        marks = [one.text for one in getattr(value, "ion_annotations", ())]
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
        name = type(value).__name__
        return _BARE_TYPES.get(name, name.upper())
    return "NULL" if type(value).__name__ == "IonPyNull" else str(kind.name)


_BARE_TYPES = {
    "str": "STRING",
    "int": "INT",
    "bytes": "BLOB",
    "dict": "STRUCT",
    "SymbolToken": "SYMBOL",
}
"""Python's names of types whose values amazon.ion returns bare, unless they are as in Ion → names in Ion."""
