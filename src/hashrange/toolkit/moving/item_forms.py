"""How do items become text? In DynamoDB JSON they are passed on as they are; in the others they become plain JSON.

| form | text |
|---|---|
| `dynamodb-json` | a line for each item, `{"Item": …}` with its types: the lines of a table export |
| `jsonl` | a line for each item, plain JSON (plain_items.py) |
| `json` | one array of plain JSON, with a line for each item |
| `csv` | a line for each item, and a header (csv_form.py) |
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.toolkit.plain_items import plain_item

FormName = Literal["json", "jsonl", "csv", "dynamodb-json"]
FORMS: tuple[FormName, ...] = ("json", "jsonl", "csv", "dynamodb-json")
ENDINGS: dict[str, FormName] = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}

TypedItem = dict[str, dict[str, Any]]
_decode_item = msgspec.json.Decoder(TypedItem).decode
_encode = msgspec.json.encode


class TextForm(NamedTuple):
    """What stands around and between the items of a file."""

    head: bytes = b""
    between: bytes = b""
    """Between two pages; within one, it is between items too."""
    tail: bytes = b""


TEXT_FORMS: dict[FormName, TextForm] = {
    "json": TextForm(b"[\n", b",\n", b"\n]\n"),
    "jsonl": TextForm(),
    "csv": TextForm(),
    "dynamodb-json": TextForm(),
}


def page_text(form: FormName, items: Sequence[msgspec.Raw]) -> bytes:
    """The items of a page, at least one, with no line end between their members.

    CSV is made of DynamoDB JSON once all items are there.
    """
    if form == "json":
        return b",\n".join(map(_plain, items))
    if form == "jsonl":
        return b"\n".join(map(_plain, items)) + b"\n"
    # The first and the last item get what stands around them before all are joined, because a second text of a page's
    # length would take as long as all other work on the page.
    parts = [b'{"Item":' + bytes(items[0]), *items[1:]]
    parts[-1] = bytes(parts[-1]) + b"}\n"
    return b'}\n{"Item":'.join(parts)


def _plain(item: msgspec.Raw) -> bytes:
    return _encode(plain_item(_decode_item(item)))
