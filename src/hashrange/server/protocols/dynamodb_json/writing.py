"""How does a reply, or an error, become JSON? Stored rows are inserted undecoded, and joined with the other JSON of the
reply by one call.

Commas stand in JSON only between siblings. So a reply is a list of texts, joined by commas: each text is the JSON of a
row, or other JSON, with the brackets and names that open before it, and the brackets that close behind it. Writing a
long reply gives way. Source for errors: errors.md sections 1 and 3.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from hashrange.errors import ApiError, InternalServerError, RequestFault
from hashrange.items.growing_bytes import GrowingBytes
from hashrange.items.number_set_order import hash_ordered_json
from hashrange.items.row_layout import RowJson, row_json, row_json_view, rows_json
from hashrange.items.steps import LARGE_PIECE_BYTES, PIECE_BYTES, batches, look, queue_large_reply, spend, walk
from hashrange.items.types import Row
from hashrange.messages.http import INTERNAL_ERROR, shown_message
from hashrange.operations.operation import Wording
from hashrange.operations.reply import HashOrderedRows, Items, Records, Reply, Rows, Structure
from hashrange.tables.stream_records import forms_of, record_json

Text = Any
"""Type of a text in a reply: bytes, or a memoryview of the JSON in a row."""

ROWS_AT_ONCE = 128
"""Most rows that are inserted at once, in some 20 µs; work may give way in between."""
VIEWED_BYTES = 4096
"""If the first row of a list is longer than this, the rows are joined from memoryviews instead of copies."""
JOINED_BYTES_MAX = 4 * 1024 * 1024
"""A reply with more bytes of rows is joined text by text: copying 32 MB in one call takes 20 to 60 ms."""
OPENED_MAX = 1024
SHORT_PAGE_BYTES = 16 * 1024
"""Bytes of rows in Items up to which `_short_page` makes the body: it copies the rows twice, cheap for few bytes."""

_encode = msgspec.json.Encoder().encode
_OPENED: dict[str, bytes] = {}
"""Cache: name of a reply's member → the name in JSON with a colon."""


def reply_json(reply: Reply | None) -> bytes:
    """Return the body of a reply; it is empty if `reply` is None. Takes 0.3 µs for one small row.

    Raises StorageError if a stored row is damaged.
    """
    if not reply:
        return b"" if reply is None else b"{}"
    item = reply.get("Item")
    if item.__class__ is bytes and len(reply) == 1:
        text = row_json(item)  # type: ignore[arg-type]  # mypy does not see the class
        if len(text) > LARGE_PIECE_BYTES:
            look()
        return b"".join((b'{"Item":', text, b"}"))
    rows = reply.get("Items")
    if (
        isinstance(rows, Rows)
        and len(rows) <= ROWS_AT_ONCE
        and sum(map(len, rows)) <= SHORT_PAGE_BYTES
        and next(iter(reply)) == "Items"
    ):
        body = _short_page(reply, rows)
        if body is not None:
            return body
    texts: list[Text] = []
    rows_bytes = _add_structure(texts, b"", reply, 0)
    return _join_large(texts, rows_bytes) if rows_bytes > LARGE_PIECE_BYTES else b",".join(texts)


def _short_page(reply: Reply, rows: Rows) -> bytes | None:
    """Return the body of a reply whose Items are these few short rows; None if another member may hold rows too.

    Takes 1 µs for one row. After replies with a single item, replies with few short rows are the most frequent.
    """
    is_plain = len(rows) == 1 and rows.__class__ is Rows
    text = row_json(rows[0]) if is_plain else b",".join(rows_json(rows, _json_of(rows)))
    if len(reply) == 1:
        return b"".join((b'{"Items":[', text, b"]}"))
    rest = reply.copy()
    del rest["Items"]
    if not _WITH_ROWS.keys().isdisjoint(map(type, rest.values())):
        return None
    return b"".join((b'{"Items":[', text, b"],", _encode(rest)[1:]))


def _add(texts: list[Text], before: bytes, value: Any, rows_bytes: int) -> int:
    """Append `before` and `value` in JSON to `texts`. Returns `rows_bytes` plus the JSON bytes of rows in `value`."""
    add = _WITH_ROWS.get(value.__class__)
    if add is not None:
        return add(texts, before, value, rows_bytes)
    texts.append(before + _encode(value))
    return rows_bytes


def _add_row(texts: list[Text], before: bytes, row: Row, rows_bytes: int) -> int:
    text = row_json(row)
    grown_bytes = rows_bytes + len(text)
    queue_large_reply(rows_bytes, grown_bytes)
    texts.append(before + text)
    return grown_bytes


def _add_structure(texts: list[Text], before: bytes, members: dict[str, Any], rows_bytes: int) -> int:
    before += b"{"
    if not members:
        texts.append(before + b"}")
        return rows_bytes
    plain: dict[str, Any] = {}
    for name, value in members.items():
        add = _WITH_ROWS.get(value.__class__)
        if add is None:
            plain[name] = value
            continue
        if plain:
            texts.append(before + _encode(plain)[1:-1])
            plain, before = {}, b""
        rows_bytes = add(texts, before + (_OPENED.get(name) or _open(name)), value, rows_bytes)
        before = b""
    if plain:
        texts.append(before + _encode(plain)[1:])
    else:
        texts[-1] += b"}"
    return rows_bytes


