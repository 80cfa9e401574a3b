"""What does an operation tell? The members of its output, in which a stored row may stand for an item; protocols write it.

A value of a reply is plain (text, number, truth value, list or dict of these, decoded items among them) or one of four that hold
rows. `bytes` are always a row: blobs of items are base64 text, as the API has them.

    Row         an item as it is stored
    Rows        a list of rows
    Items       a list of rows, decoded items and Structures
    Structure   a dict whose values may hold rows; the reply itself is one too, and need not be of this class

A plain list or dict holds no row at any depth, so a protocol hands it to its encoder as it is.
"""

from typing import Any

from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Row

Reply = dict[str, Any]
"""Member of the API's output → its value. What an operation has returned is not changed by anybody. An operation that has no output (TagResource)
returns None instead."""


class Structure(dict[str, Any]):
    """A structure inside a reply that may hold rows."""

    __slots__ = ()


class Rows(list[Row]):
    """A list inside a reply of nothing but rows."""

    __slots__ = ()


class Items(list[Row | Item | Structure]):
    """A list inside a reply that may hold rows among decoded items and Structures."""

    __slots__ = ()


def plain_values(value: Any) -> Any:
    """A reply, or what stands in one, with every row decoded. Raises StorageFormatUnknown, StorageCorruption."""
    match value:
        case bytes():
            return decode_row(Row(value))
        case Items() | Rows():
            return [plain_values(one) for one in value]
        case Structure():
            return {name: plain_values(one) for name, one in value.items()}
        case _:
            return value
