"""Which records does a file hold? Items in one of the forms of item_forms.py, or the lines of a table's export.

Records are numbered from 1, by lines where the form has a line for each.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from io import TextIOWrapper
from typing import Any, BinaryIO, NamedTuple

import msgspec

from hashrange.toolkit.moving.compressed import damage_errors, open_unpacked
from hashrange.toolkit.moving.item_forms import FormName
from hashrange.toolkit.moving.json_array import NoArray, array_values
from hashrange.toolkit.moving.keys import BadRecord
from hashrange.toolkit.plain_items import PlainValueWrong, typed_item, typed_value

EXPORT_MEMBERS = {"Metadata", "Keys"}
"""Members of each line of an incremental export."""
NO_BYTES = b""
CELL_CHARACTERS_MAX = 8 * 1024 * 1024
"""More than an item of 400 KB takes."""

_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_plain = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode
_encode = msgspec.json.encode


class FileRecord(NamedTuple):
    """A record of a file."""

    number: int
    item: bytes = NO_BYTES
    """The item to put, in DynamoDB JSON, or the key of the one to delete."""
    is_deletion: bool = False
    fault: str = ""
    """Why the record cannot be loaded; empty: it can."""


def read_records(path: str, form: FormName, kinds: Mapping[str, str]) -> Iterator[FileRecord]:
    """Yield the records of a file, `-` for standard input. Raises UsageFault, and OSError if it cannot be opened.

    A file that is damaged ends with a record whose fault says so. `kinds`: of the columns of CSV.
    """
    number = 0
    damages: tuple[type[BaseException], ...] = (*damage_errors(path), NoArray, csv.Error)
    with open_unpacked(path) as opened:
        records = _reader(opened, form, kinds)
        try:
            for record in records:
                number = record.number
                yield record
        except damages as error:
            reason = " ".join(str(error).split()).rstrip(".")
            yield FileRecord(number + 1, fault=f"the file cannot be read from here on: {reason}.")


def _reader(opened: BinaryIO, form: FormName, kinds: Mapping[str, str]) -> Iterator[FileRecord]:
    if form == "csv":
        return _csv_records(opened, kinds)
    if form == "json":
        begin = _first_bytes(opened)
        if begin.lstrip()[:1] == b"[":
            return _array_records(opened, begin)
        return _line_records(opened, begin, _line_item)
    return _line_records(opened, NO_BYTES, _typed_line_item if form == "dynamodb-json" else _line_item)


def _first_bytes(opened: BinaryIO) -> bytes:
    """The file's begin, with its first byte that is no blank."""
    begin = b""
    while not begin.strip() and (more := opened.read(1)):
        begin += more
    return begin


def _line_records(opened: BinaryIO, begin: bytes, read: Callable[[bytes], FileRecord]) -> Iterator[FileRecord]:
    number = begin.count(b"\n")
    begin = begin.lstrip()
    for line in opened:
        number += 1
        whole = begin + line
        begin = b""
        if whole.isspace():
            continue
        try:
            yield read(whole)._replace(number=number)
        except (BadRecord, PlainValueWrong) as wrong:
            yield FileRecord(number, fault=str(wrong))
        except msgspec.DecodeError as error:
            yield FileRecord(number, fault=f"it is no JSON object: {error}.")


def _line_item(line: bytes) -> FileRecord:
    """A line of any kind: plain JSON, or of an export."""
    members = _decode_members(line)
    if members.keys() == {"Item"} and bytes(members["Item"]).lstrip().startswith(b"{"):
        return FileRecord(0, bytes(members["Item"]))
    if members.keys() >= EXPORT_MEMBERS:
        return _change(members)
    return FileRecord(0, _encode(typed_item(_decode_plain(line))))


def _typed_line_item(line: bytes) -> FileRecord:
    """A line of DynamoDB JSON: of an export, or an item alone."""
    members = _decode_members(line)
    if members.keys() == {"Item"}:
        return FileRecord(0, bytes(members["Item"]))
    return _change(members) if members.keys() >= EXPORT_MEMBERS else FileRecord(0, line.strip())


def _change(members: Mapping[str, msgspec.Raw]) -> FileRecord:
    """A line of an incremental export: without a new image, the item was deleted."""
    if "NewImage" in members:
        return FileRecord(0, bytes(members["NewImage"]))
    return FileRecord(0, bytes(members["Keys"]), is_deletion=True)


def _array_records(opened: BinaryIO, begin: bytes) -> Iterator[FileRecord]:
    for number, value in enumerate(array_values(opened, begin), 1):
        yield _record(number, partial(_array_item, value))


def _record(number: int, make: Callable[[], Mapping[str, Any]]) -> FileRecord:
    """The record of an item that is made."""
    try:
        return FileRecord(number, _encode(make()))
    except (BadRecord, PlainValueWrong) as wrong:
        return FileRecord(number, fault=str(wrong))
    except UnicodeEncodeError:
        return FileRecord(number, fault="it has text that is no UTF-8.")


def _array_item(value: Any) -> dict[str, Any]:
    """A member of an array: plain JSON, or an item in an object with the only member Item."""
    if not isinstance(value, dict):
        raise BadRecord("it is no object.")
    if value.keys() == {"Item"} and isinstance(value["Item"], dict):
        item: dict[str, Any] = value["Item"]
        return item
    return typed_item(value)


def _csv_records(opened: BinaryIO, kinds: Mapping[str, str]) -> Iterator[FileRecord]:
    csv.field_size_limit(CELL_CHARACTERS_MAX)
    with TextIOWrapper(opened, encoding="utf-8-sig", errors="surrogateescape", newline="") as reading:
        rows = csv.reader(reading)
        columns = next(rows, [])
        next_line = rows.line_num + 1
        for cells in rows:
            number, next_line = next_line, rows.line_num + 1
            if cells:
                yield _record(number, partial(_row_item, columns, cells, kinds))


def _row_item(columns: Sequence[str], cells: Sequence[str], kinds: Mapping[str, str]) -> dict[str, Any]:
    """The item of a row. An empty cell is no attribute. Raises BadRecord, PlainValueWrong."""
    if len(cells) > len(columns):
        raise BadRecord(f"it has {len(cells)} cells, and the header names {len(columns)} columns.")
    return {name: _typed(cell, kinds.get(name, "S"), name) for name, cell in zip(columns, cells, strict=False) if cell}


def _typed(cell: str, kind: str, name: str) -> dict[str, Any]:
    """The value of a cell."""
    if kind in {"S", "N", "B"}:
        return {kind: cell}
    if kind == "BOOL" and cell in {"true", "false"}:
        return {"BOOL": cell == "true"}
    if kind == "JSON":
        try:
            return typed_value(json.loads(cell, parse_float=Decimal))
        except ValueError:
            raise BadRecord(f"its cell {name} is no JSON.") from None
    raise BadRecord(f"its cell {name} is {cell}, which is no {kind}.")
