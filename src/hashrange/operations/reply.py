"""What does an operation return? The members of its output, in which a stored row may stand for an item;
protocols encode them.

A value of a reply is plain (text, number, boolean, list or dict of these, including decoded items) or one of these
kinds that hold rows. `bytes` are always a row: blobs of items are base64 text, as in the API.

    Row         an item as it is stored, or a part of one in the same form
    Rows        a list of rows; HashOrderedRows, with number sets in another order
    Items       a list of rows, decoded items and Structures
    Structure   a dict whose values may hold rows; the reply itself may hold rows too, although it is a plain dict
    Records     a list of stored stream records, whose images are rows

A plain list or dict inside a reply holds no row at any depth, so a protocol passes it to its encoder unchanged.
"""

from collections.abc import Iterable
from typing import Any

from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Row
from hashrange.tables.stream_records import forms_of, record_values
from hashrange.tables.streams import Sequence, Stream

Reply = dict[str, Any]
"""Member of the API's output → its value. A returned reply is never modified. An operation without output (TagResource)
returns None instead."""


class Structure(dict[str, Any]):
    """A structure inside a reply that may hold rows."""

    __slots__ = ()


class Rows(list[Row]):
    """A list inside a reply that holds only rows."""

    __slots__ = ()


class HashOrderedRows(Rows):
    """Rows whose number sets the reply lists in hash order (`items/number_set_order.py`)."""

    __slots__ = ()


class Items(list[Row | Item | Structure]):
    """A list inside a reply that may hold rows, decoded items and Structures."""

    __slots__ = ()


class Records(list[tuple[Sequence, bytes]]):
    """A list inside a reply that holds (sequence number, stored record) pairs of one stream."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream, records: Iterable[tuple[Sequence, bytes]]) -> None:
        super().__init__(records)
        self.stream = stream


def plain_values(value: Any) -> Any:
    """A value of a reply with every row in it decoded. Pass a whole reply as a Structure: plain dicts are not searched.

    Raises StorageFormatUnknown or StorageCorruption for an unreadable row.
    """
    match value:
        case bytes():
            return decode_row(Row(value))
        case HashOrderedRows():
            return [decode_row(hash_ordered_row(row)) for row in value]
        case Items() | Rows():
            return [plain_values(one) for one in value]
        case Records():
            forms = forms_of(value.stream)
            return [record_values(forms, sequence, record) for sequence, record in value]
        case Structure():
            return {name: plain_values(one) for name, one in value.items()}
        case _:
            return value
