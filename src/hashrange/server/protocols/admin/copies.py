"""`reset`, `snapshots`, `forks`: with which content does the database go on, and which copies of it are kept?

`POST reset` replaces everything, in all accounts and Regions, by the initial content: that of the init folder
(`--init`), or nothing. Service time runs as the machine's then. Connections stay open.
`snapshots`, `snapshots/NUMBER…`: take snapshots of the database, return to them, read their rows or files, release
them.
`forks`, `forks/PORT`: start databases with a copy of the content on ports of their own, list them, end them.
"""

import asyncio
from base64 import b64encode
from binascii import Error as BadBase64
from binascii import a2b_base64
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import StorageError
from hashrange.messages import admin as sentences
from hashrange.server.copies import SNAPSHOTS_MAX, Forks
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Refused, Serving, at_once
from hashrange.service.initial_content import reset_service
from hashrange.service.snapshots import PIECE_BYTES, ServiceSnapshot, return_in_turns, take_snapshot
from hashrange.settings import SettingUnusable
from hashrange.store.copying import StoredFiles

KEY_TEXT_MAX = 32 * 1024
"""At least the length of the longest row key in base64: the key of an index entry holds up to 6 KB of attributes,
and of these each zero byte is stored as two.
"""
ROWS_BODY_BYTES_MAX = KEY_TEXT_MAX + 1024
IDLE_SECONDS_MAX = 30 * 24 * 3600
FILE_PIECE_BYTES = 1024 * 1024
"""Length of the pieces in which files of a snapshot are read, on a thread; a piece takes the event loop some 0.7 ms."""


async def reset(serving: Serving, request: Nothing) -> dict[str, object]:
    """Reset the database durably. Raises Refused if the init folder cannot be applied,
    and StorageError; nothing is changed then.
    """
    try:
        await reset_service(serving.service)
    except SettingUnusable as error:
        raise Refused(409, str(error)) from None
    except asyncio.CancelledError:  # at the server's end, whatever is still running is cancelled
        raise Refused(503, sentences.RESET_ENDED) from None
    return {}


# --- snapshots ------------------------------------------------------------------------------------


class RowsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: with which row the reply begins."""

    after: Annotated[str, Meta(max_length=KEY_TEXT_MAX)] | None = None
    """Key of the last row that was read, as base64; None: begin with the first row."""


class SnapshotRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: how long the snapshot is kept."""

    idle_seconds: Annotated[float, Meta(ge=0, le=IDLE_SECONDS_MAX)] | None = None
    """It is released once nobody has asked for it for so long; None: only by a request."""


async def keep_snapshot(serving: Serving, request: SnapshotRequest) -> dict[str, object]:
    """Take a snapshot; returns its number. Raises Refused if there are too many, and StorageError."""
    if serving.snapshots.is_full:
        raise Refused(409, sentences.TOO_MANY_SNAPSHOTS.format(count=SNAPSHOTS_MAX))
    snapshot = await take_snapshot(serving.service)
    if serving.snapshots.is_full:  # filled by other requests meanwhile
        await asyncio.to_thread(snapshot.checkpoint.release)
        raise Refused(409, sentences.TOO_MANY_SNAPSHOTS.format(count=SNAPSHOTS_MAX))
    return {
        "snapshot": serving.snapshots.keep(snapshot, request.idle_seconds),
        "service_time": snapshot.service_seconds,
    }


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


class PieceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: where in a file the reply begins."""

    offset: Annotated[int, Meta(ge=0, lt=1 << 62)] = 0
    """Bytes before it."""


async def list_snapshot_files(serving: Serving, request: Nothing, number: str) -> dict[str, object]:
    """Return the files of a data folder with the content of a snapshot. Raises Refused, StorageError."""
    stored = await _files_of(serving, number)
    files = [{"name": one.name, "bytes": one.size_bytes, "fingerprint": one.fingerprint} for one in stored.files]
    return {"store_format": stored.store_format, "files": files}


async def read_snapshot_file(serving: Serving, request: PieceRequest, number: str, name: str) -> bytes:
    """Return the next bytes of one of a snapshot's files; none at its end. Raises Refused, StorageError."""
    checkpoint = find_snapshot(serving, number).checkpoint
    piece = await asyncio.to_thread(checkpoint.read_file, name, request.offset, FILE_PIECE_BYTES)
    if piece is None:
        await _files_of(serving, number)
        raise Refused(404, sentences.NO_SNAPSHOT_FILE.format(number=number, name=name))
    return piece


