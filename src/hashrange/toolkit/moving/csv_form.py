"""How do items become CSV, whose columns are known only when all items are? They are kept as lines of DynamoDB JSON
first, and read twice: for the names, and for the cells.

Types are lost: a cell has the text of a string or number, `true` or `false`, base64 of binary values, and plain JSON of
sets, lists and maps. It is empty for null, and if the item has no such attribute.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Any

import msgspec

from hashrange.toolkit.plain_items import plain_value

ROWS_TOGETHER = 1000


class NamedMembers(msgspec.Struct, rename="pascal", gc=False):
    """A line whose values stay JSON."""

    item: dict[str, msgspec.Raw]


class TypedLine(msgspec.Struct, rename="pascal", gc=False):
    """A line."""

    item: dict[str, dict[str, Any]]


_decode_names = msgspec.json.Decoder(NamedMembers).decode
_decode_line = msgspec.json.Decoder(TypedLine).decode


def columns_of_lines(lines: Iterable[bytes], key_names: Sequence[str]) -> list[str]:
    """The names of all attributes, those of the key first."""
    names = set[str]()
    for line in lines:
        names.update(_decode_names(line).item)
    keys = [name for name in key_names if name in names]
    return keys + sorted(names.difference(keys))


def csv_chunks(lines: Iterable[bytes], columns: Sequence[str]) -> Iterator[bytes]:
    """Yield the text of a CSV file, with its header, for lines of DynamoDB JSON."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for number, line in enumerate(lines, 1):
        item = _decode_line(line).item
        writer.writerow([_cell(item[name]) if name in item else "" for name in columns])
        if number % ROWS_TOGETHER == 0:
            yield _taken(text)
    yield _taken(text)


def _taken(text: StringIO) -> bytes:
    written = text.getvalue().encode()
    text.seek(0)
    text.truncate()
    return written


def _cell(value: dict[str, Any]) -> str:
    ((kind, content),) = value.items()
    if kind in {"S", "N", "B"}:
        return str(content)
    if kind == "BOOL":
        return "true" if content else "false"
    return "" if kind == "NULL" else msgspec.json.encode(plain_value(value)).decode()
