"""What does a record of a table's change log hold, and how do replies show it? Event, author and keys of a write, and
the images that the log's followers need.

    version 3 (1) ‖ flags (1) ‖ length of the keys (2) ‖ size of the keys (2) ‖ length of the old row (4) ‖ keys
      ‖ old row ‖ new row

Numbers are big-endian; the flags tell the event and whether time to live caused it; the keys are JSON; rows are copies
of the table's (docs/formats/streams.md). The time of the write is in the sequence number, not in the record. So a write
decodes at most the keys of a row for its record, and a reply copies keys and images unread (packed images are
unpacked). Source: developer guide of 2026, "Streams".
"""

import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from hashrange.errors import StorageCorruption, StorageFormatUnknown
from hashrange.items.number_set_order import hash_ordered_json
from hashrange.items.row_layout import PLAIN_VERSION, ROW_HEADER_BYTES, row_size_bytes
from hashrange.items.rows import attributes_reader, decode_attributes, decode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Row
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import KeySchema
from hashrange.tables.streams import (
    SEQUENCE_COUNTER_BITS,
    SEQUENCE_COUNTER_MAX,
    Images,
    Purpose,
    Sequence,
    Stream,
)

T = TypeVar("T")
EventName = Literal["INSERT", "MODIFY", "REMOVE"]

VERSION = 3
INSERT, MODIFY, REMOVE = range(3)
_NAMES: tuple[EventName, ...] = ("INSERT", "MODIFY", "REMOVE")
_EVENT, _BY_TIME_TO_LIVE = 3, 4
"""In the flags: the bits of the event, and the bit that is set if time to live has deleted the item."""
_EVENT_AND_AUTHOR = _EVENT | _BY_TIME_TO_LIVE
WAITS = 8
"""The bit of the flags of a change whose index entries are written later: when, and of which indexes, follows the
header. Records that are shown have no such part.
"""
HIDDEN_FROM: dict[Purpose, int] = {"readers": 16, "kinesis": 32}
"""The bit of the flags that hides a record from streams of this purpose: changes that only index entries follow, and
records of older formats, in which a change had one record for each stream of its table.
"""
UNRECORDED = frozenset(("import", "restore"))
"""Values of `Change.origin`, which says where a write comes from, for writes that streams do not record."""
EVENT_VERSION, EVENT_SOURCE = "1.1", "aws:dynamodb"
USER_IDENTITY = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
"""The userIdentity in records of deletions by time to live."""
EVENT_USER_IDENTITY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
"""The userIdentity of such deletions in the events that functions get, where its members have other names."""

_HIDDEN_AND_WAITS = WAITS | sum(HIDDEN_FROM.values())

_header = struct.Struct(">BBHHI")
_waiting = struct.Struct(">QB")
_INDEX_ID_BYTES = 2
_BACKSLASH = ord("\\")
"""A search for a number in bytes takes a twentieth of that for bytes of length 1."""
_HEADER_BYTES = _header.size
_unpack = _header.unpack_from
_row_size_at = struct.Struct(">xI").unpack_from
"""(record, place of a row in it) → what `row_size_bytes` returns for the row, as a tuple of one number."""
_encode = msgspec.json.Encoder().encode
_decode_item = msgspec.json.Decoder(Item).decode


class StreamRecord(NamedTuple):
    """A stream record, split into header fields, keys and rows (the images)."""

    event: int
    is_by_time_to_live: bool
    size_bytes: int
    """DynamoDB size of the keys and of the images in the record, as reported to clients."""
    keys_json: bytes
    old: Row | None
    new: Row | None


class RecordParts(NamedTuple):
    """What records in every format for readers are made of."""

    event: EventName
    is_by_time_to_live: bool
    """True if time to live has deleted the item."""
    size_bytes: int
    keys_json: bytes
    images_json: bytes
    """The members NewImage and OldImage as JSON, each with a comma before it; empty without images."""


RecordForms = dict[int, bytes]
"""Event and author, as in the flags → the JSON of a record of a stream, with formats for the members that differ from
record to record; made once per reply.
"""

EncodeRecord = Callable[[Change, bytes], bytes]
"""(change, what `encode_waiting_part` returns; nothing if no index entries wait) → the change's record."""