async def _files_of(serving: Serving, number: str) -> StoredFiles:
    """The files of a snapshot, which the first call makes, on a thread."""
    stored = await asyncio.to_thread(find_snapshot(serving, number).checkpoint.files)
    if stored is None:
        raise Refused(409, sentences.CONTENT_IN_MEMORY)
    return stored


async def release_snapshot(serving: Serving, request: Nothing, number: str) -> dict[str, object]:
    """Release a snapshot. Raises Refused if there is none of this number."""
    find_snapshot(serving, number)
    await serving.snapshots.release(number)
    return {}


def find_snapshot(serving: Serving, number: str) -> ServiceSnapshot:
    """The snapshot of this number. Raises Refused if there is none."""
    snapshot = serving.snapshots.find(number)
    if snapshot is None:
        numbers = ", ".join(serving.snapshots.numbers) or "none"
        raise Refused(404, sentences.NO_SNAPSHOT.format(number=number, numbers=numbers))
    return snapshot


# --- forks ----------------------------------------------------------------------------------------


class ForkRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: the content that the fork begins with."""

    snapshot: str | None = None
    """Number of a snapshot; None: the present content."""


async def start_fork(serving: Serving, request: ForkRequest) -> dict[str, object]:
    """Start a fork; returns its URL and port. Raises Refused, StorageError or ListenError."""
    forks = _forks_of(serving)
    snapshot = None if request.snapshot is None else find_snapshot(serving, request.snapshot)
    if not forks.may_start:
        raise Refused(409, sentences.TOO_MANY_FORKS.format(count=len(forks.endpoints)))
    try:
        port = await forks.start(snapshot)
    except StorageError:
        if request.snapshot is not None:
            find_snapshot(serving, request.snapshot)  # another request may have released it meanwhile
        raise
    return _told(forks, port)


async def tell_forks(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return URL and port of each fork."""
    forks = _forks_of(serving)
    return {"forks": [_told(forks, port) for port in forks.endpoints]}


async def end_fork(serving: Serving, request: Nothing, port: str) -> dict[str, object]:
    """End a fork and delete its content. Raises Refused if there is none on this port; may raise StorageError."""
    forks = _forks_of(serving)
    is_ended = port.isascii() and port.isdecimal() and len(port) < 6 and await forks.end(int(port))
    if not is_ended:
        ports = ", ".join(map(str, forks.endpoints)) or "none"
        raise Refused(404, sentences.NO_FORK.format(port=port, ports=ports))
    return {}


def _forks_of(serving: Serving) -> Forks:
    """The server's forks. Raises Refused for a database that listens on no port."""
    if serving.forks is None:
        raise Refused(409, sentences.NO_LISTENER)
    return serving.forks


def _told(forks: Forks, port: int) -> dict[str, object]:
    return {"endpoint": forks.endpoints[port], "port": port}


_SNAPSHOT = AdminWire('{"idle_seconds": 3600}')
_PIECE = AdminWire('{"offset": 0}')
_ROWS = AdminWire('{"after": "AAAAAAAA"}', ROWS_BODY_BYTES_MAX)
ENDPOINTS = (
    Operation("POST reset", Nothing, reset, AdminWire()),
    Operation("POST snapshots", SnapshotRequest, keep_snapshot, _SNAPSHOT, is_eventual=at_once),
    Operation("GET snapshots", Nothing, tell_snapshots, AdminWire(), is_eventual=at_once),
    Operation("POST snapshots/NUMBER/restore", Nothing, restore_snapshot, AdminWire()),
    Operation("POST snapshots/NUMBER/rows", RowsRequest, read_rows, _ROWS, is_eventual=at_once),
    Operation("POST snapshots/NUMBER/files", Nothing, list_snapshot_files, AdminWire(), is_eventual=at_once),
    Operation("POST snapshots/NUMBER/files/NAME", PieceRequest, read_snapshot_file, _PIECE, is_eventual=at_once),
    Operation("DELETE snapshots/NUMBER", Nothing, release_snapshot, AdminWire(), is_eventual=at_once),
    Operation("POST forks", ForkRequest, start_fork, AdminWire('{"snapshot": "1"}'), is_eventual=at_once),
    Operation("GET forks", Nothing, tell_forks, AdminWire(), is_eventual=at_once),
    Operation("DELETE forks/PORT", Nothing, end_fork, AdminWire(), is_eventual=at_once),
)
