"""What does a stream tell of a write? A record: the item's keys, and as much of it before and after as the stream's view type asks for.

    version 1 (1) ‖ event (1) ‖ by whom (1) ‖ length of the keys (4) ‖ length of the old row (4) ‖ keys ‖ old row ‖ new row

Numbers are big-endian; the keys are JSON, empty where a row holds them; rows are as the table has them (docs/formats/streams.md). So a record
is put together at a write without decoding, and a reply splices its images. Source: developer guide, "Streams" record of 2026.
"""

from struct import Struct
from typing import Literal, NamedTuple

import msgspec

from hashrange.errors import StorageCorruption, StorageFormatUnknown
from hashrange.items.row_layout import row_json, row_size_bytes
from hashrange.items.rows import decode_attributes, decode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Row
from hashrange.tables.change import Change
from hashrange.tables.schema import StreamViewType
from hashrange.tables.streams import Sequence, Stream, sequence_text

EventName = Literal["INSERT", "MODIFY", "REMOVE"]

VERSION = 1
INSERT, MODIFY, REMOVE = range(3)
_NAMES: tuple[EventName, ...] = ("INSERT", "MODIFY", "REMOVE")
_BY_CLIENT, _BY_TIME_TO_LIVE = range(2)
_UNRECORDED = ("import", "restore")
"""Origins of changes of which no stream tells."""
_USER_IDENTITY = b'"userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"},'

_header = Struct(">BBBII")
_encode = msgspec.json.Encoder().encode
_decode_item = msgspec.json.Decoder(Item).decode


class StreamRecord(NamedTuple):
    """A record, taken apart."""

    event: int
    by: int
    keys_json: bytes
    """Empty where a row holds them."""
    old: Row | None
    new: Row | None


class RecordFaces(NamedTuple):
    """What the records of one stream have in common, made once for each page of them."""

    view_type: StreamViewType
    key_names: tuple[str, ...]
    event_prefix: str
    """Of all eventIDs: 8 hexadecimal digits of the stream."""
    event: bytes
    """Members between the event's name and its content."""
    end: bytes
    """The last member of the content, and the brackets behind it."""


def is_recorded(change: Change) -> bool:
    """Does a stream tell of this change, which changes something?"""
    return change.origin not in _UNRECORDED


def encode_record(change: Change, view_type: StreamViewType, key_names: tuple[str, ...]) -> bytes:
    """The record of a change. 0.8 µs, and 2 more where no image holds the keys."""
    old, new = change.old, change.new
    event = MODIFY if old is not None and new is not None else INSERT if old is None else REMOVE
    by = _BY_TIME_TO_LIVE if change.origin == "ttl" else _BY_CLIENT
    before: bytes = old or b""
    after: bytes = new or b""
    if view_type == "KEYS_ONLY":
        before = after = b""
    elif view_type == "NEW_IMAGE":
        before = b""
    elif view_type == "OLD_IMAGE":
        after = b""
    keys = b"" if before or after else _encode_keys(change, key_names)
    return _header.pack(VERSION, event, by, len(keys), len(before)) + keys + before + after


def _encode_keys(change: Change, key_names: tuple[str, ...]) -> bytes:
    item = change.new_item or change.old_item
    if item is None:
        row = change.new or change.old
        assert row is not None
        item = decode_attributes(row, key_names)
    return _encode({name: item[name] for name in key_names})


def faces_of(stream: Stream) -> RecordFaces:
    """Of a stream's records. 3 µs."""
    region, view_type = _encode(stream.region), stream.view_type
    return RecordFaces(
        view_type,
        stream.keys.partition_names + stream.keys.sort_names,
        f"{stream.stream_id & 0xFFFFFFFF:08x}",
        b'","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":%b,' % region,
        b',"StreamViewType":"%b"}}' % view_type.encode(),
    )


def decode_record(record: bytes, view_type: StreamViewType) -> StreamRecord:
    """What is in it, all of which is looked at: for tools. Raises StorageCorruption, StorageFormatUnknown."""
    found = _parts_of(record)
    has_old = found.event != INSERT and view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")
    has_new = found.event != REMOVE and view_type in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
    is_whole = (found.old is not None, found.new is not None) == (has_old, has_new)
    if not is_whole or found.by > _BY_TIME_TO_LIVE or bool(found.keys_json) == (has_old or has_new):
        raise StorageCorruption("a stream record lacks what its stream tells of a change, or has more")
    for row in (found.old, found.new):
        if row is not None and item_size_bytes(decode_row(row)) != row_size_bytes(row):
            raise StorageCorruption("an image in a stream record has another size than it says")
    return found


def keys_of(record: StreamRecord, key_names: tuple[str, ...]) -> Item:
    """Key attributes of the item. Raises StorageCorruption."""
    row = record.new or record.old
    if row is not None:
        return decode_attributes(row, key_names)
    try:
        return _decode_item(record.keys_json)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StorageCorruption(f"the keys of a stream record cannot be read: {error}") from error


def _parts_of(record: bytes) -> StreamRecord:
    """Raises StorageCorruption, StorageFormatUnknown."""
    try:
        version, event, by, keys_bytes, old_bytes = _header.unpack_from(record)
    except Exception as error:
        raise StorageCorruption(f"a stream record has {len(record)} bytes, fewer than its header") from error
    if version != VERSION or event > REMOVE:
        raise StorageFormatUnknown(f"a stream record has format version {version} and event {event}")
    keys_end = _header.size + keys_bytes
    if len(record) < keys_end + old_bytes:
        raise StorageCorruption(f"a stream record has {len(record)} bytes, fewer than its parts")
    old, new = record[keys_end : keys_end + old_bytes], record[keys_end + old_bytes :]
    return StreamRecord(
        event, by, record[_header.size : keys_end], Row(old) if old else None, Row(new) if new else None
    )


def record_json(faces: RecordFaces, sequence: Sequence, record: bytes) -> bytes:
    """The record as replies tell it. Raises StorageCorruption, StorageFormatUnknown. 4 µs for 1.1 KB with both images."""
    found = _parts_of(record)
    event, by, keys_json, old, new = found
    keys = keys_of(found, faces.key_names)
    if not keys_json:
        keys_json = _encode(keys)
    size_bytes = item_size_bytes(keys)
    images = b""
    if new:
        images = b',"NewImage":' + row_json(new)
        size_bytes += row_size_bytes(new)
    if old:
        images += b',"OldImage":' + row_json(old)
        size_bytes += row_size_bytes(old)
    return b'{"eventID":"%b%024x","eventName":"%b%b%b"dynamodb":{"ApproximateCreationDateTime":%d,"Keys":%b%b,"SequenceNumber":"%b","SizeBytes":%d%b' % (
        faces.event_prefix.encode(), sequence, _NAMES[event].encode(), faces.event,
        _USER_IDENTITY if by == _BY_TIME_TO_LIVE else b"",
        (sequence >> 32) // 1000, keys_json, images, sequence_text(sequence).encode(), size_bytes, faces.end,
    )  # fmt: skip