def record_encoder(images: Images, schema: KeySchema) -> EncodeRecord:
    """Make a function from a change to its record: 0.9 µs a record, plus 1 µs if the change has no decoded item."""
    has_old, has_new = images
    has_images = has_old or has_new
    names, pack = schema.names, _header.pack
    read_values = attributes_reader(names)
    are_texts = {kind for _, kind in schema.attributes} == {"S"}
    empty: Item = {name: {"S": ""} for name in names}
    beyond_bytes = len(_encode(empty)) - item_size_bytes(empty)
    start, only = b"{%b:" % _encode(names[0]), names[0] if len(names) == 1 else None

    def encode(change: Change, waiting: bytes) -> bytes:
        old, new = change.old, change.new
        flags = INSERT if old is None else MODIFY if new is not None else REMOVE
        if waiting:
            flags |= WAITS
        if change.origin == "ttl":
            flags |= _BY_TIME_TO_LIVE
        item = change.new_item or change.old_item
        if item is None:
            row = new or old
            assert row is not None
            keys = keys_json_from(read_values(row), names)
        elif only is not None:
            keys = start + _encode(item[only]) + b"}"  # half the time of a dict
        else:
            keys = _encode({name: item[name] for name in names})
        if are_texts and _BACKSLASH not in keys:  # 0.3 µs less than decoding them
            keys_size_bytes = len(keys) - beyond_bytes
        else:
            keys_size_bytes = item_size_bytes(_decode_keys(keys))
        if not has_images:
            return pack(VERSION, flags, len(keys), keys_size_bytes, 0) + waiting + keys
        before = old or b"" if has_old else b""
        after = new or b"" if has_new else b""
        return b"".join((pack(VERSION, flags, len(keys), keys_size_bytes, len(before)), waiting, keys, before, after))

    return encode


def hidden_record(change: Change, waiting: bytes) -> bytes:
    """The record of a change that waits and that no stream shows: it has no keys, which the images have."""
    old, new = change.old or b"", change.new or b""
    flags = _HIDDEN_AND_WAITS | (INSERT if not old else MODIFY if new else REMOVE)
    return b"".join((_header.pack(VERSION, flags, 0, 0, len(old)), waiting, old, new))


def images_bytes(table: OpenTable, old: Row | None, new: Row | None) -> int:
    """Bytes of the images of a change that the table's streams need; 0 without a stream. 0.2 µs."""
    has_old, has_new = table.log_images
    return (len(old) if has_old and old is not None else 0) + (len(new) if has_new and new is not None else 0)


def shown_record(record: bytes, images: Images) -> bytes:
    """The record with no other images than these. Raises StorageCorruption, StorageFormatUnknown."""
    flags, keys_end, old_end, _ = _ends_of(record)
    has_old, has_new = images
    keys_bytes, keys_size_bytes = keys_end - _HEADER_BYTES, _unpack(record)[3]
    old, new = record[keys_end:old_end] if has_old else b"", record[old_end:] if has_new else b""
    header = _header.pack(VERSION, flags, keys_bytes, keys_size_bytes, len(old))
    return b"".join((header, record[_HEADER_BYTES:keys_end], old, new))


class WaitingPart(NamedTuple):
    """Which index entries of a change wait."""

    due_ms: int
    """Service time, in milliseconds, from which on they may be written; once the delay is switched off they may be
    written at once.
    """
    index_ids: list[bytes]


def encode_waiting_part(due_ms: int, index_ids: Collection[bytes]) -> bytes:
    """The part of a change's record that says that entries of these indexes wait."""
    return _waiting.pack(due_ms, len(index_ids)) + b"".join(index_ids)


def waiting_part(record: bytes) -> WaitingPart | None:
    """Which index entries of the record's change wait; None if none do. Raises StorageCorruption."""
    if len(record) < _HEADER_BYTES or not record[1] & WAITS:
        return None
    try:
        due_ms, count = _waiting.unpack_from(record, _HEADER_BYTES)
    except struct.error as error:
        raise StorageCorruption(f"a stream record has {len(record)} bytes, fewer than its parts") from error
    start = _HEADER_BYTES + _waiting.size
    places = range(start, start + count * _INDEX_ID_BYTES, _INDEX_ID_BYTES)
    return WaitingPart(due_ms, [record[place : place + _INDEX_ID_BYTES] for place in places])


def plain_record(record: bytes) -> bytes:
    """The record without what `waiting_part` returns. Raises StorageCorruption."""
    waiting = waiting_part(record)
    if waiting is None:
        return record
    end = _HEADER_BYTES + _waiting.size + len(waiting.index_ids) * _INDEX_ID_BYTES
    return b"".join((record[:1], bytes((record[1] & ~WAITS,)), record[2:_HEADER_BYTES], record[end:]))


