"""What does an operation tell? The members of its output, in which a stored row may stand for an item; protocols write it.

A value of a reply is plain (text, number, truth value, list or dict of these, decoded items among them) or one of five that hold
rows. `bytes` are always a row: blobs of items are base64 text, as the API has them.

    Row         an item as it is stored
    Rows        a list of rows
    Items       a list of rows, decoded items and Structures
    Structure   a dict whose values may hold rows; the reply itself is one too, and need not be of this class
    Records     a list of stored stream records, whose images are rows

A plain list or dict holds no row at any depth, so a protocol hands it to its encoder as it is.
"""

from collections.abc import Iterable
from typing import Any

from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Row
from hashrange.tables.stream_records import record_values
from hashrange.tables.streams import Sequence, Stream

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


class Records(list[tuple[Sequence, bytes]]):
    """A list inside a reply of records of one stream: sequence number and record of each."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream, records: Iterable[tuple[Sequence, bytes]]) -> None:
        super().__init__(records)
        self.stream = stream


def plain_values(value: Any) -> Any:
    """A reply, or what stands in one, with every row decoded. Raises StorageFormatUnknown, StorageCorruption."""
    match value:
        case bytes():
            return decode_row(Row(value))
        case Items() | Rows():
            return [plain_values(one) for one in value]
        case Records():
            return [record_values(value.stream, sequence, record) for sequence, record in value]
        case Structure():
            return {name: plain_values(one) for name, one in value.items()}
        case _:
            return value
