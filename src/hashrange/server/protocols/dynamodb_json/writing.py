"""How does a reply become JSON? Stored rows are spliced unread, and joined with everything else in one copy.

Commas stand in JSON between siblings and nowhere else. So a reply is a list of texts, joined by commas: each text is a leaf with
the brackets and names that open before it, and the brackets that close behind it. A long reply gives way while it is written.
"""

from typing import Any

import msgspec

from hashrange.items.row_layout import row_json, rows_json
from hashrange.operations.reply import Items, Reply, Rows, Structure
from hashrange.steps import LARGE_BYTES, PIECE_BYTES, grow_reply, look, spend, together

ROWS_AT_ONCE = 128
"""Rows spliced between two looks at the clock: some 20 µs."""
TEXTS_FREED_AT_ONCE = 64
OPENED_MAX = 1024

_encode = msgspec.json.Encoder().encode
_OPENED: dict[str, bytes] = {}
"""Name of a member → its JSON and the colon behind it."""


def reply_json(reply: Reply | None) -> bytes:
    """The body of a reply; empty for an operation without output. 0.3 µs for one small row."""
    if reply is None:
        return b""
    if len(reply) == 1 and reply.get("Item").__class__ is bytes:
        return b'{"Item":' + row_json(reply["Item"]) + b"}"
    if not reply:
        return b"{}"
    texts: list[bytes] = []
    rows_bytes = _add_structure(texts, b"", reply, 0)
    if rows_bytes > LARGE_BYTES:
        return _join_large(texts)
    return b",".join(texts)


def _add(texts: list[bytes], before: bytes, value: Any, rows_bytes: int) -> int:
    """Any value of a reply, behind what opens before it. `rows_bytes` have been written before, and are returned with those that are now."""
    kind = value.__class__
    if kind is Rows:
        return _add_rows(texts, before, value, rows_bytes)
    if kind is bytes:
        text = row_json(value)
        grow_reply(rows_bytes, rows_bytes + len(text))
        texts.append(before + text)
        return rows_bytes + len(text)
    if kind is Structure:
        return _add_structure(texts, before, value, rows_bytes)
    if kind is Items:
        return _add_items(texts, before, value, rows_bytes)
    texts.append(before + _encode(value))
    return rows_bytes


def _add_structure(texts: list[bytes], before: bytes, members: dict[str, Any], rows_bytes: int) -> int:
    before += b"{"
    if not members:
        texts.append(before + b"}")
        return rows_bytes
    for name, value in members.items():
        opened = _OPENED.get(name) or _open(name)
        if value.__class__ is int:
            texts.append(b"%b%b%d" % (before, opened, value))
        else:
            rows_bytes = _add(texts, before + opened, value, rows_bytes)
        before = b""
    texts[-1] += b"}"
    return rows_bytes


def _add_items(texts: list[bytes], before: bytes, items: Items, rows_bytes: int) -> int:
    before += b"["
    if not items:
        texts.append(before + b"]")
        return rows_bytes
    for one in items:
        spend(1)
        rows_bytes = _add(texts, before, one, rows_bytes)
        before = b""
    texts[-1] += b"]"
    return rows_bytes


def _add_rows(texts: list[bytes], before: bytes, rows: Rows, rows_bytes: int) -> int:
    if not rows:
        texts.append(before + b"[]")
        return rows_bytes
    start = len(texts)
    for some_rows in (rows,) if len(rows) <= ROWS_AT_ONCE else together(rows, ROWS_AT_ONCE):
        some = rows_json(some_rows)
        some_bytes = sum(map(len, some))
        if some_bytes > PIECE_BYTES:
            spend(some_bytes >> 12)
            grow_reply(rows_bytes, rows_bytes + some_bytes)
        rows_bytes += some_bytes
        texts += some
    texts[start] = b"%b[%b" % (before, texts[start])
    texts[-1] += b"]"
    return rows_bytes


def _join_large(texts: list[bytes]) -> bytes:
    """One copy, for each takes half a millisecond a MB; others have their turn before and behind it. Uses up the texts."""
    look()
    body = b",".join(texts)
    while texts:
        del texts[-TEXTS_FREED_AT_ONCE:]
        look()
    return body


def _open(name: str) -> bytes:
    """A member's name and the colon behind it, kept for the next reply."""
    if len(_OPENED) >= OPENED_MAX:
        _OPENED.clear()
    opened = _OPENED[name] = _encode(name) + b":"
    return opened
