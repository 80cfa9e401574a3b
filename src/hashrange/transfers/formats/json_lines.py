"""How are items written and read as DynamoDB JSON? A line `{"Item":{"id":{"S":"1"},…}}` for each.

A row of the store holds its item's JSON, which becomes part of the line unread. Items that follow one another on one
line are all read; a line that is no JSON ends its object (backups-observed.md 1).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from hashrange.items.row_layout import rows_json
from hashrange.items.steps import PIECE_BYTES, spend, spend_decoding
from hashrange.items.types import Row
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.messages.transfers import NOT_AN_ITEM, TOO_MANY_MEMBERS
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.json_texts import BYTE_ORDER_MARK, end_of_value, next_value, short_values
from hashrange.transfers.formats.lines import ITEM_TEXT_MAX_BYTES, FaultyLine, ReadItem
from hashrange.wire.body_members import excess_of_members, has_long_numbers
from hashrange.wire.piecewise import decode_in_pieces, free

NO_ITEM = "it has no Item"
_BETWEEN = b'}\n{"Item":'
_STEP_BYTES = 64
"""Bytes of a line that count as one step when Python's own decoder reads it."""


class ItemLine(msgspec.Struct, gc=False):
    """A line of one item."""

    Item: dict[str, dict[str, Any]]


_NOTHING: Any = object()
_NO_JSON = (msgspec.MsgspecError, ValueError, RecursionError)
_decode = msgspec.json.Decoder(ItemLine).decode
_scan = json.JSONDecoder().raw_decode
_skip = json.decoder.WHITESPACE.match  # type: ignore[attr-defined]  # the decoder's own pattern


def item_lines(rows: Iterable[Row]) -> bytes:
    """The lines of rows. 0.2 µs a row; a packed row is unpacked, which gives way."""
    texts = rows_json(rows)
    return b'{"Item":' + _BETWEEN.join(texts) + b"}\n" if texts else b""


def _decode_item(line: bytes) -> ReadItem:
    return _decode(line).Item


def _item_of(value: Any) -> ReadItem:
    item = value.get("Item") if isinstance(value, dict) else None
    return item if isinstance(item, dict) else FaultyLine(NO_ITEM)


class JsonLineReader:
    """Reads lines of DynamoDB JSON."""

    wants_first = False
    joins_lines = False

    def __init__(
        self,
        decode: Callable[[bytes], ReadItem] = _decode_item,
        read_value: Callable[[Any], ReadItem] = _item_of,
    ) -> None:
        """`decode`: reads a short line of one item, and may raise MsgspecError; `read_value`: reads an item of each
        value of any other line, and gives way if the value is large.
        """
        self._decode_line, self._read_value = decode, read_value

    def read_together(self, lines: Sequence[bytes]) -> Sequence[ReadItem] | None:
        """Implements `LineReader.read_together`. 2 µs for a line of 400 bytes."""
        size_bytes = sum(map(len, lines))
        if size_bytes >= PIECE_BYTES:
            return None
        spend_decoding(size_bytes)
        decode = self._decode_line
        try:
            return [decode(line) for line in lines]
        except _NO_JSON:
            return None

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """Implements `LineReader.read`."""
        return self._read_short(line) if len(line) <= PIECE_BYTES else self._read_long(line)

    def _read_short(self, line: bytes) -> Iterable[ReadItem]:
        spend_decoding(len(line))
        try:
            return (self._decode_line(line),)
        except _NO_JSON:
            return map(self._read_value, _values_of_line(line))

    def _read_long(self, line: bytes) -> Iterator[ReadItem]:
        """Yield the items of a line in which no single call may decode much; gives way."""
        if _refusal_of(line) is None:
            value = _NOTHING
            with suppress(*_NO_JSON):  # it may be several values
                value = decode_in_pieces(line, msgspec.json.decode)
            if value is not _NOTHING:
                yield self._read_decoded(value)
                return
        place = len(BYTE_ORDER_MARK) if line.startswith(BYTE_ORDER_MARK) else 0
        while (place := next_value(line, place)) < len(line):
            begin = place
            for value, place in short_values(line, begin):  # noqa: B007 - used behind the loop
                yield self._read_value(value)
            if place == begin:
                place = end_of_value(line, begin)
                yield from self._read_large(line[begin:place])

    def _read_large(self, text: bytes) -> Iterable[ReadItem]:
        """The item of one value, whose text is probably long. Raises DamagedObject."""
        if len(text) <= PIECE_BYTES:
            return self._read_short(text)
        refusal = _refusal_of(text) if text.startswith(b"{") else NO_ITEM
        return (self._read_decoded(_value_of(text)) if refusal is None else FaultyLine(refusal),)

    def _read_decoded(self, value: Any) -> ReadItem:
        """The item of a large value, which is freed if it has none."""
        read = self._read_value(value)
        if isinstance(read, FaultyLine) and isinstance(value, list | dict):
            free(value)
        return read


def _refusal_of(text: bytes) -> str | None:
    """Why a text is longer, or has more or longer members, than that of any item; None if it has not. Gives way."""
    if len(text) > ITEM_TEXT_MAX_BYTES:
        return ITEM_TOO_LARGE
    if excess_of_members(text) is not None:
        return TOO_MANY_MEMBERS
    return NOT_AN_ITEM if has_long_numbers(text) else None


def _value_of(text: bytes) -> Any:
    """The value of a long text; gives way. Raises DamagedObject."""
    try:
        return decode_in_pieces(text, msgspec.json.decode)
    except _NO_JSON as error:
        raise DamagedObject(f"a line is no JSON: {error}") from error


def _values_of_line(line: bytes) -> Iterator[Any]:
    """Yield the values of a short line. Raises DamagedObject behind the last one that can be read."""
    spend(len(line) // _STEP_BYTES)
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedObject(f"a line is no UTF-8: {error}") from error
    place = _skip(text, 0).end()
    while place < len(text):
        try:
            value, place = _scan(text, place)
        except (ValueError, RecursionError) as error:
            raise DamagedObject(f"a line is no JSON: {error}") from error
        yield value
        place = _skip(text, place).end()