def _add_items(texts: list[Text], before: bytes, items: Items, rows_bytes: int) -> int:
    before += b"["
    if not items:
        texts.append(before + b"]")
        return rows_bytes
    for one in walk(items):
        if one.__class__ is Structure and len(one) == 1 and (row := one.get("Item")).__class__ is bytes:
            text = row_json(row)  # type: ignore[arg-type]  # mypy does not see the class
            queue_large_reply(rows_bytes, rows_bytes + len(text))
            rows_bytes += len(text)
            texts.append(b"".join((before, b'{"Item":', text, b"}")))
        else:
            rows_bytes = _add(texts, before, one, rows_bytes)
        before = b""
    texts[-1] += b"]"
    return rows_bytes


def _add_rows(texts: list[Text], before: bytes, rows: Rows, rows_bytes: int) -> int:
    if not rows:
        texts.append(before + b"[]")
        return rows_bytes
    start, json_of = len(texts), _json_of(rows)
    for some_rows in (rows,) if len(rows) <= ROWS_AT_ONCE else batches(rows, ROWS_AT_ONCE):
        if len(rows[0]) <= VIEWED_BYTES:
            some: Sequence[Text] = rows_json(some_rows, json_of)
        else:
            some = [row_json_view(row, json_of) for row in some_rows]
        some_bytes = sum(map(len, some))
        if some_bytes > PIECE_BYTES:
            spend(some_bytes >> 12)
            queue_large_reply(rows_bytes, rows_bytes + some_bytes)
        rows_bytes += some_bytes
        texts += some
    texts[start] = b"%b[%b" % (before, texts[start])
    texts[-1] = b"%b]" % texts[-1]
    return rows_bytes


def _json_of(rows: Rows) -> RowJson:
    """The function that gives the JSON of those rows that need more than a cut."""
    return hash_ordered_json if rows.__class__ is HashOrderedRows else row_json


def _add_records(texts: list[Text], before: bytes, records: Records, rows_bytes: int) -> int:
    """Append stream records as `_add` does. Takes some 3.5 µs for a record of 1 KB."""
    if not records:
        texts.append(before + b"[]")
        return rows_bytes
    forms = forms_of(records.stream)
    start = len(texts)
    for sequence, record in records:
        spend(5 + (len(record) >> 10))
        text = record_json(forms, sequence, record)
        queue_large_reply(rows_bytes, rows_bytes + len(text))
        rows_bytes += len(text)
        texts.append(text)
    texts[start] = b"%b[%b" % (before, texts[start])
    texts[-1] += b"]"
    return rows_bytes


_WITH_ROWS: dict[type, Callable[[list[Text], bytes, Any, int], int]] = {
    bytes: _add_row,
    Rows: _add_rows,
    HashOrderedRows: _add_rows,
    Items: _add_items,
    Structure: _add_structure,
    Records: _add_records,
}
"""Class of a value that may hold rows → the function that appends it for `_add`."""


def _join_large(texts: list[Text], rows_bytes: int) -> bytes:
    """Join `texts` with commas; may give way before, and between the texts of a long reply."""
    look()
    if rows_bytes <= JOINED_BYTES_MAX:
        return b",".join(texts)
    body = GrowingBytes()
    texts.reverse()
    while texts:
        body.write(texts.pop())
        body.write(b"," if texts else b"")
        look()
    return body.getvalue()


def _open(name: str) -> bytes:
    """Return a member's name in JSON with a colon, and keep it in `_OPENED` for later replies."""
    if len(_OPENED) >= OPENED_MAX:
        _OPENED.clear()
    opened = _OPENED[name] = _encode(name) + b":"
    return opened


# --- errors -------------------------------------------------------------------------------------


ENVELOPE = "1 validation error detected: "
"""The envelope: prefix of a RequestFault's message if the `wording` is "enveloped" and the fault not `is_always_bare`
(errors.md 3)."""


def error_body(error: ApiError, wording: Wording = "bare") -> bytes:
    """Return the body of an error's reply: `__type`, the message as `error.message_member`, then `error.members`.

    `wording` says which message of a RequestFault is taken, and whether `ENVELOPE` precedes it.
    A very long message is cut.
    """
    message = error_message(error, wording)
    body: dict[str, object] = {"__type": error.wire_type}
    if message is not None:
        body[error.message_member] = message
    body.update(error.members)
    return reply_json(body)


def error_message(error: ApiError, wording: Wording) -> str | None:
    """The message of an error's reply; see `error_body`."""
    message = error.message
    if isinstance(error, RequestFault):
        if wording == "older":
            message = error.older_message
        elif wording == "enveloped" and not error.is_always_bare:
            message = f"{ENVELOPE}{message}"
    return None if message is None else shown_message(message)


INTERNAL_ERROR_BODY = error_body(InternalServerError(INTERNAL_ERROR))
