"""How are changes written in an incremental export? As a line for each row that has changed, in both formats.

    {"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"OldImage":{…},"NewImage":{…}}
    $ion_1_0 {Record:{Metadata:{WriteTimestampMicros:….},Keys:{…},OldImage:{…},NewImage:{…}}}

Images that a row does not have, and OldImage with the view NEW_IMAGE, are left out. The form in Ion is (unconfirmed).
Source: global-tables-backup.md 3.3.
"""

from collections.abc import Sequence

import msgspec

from hashrange.items.row_layout import row_json
from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Row
from hashrange.store.row_copies import ChangedRow
from hashrange.transfers.formats.ion_text import VERSION_MARK, ion_struct

_encode = msgspec.json.Encoder().encode


def _images(change: ChangedRow, *, has_old: bool) -> Sequence[tuple[str, Row]]:
    shown = (("OldImage", change.old if has_old else None), ("NewImage", change.new))
    return [(name, row) for name, row in shown if row is not None]


def _micros(change: ChangedRow) -> int:
    return round(change.at_seconds * 1000) * 1000


def changed_json_line(change: ChangedRow, keys: Item, *, has_old: bool) -> bytes:
    """The line of a change as DynamoDB JSON. `has_old`: with the row before it."""
    head = b'{"Metadata":{"WriteTimestampMicros":{"N":"%d"}},"Keys":' % _micros(change)
    parts = [head, _encode(keys)]
    for name, row in _images(change, has_old=has_old):
        parts += [b',"%b":' % name.encode(), row_json(row)]
    return b"".join((*parts, b"}\n"))


def changed_ion_line(change: ChangedRow, keys: Item, *, has_old: bool) -> bytes:
    """The line of a change as Ion text."""
    parts = [f"Metadata:{{WriteTimestampMicros:{_micros(change)}.}}", f"Keys:{ion_struct(keys)}"]
    parts += [f"{name}:{ion_struct(decode_row(row))}" for name, row in _images(change, has_old=has_old)]
    return f"{VERSION_MARK}{{Record:{{{','.join(parts)}}}}}\n".encode()