def images_in(record: bytes) -> tuple[Row | None, Row | None]:
    """The images in a record, old and new. Raises StorageCorruption, StorageFormatUnknown."""
    told = split_record(plain_record(record))
    return told.old, told.new


def former_record(
    event: int, *, is_by_time_to_live: bool, keys_json: bytes, old: bytes, new: bytes, purpose: Purpose
) -> bytes:
    """The record of a change that an older format has kept for the streams of one purpose alone."""
    flags = event | (_BY_TIME_TO_LIVE if is_by_time_to_live else 0)
    for other, hidden in HIDDEN_FROM.items():
        flags |= hidden if other != purpose else 0
    keys_size_bytes = item_size_bytes(_decode_keys(keys_json))
    return _header.pack(VERSION, flags, len(keys_json), keys_size_bytes, len(old)) + keys_json + old + new


def is_hidden(record: bytes, purpose: Purpose) -> bool:
    """True if streams of this purpose do not show the record."""
    return len(record) > 1 and record[1] & HIDDEN_FROM[purpose] != 0


def keys_json_from(values: list[bytes], key_names: tuple[str, ...]) -> bytes:
    """The keys of a record from the JSON of the values of the key attributes."""
    return _encode(dict(zip(key_names, map(msgspec.Raw, values), strict=True)))


def forms_of(stream: Stream) -> RecordForms:
    """Make the JSON that all records of a stream share in replies of GetRecords. 4 µs."""
    return _forms(stream, USER_IDENTITY, b"}")


def event_forms_of(stream: Stream) -> RecordForms:
    """Make the JSON that all records of a stream share in the events that functions get (streams.md 8)."""
    return _forms(stream, EVENT_USER_IDENTITY, b',"eventSourceARN":%b}' % _encode(stream.arn))


def _forms(stream: Stream, user_identity: Mapping[str, str], end: bytes) -> RecordForms:
    start = b'{"eventID":"%08x%%024x","eventName":"' % (stream.stream_id & 0xFFFFFFFF)
    source = b'","eventVersion":%b,"eventSource":%b,"awsRegion":%b,' % tuple(
        [_encode(one).replace(b"%", b"%%") for one in (EVENT_VERSION, EVENT_SOURCE, stream.region)]
    )
    identity = b'"userIdentity":%b,' % _encode(user_identity)
    content = b'"dynamodb":{"ApproximateCreationDateTime":%d,"Keys":%b%b,"SequenceNumber":"%013d%010d","SizeBytes":%d,'
    last = b'"StreamViewType":"%b"}%b' % (stream.view_type.encode(), end.replace(b"%", b"%%"))
    forms: RecordForms = {}
    for event, name in enumerate(_NAMES):
        forms[event] = b"".join((start, name.encode(), source, content, last))
        forms[event | _BY_TIME_TO_LIVE] = b"".join((start, name.encode(), source, identity, content, last))
    return forms


def split_record(record: bytes) -> StreamRecord:
    """Split a record. Raises StorageCorruption, StorageFormatUnknown."""
    flags, keys_end, old_end, size_bytes = _ends_of(record)
    old, new = record[keys_end:old_end], record[old_end:]
    return StreamRecord(
        flags & _EVENT,
        flags & _BY_TIME_TO_LIVE != 0,
        size_bytes,
        record[_HEADER_BYTES:keys_end],
        Row(old) if old else None,
        Row(new) if new else None,
    )


def decode_record(record: bytes, needed: Images, key_names: tuple[str, ...]) -> StreamRecord:
    """Split a record, and check that its fields agree with each other, and that it has the images that are needed;
    for tools.

    Raises StorageCorruption, StorageFormatUnknown.
    """
    found = split_record(record)
    event, old, new = found.event, found.old, found.new
    lacks_old = needed[0] and event != INSERT and not old
    lacks_new = needed[1] and event != REMOVE and not new
    if lacks_old or lacks_new or (old and event == INSERT) or (new and event == REMOVE):
        raise StorageCorruption("a stream record lacks what its stream tells of a change, or has more")
    if not found.keys_json and old == new is None:
        raise StorageCorruption("a stream record has neither keys nor images")
    keys = keys_of(found, key_names)
    for row in (found.old, found.new):
        if row is not None and item_size_bytes(decode_row(row)) != row_size_bytes(row):
            raise StorageCorruption("an image in a stream record has another size than it says")
        if row is not None and decode_attributes(row, key_names) != keys:
            raise StorageCorruption("an image in a stream record has other keys than the record")
    if found.keys_json and _unpack(record)[3] != item_size_bytes(keys):
        raise StorageCorruption("a stream record has another size than it says")
    return found


