"""What does Kinesis get for a change of an item?
A JSON document, and a partition key that all changes of the item share.

    {"awsRegion":…,"eventID":…,"eventName":…,"userIdentity":…,"recordFormat":"application/json","tableName":…,
    "dynamodb":{
    "ApproximateCreationDateTime":…,"Keys":…,"NewImage":…,"OldImage":…,"SizeBytes":…,
    "ApproximateCreationDateTimePrecision":…},"eventSource":"aws:dynamodb"}

Images and precision are left out where there are none. Keys and images are copied from the stored record unread.
A change has the same document, with the same eventID, each time it is sent.
Source: reports of users from 2021 to 2024 that quote such documents and a partition key.
What is hashed for the partition key, userIdentity, and the microseconds are (unconfirmed).
"""

from hashlib import blake2b, md5
from typing import NamedTuple
from uuid import UUID

import msgspec

from hashrange.tables.kinesis_destinations import FeedTarget
from hashrange.tables.schema import TimePrecision
from hashrange.tables.stream_records import EVENT_SOURCE, EVENT_USER_IDENTITY, RecordParts
from hashrange.tables.streams import SEQUENCE_BYTES, SEQUENCE_COUNTER_BITS, SEQUENCE_COUNTER_MAX, Sequence, Stream

RECORD_FORMAT = "application/json"
LAST_MICROSECOND = 999

_encode = msgspec.json.Encoder().encode


class ChangeTemplate(NamedTuple):
    """What the documents of all changes of a feed share."""

    label: bytes
    """Label of the feed, which makes event ids differ between feeds."""
    start: bytes
    """JSON before the event id."""
    by_client: bytes
    """JSON between the name of the event and the time."""
    by_time_to_live: bytes
    """JSON that takes the place of `start` for deletions by time to live."""
    precision: TimePrecision | None
    end: bytes
    """JSON behind the value of SizeBytes."""


def change_template(feed: Stream, target: FeedTarget) -> ChangeTemplate:
    """Make what the documents of a feed's changes share. 6 µs."""
    table = b'"recordFormat":%b,"tableName":%b,' % (_encode(RECORD_FORMAT), _encode(feed.table_name))
    by_client, by_time_to_live = [
        b'","userIdentity":%b,%b"dynamodb":{"ApproximateCreationDateTime":' % (_encode(identity), table)
        for identity in (None, EVENT_USER_IDENTITY)
    ]
    precision = b""
    if target.precision is not None:
        precision = b',"ApproximateCreationDateTimePrecision":%b' % _encode(target.precision)
    return ChangeTemplate(
        feed.label.encode(),
        b'{"awsRegion":%b,"eventID":"' % _encode(feed.region),
        by_client,
        by_time_to_live,
        target.precision,
        b'%b},"eventSource":%b}' % (precision, _encode(EVENT_SOURCE)),
    )


def change_json(template: ChangeTemplate, sequence: Sequence, parts: RecordParts) -> bytes:
    """The document of a change. 5 µs for images of 1 KB."""
    return b'%b%b","eventName":"%b%b%d,"Keys":%b%b,"SizeBytes":%d%b' % (
        template.start,
        _event_id(template.label, sequence),
        parts.event.encode(),
        template.by_time_to_live if parts.is_by_time_to_live else template.by_client,
        creation_time(sequence, template.precision),
        parts.keys_json,
        parts.images_json,
        parts.size_bytes,
        template.end,
    )


def creation_time(sequence: Sequence, precision: TimePrecision | None) -> int:
    """ApproximateCreationDateTime: milliseconds or microseconds of service time since the epoch.

    Time is recorded in milliseconds. The microseconds within one are the number of the record, at most 999,
    so that they grow with the changes.
    """
    milliseconds = sequence >> SEQUENCE_COUNTER_BITS
    if precision != "MICROSECOND":
        return milliseconds
    return milliseconds * 1000 + min(sequence & SEQUENCE_COUNTER_MAX, LAST_MICROSECOND)


def partition_key_of(keys_json: bytes) -> str:
    """The partition key for an item, of which the JSON of its key attributes is given: 32 hexadecimal digits. 1 µs."""
    return md5(keys_json, usedforsecurity=False).hexdigest().upper()


def _event_id(label: bytes, sequence: Sequence) -> bytes:
    digest = blake2b(sequence.to_bytes(SEQUENCE_BYTES, "big"), digest_size=16, key=label[:64]).digest()
    return str(UUID(bytes=digest, version=4)).encode()
