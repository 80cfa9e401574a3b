"""`snapshots`, `snapshots/NUMBER…`: take snapshots of the database, return to them, read their rows, release them."""

from base64 import b64encode
from binascii import Error as BadBase64
from binascii import a2b_base64
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import StorageError
from hashrange.messages import admin as sentences
from hashrange.server.kept_snapshots import SNAPSHOTS_MAX
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Refused, Serving, at_once
from hashrange.service.snapshots import PIECE_BYTES, ServiceSnapshot, return_in_turns, take_snapshot

KEY_TEXT_MAX = 32 * 1024
"""At least the length of the longest row key in base64: the key of an index entry holds up to 6 KB of attributes,
and of these each zero byte is stored as two.
"""
ROWS_BODY_BYTES_MAX = KEY_TEXT_MAX + 1024


class RowsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: with which row the reply begins."""

    after: Annotated[str, Meta(max_length=KEY_TEXT_MAX)] | None = None
    """Key of the last row that was read, as base64; None: begin with the first row."""


async def keep_snapshot(serving: Serving, request: Nothing) -> dict[str, object]:
    """Take a snapshot; returns its number. Raises Refused if there are too many, and StorageError."""
    if serving.snapshots.is_full:
        raise Refused(409, sentences.TOO_MANY_SNAPSHOTS.format(count=SNAPSHOTS_MAX))
    snapshot = await take_snapshot(serving.service)
    if serving.snapshots.is_full:  # filled by other requests meanwhile
        snapshot.checkpoint.release()
        raise Refused(409, sentences.TOO_MANY_SNAPSHOTS.format(count=SNAPSHOTS_MAX))
    return {"snapshot": serving.snapshots.keep(snapshot), "service_time": snapshot.service_seconds}


async def tell_snapshots(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return the numbers of the snapshots, the oldest first."""
    return {"snapshots": serving.snapshots.numbers}


async def restore_snapshot(serving: Serving, request: Nothing, number: str) -> dict[str, object]:
    """Return to a snapshot, durably. Raises Refused if there is none of this number, and StorageError."""
    snapshot = find_snapshot(serving, number)
    try:
        await return_in_turns(serving.service, snapshot)
    except StorageError:
        find_snapshot(serving, number)  # another request may have released it meanwhile
        raise
    return {}


async def read_rows(serving: Serving, request: RowsRequest, number: str) -> dict[str, object]:
    """Return the next rows of a snapshot: key and value of each, as base64;
    none at the end. Raises Refused, StorageError.
    """
    snapshot = find_snapshot(serving, number)
    try:
        after = None if request.after is None else a2b_base64(request.after, strict_mode=True)
    except (BadBase64, ValueError):
        raise Refused(400, sentences.BAD_ROW_KEY) from None
    rows = snapshot.checkpoint.rows(after, PIECE_BYTES)
    return {"rows": [[b64encode(key).decode(), b64encode(value).decode()] for key, value in rows]}


async def release_snapshot(serving: Serving, request: Nothing, number: str) -> dict[str, object]:
    """Release a snapshot. Raises Refused if there is none of this number."""
    find_snapshot(serving, number)
    serving.snapshots.release(number)
    return {}


def find_snapshot(serving: Serving, number: str) -> ServiceSnapshot:
    """The snapshot of this number. Raises Refused if there is none."""
    snapshot = serving.snapshots.find(number)
    if snapshot is None:
        numbers = ", ".join(serving.snapshots.numbers) or "none"
        raise Refused(404, sentences.NO_SNAPSHOT.format(number=number, numbers=numbers))
    return snapshot


ENDPOINTS = (
    Operation("POST snapshots", Nothing, keep_snapshot, AdminWire(), is_eventual=at_once),
    Operation("GET snapshots", Nothing, tell_snapshots, AdminWire(), is_eventual=at_once),
    Operation("POST snapshots/NUMBER/restore", Nothing, restore_snapshot, AdminWire()),
    Operation(
        "POST snapshots/NUMBER/rows",
        RowsRequest,
        read_rows,
        AdminWire('{"after": "AAAAAAAA"}', ROWS_BODY_BYTES_MAX),
        is_eventual=at_once,
    ),
    Operation("DELETE snapshots/NUMBER", Nothing, release_snapshot, AdminWire(), is_eventual=at_once),
)