def keys_of(record: StreamRecord, key_names: tuple[str, ...]) -> Item:
    """A record's key attributes. Raises StorageCorruption."""
    row = record.new or record.old
    if not record.keys_json and row is not None:
        return decode_attributes(row, key_names)
    return _decode_keys(record.keys_json)


def _decode_keys(keys_json: bytes) -> Item:
    return _decoded(_decode_item, keys_json, "the keys of a stream record")


def _decoded(decode: Callable[[bytes], T], text: bytes, noun: str) -> T:
    try:
        return decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StorageCorruption(f"{noun} cannot be read: {error}") from error


def keys_json_of(record: bytes) -> bytes:
    """The JSON of a record's key attributes; equal for all records of an item. 0.6 µs.

    Raises StorageCorruption, StorageFormatUnknown.
    """
    return record[_HEADER_BYTES : _ends_of(record)[1]]


def _ends_of(record: bytes) -> tuple[int, int, int, int]:
    """A record's flags, the positions where keys and old row end, and its SizeBytes: of keys and images.

    Raises StorageCorruption, StorageFormatUnknown.
    """
    try:
        version, flags, keys_bytes, size_bytes, old_bytes = _unpack(record)
        if version != VERSION or flags & _EVENT > REMOVE:
            raise StorageFormatUnknown(f"a stream record has format version {version} and flags {flags}")
        keys_end = _HEADER_BYTES + keys_bytes
        old_end = keys_end + old_bytes
        if old_bytes:
            size_bytes += _row_size_at(record, keys_end)[0]
        if len(record) != old_end:
            size_bytes += _row_size_at(record, old_end)[0]
    except struct.error as error:
        raise StorageCorruption(f"a stream record has {len(record)} bytes, fewer than its parts") from error
    return flags, keys_end, old_end, size_bytes


def record_json(forms: RecordForms, sequence: Sequence, record: bytes) -> bytes:
    """The JSON of a record in replies. 2.5 µs for 1.1 KB with both images.

    Raises StorageCorruption, StorageFormatUnknown.
    """
    flags, keys_end, old_end, size_bytes = _ends_of(record)
    milliseconds, counter = sequence >> SEQUENCE_COUNTER_BITS, sequence & SEQUENCE_COUNTER_MAX
    return forms[flags & _EVENT_AND_AUTHOR] % (
        sequence,
        milliseconds // 1000,
        record[_HEADER_BYTES:keys_end],
        _images_json(record, keys_end, old_end),
        milliseconds,
        counter,
        size_bytes,
    )


def record_parts(record: bytes) -> RecordParts:
    """A record's parts. 2 µs for 1.1 KB with both images. Raises StorageCorruption, StorageFormatUnknown."""
    flags, keys_end, old_end, size_bytes = _ends_of(record)
    return RecordParts(
        _NAMES[flags & _EVENT],
        flags & _BY_TIME_TO_LIVE != 0,
        size_bytes,
        record[_HEADER_BYTES:keys_end],
        _images_json(record, keys_end, old_end),
    )


def largest_image_bytes(record: bytes) -> int:
    """DynamoDB size of the larger of a record's images; 0 if it has none. 1 µs.
    Raises StorageCorruption, StorageFormatUnknown.
    """
    _, keys_end, old_end, _ = _ends_of(record)
    return max([row_size_bytes(Row(row)) for row in (record[keys_end:old_end], record[old_end:]) if row], default=0)


def _images_json(record: bytes, keys_end: int, old_end: int) -> bytes:
    images = b""
    if len(record) > old_end:
        images = b',"NewImage":' + _image(record, old_end, len(record))
    if old_end > keys_end:
        images += b',"OldImage":' + _image(record, keys_end, old_end)
    return images


def record_values(forms: RecordForms, sequence: Sequence, record: bytes) -> dict[str, Any]:
    """What `record_json` returns, decoded. Raises StorageCorruption, StorageFormatUnknown."""
    return _decoded(msgspec.json.decode, record_json(forms, sequence, record), "a stream record")


def _image(record: bytes, start: int, end: int) -> bytes:
    """The JSON of the item whose row is at `record[start:end]`."""
    if record[start] == PLAIN_VERSION:
        return record[start + ROW_HEADER_BYTES : end]
    return hash_ordered_json(Row(record[start:end]))
