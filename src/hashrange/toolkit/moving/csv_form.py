"""How do items become CSV, whose columns are known only when all items are? They are kept as lines of DynamoDB JSON
first, and read twice: for the names, and for the cells.

Types are lost: a cell has the text of a string or number, `true` or `false`, base64 of binary values, and plain JSON of
sets, lists and maps. It is empty for null, and if the item has no such attribute.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from hashrange.toolkit.plain_items import plain_value

ROWS_TOGETHER = 1000
QUOTE = '"'
_needs_quotes = re.compile(r'[",\r\n]').search


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
    rows = [_row(columns)]
    for line in lines:
        item = _decode_line(line).item
        rows.append(_row([_cell(item[name]) if name in item else "" for name in columns]))
        if len(rows) == ROWS_TOGETHER:
            yield "".join(rows).encode()
            rows.clear()
    yield "".join(rows).encode()


def _row(cells: Sequence[str]) -> str:
    """A line of RFC 4180, with a line feed at its end."""
    if len(cells) == 1 and not cells[0]:
        return '""\n'  # an empty line would be no row
    quoted = [f'"{cell.replace(QUOTE, QUOTE * 2)}"' if _needs_quotes(cell) else cell for cell in cells]
    return ",".join(quoted) + "\n"


def _cell(value: dict[str, Any]) -> str:
    ((kind, content),) = value.items()
    if kind in {"S", "N", "B"}:
        return str(content)
    if kind == "BOOL":
        return "true" if content else "false"
    return "" if kind == "NULL" else msgspec.json.encode(plain_value(value)).decode()
