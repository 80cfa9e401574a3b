"""Which object of S3 is an archived item? What its key, its metadata and its content are (docs/archive.md).

The trigger (trigger.py) runs in AWS Lambda too, where this package is all there is of Hashrange: it imports nothing of
other packages.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

PREFIX_BY_DEFAULT = "archive/"
PREFIX_BYTES_MAX = 200
SEGMENT_BYTES_MAX = 240
"""Longest segment of a key. With the longest prefix, three of them stay below the 1,024 bytes that S3 allows."""
CONTENT_BYTES_MAX = 4 * 1024 * 1024
"""Longest object that is read. An item has up to 400 KB; as JSON, a control character has six bytes."""
FORMAT = 1
TYPE_BINARY = "B"

_ENDING = ".json"
_DIGEST_CHARACTERS = 64
_KEPT_BYTES = SEGMENT_BYTES_MAX - 1 - _DIGEST_CHARACTERS
"""Bytes that are kept of a long segment, before `=` and the digest; perhaps two less, so that no escape is cut."""
_BINARY_MARK, _EMPTY_MARK = "binary=", "empty="
_cut_escape = re.compile("%[0-9A-F]?$")
_is_sequence_number = re.compile("[0-9]{1,60}").fullmatch
_is_moment = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z").fullmatch

AttributeJson = Mapping[str, Any]
"""An attribute's value in DynamoDB's JSON."""


class ObjectDamaged(ValueError):
    """An object's content is no archived item; the message says why, and ends without a full stop."""


# --- keys -------------------------------------------------------------------------------------------


def object_key(prefix: str, item_type: str, keys: Sequence[AttributeJson]) -> str:
    """The key of an item's object: `archive/Type/PK/SK.json`. `keys`: the key attributes' values, partition key first.

    Different types or values have different keys, except that a string and a number of the same text have one. A key
    is ASCII, has at most 1,024 bytes, and no segment of it is empty, `.` or `..`.
    """
    segments = [key_segment({"S": item_type}), *map(key_segment, keys)]
    return f"{prefix}{'/'.join(segments)}{_ENDING}"


def key_segment(value: AttributeJson) -> str:
    """A value as a segment of a key: percent-encoded UTF-8. A long one is cut, and ends with `=` and its SHA-256; a
    binary one begins with `binary=`. No other text has a `=`.
    """
    ((kind, text),) = value.items()
    content = base64.b64decode(text) if kind == TYPE_BINARY else text.encode()
    mark = _BINARY_MARK if kind == TYPE_BINARY else ""
    segment = (mark + _escaped(content)) or _EMPTY_MARK
    if len(segment) <= SEGMENT_BYTES_MAX:
        return segment
    return f"{_cut(segment, _KEPT_BYTES)}={hashlib.sha256(content).hexdigest()}"


def segment_prefix(text: str) -> str:
    """How the segments of all strings and numbers begin that begin with this text."""
    return _cut(_escaped(text.encode()), _KEPT_BYTES - 2)


def prefix_fault(prefix: str) -> str | None:
    """What is wrong with the part of keys before the type, to be put after its name; None if it can be used."""
    is_sound = prefix.isascii() and prefix.isprintable() and len(prefix) <= PREFIX_BYTES_MAX and prefix.endswith("/")
    if is_sound and not {"", ".", ".."} & set(prefix[:-1].split("/")):
        return None
    return (
        f'must have at most {PREFIX_BYTES_MAX} ASCII characters and end with a slash, as "{PREFIX_BY_DEFAULT}" does,'
        ' and no part of it may be empty, "." or ".."'
    )


def _escaped(content: bytes) -> str:
    """Percent-encoded, except for letters, digits and `_.-~`; a dot at the beginning is encoded too."""
    text = quote(content, safe="")
    return f"%2E{text[1:]}" if text.startswith(".") else text


def _cut(segment: str, bytes_max: int) -> str:
    return segment if len(segment) <= bytes_max else _cut_escape.sub("", segment[:bytes_max])


# --- which of two versions is the later one ---------------------------------------------------------


class Version(NamedTuple):
    """Which deletion an archived item comes from."""

    stream: str
    """ARN of the stream."""
    sequence_number: int
    deleted_at: str
    """`2026-11-30T07:35:08Z`."""
    key_types: str
    """Types of the key attributes, partition key first: `S,N`."""

    @property
    def table(self) -> str:
        """ARN of the table."""
        return self.stream.partition("/stream/")[0]

    def is_of_same_item(self, other: "Version") -> bool:
        """True if both are of one table and have keys of the same types. Then equal objects' keys mean equal items."""
        return (self.table, self.key_types) == (other.table, other.key_types)

    def is_later_than(self, other: "Version") -> bool:
        """True if this deletion of an item came later. A stream numbers them; of two streams, their times decide."""
        if self.stream == other.stream:
            return self.sequence_number > other.sequence_number
        return (self.deleted_at, self.stream) > (other.deleted_at, other.stream)

    def metadata(self) -> dict[str, str]:
        """The object's metadata, which can be read while its content lies in an archive of S3's."""
        return {
            "stream": self.stream,
            "sequence-number": str(self.sequence_number),
            "deleted-at": self.deleted_at,
            "key-types": self.key_types,
        }


def version_of_metadata(metadata: Mapping[str, str]) -> Version | None:
    """The version that an object's metadata tell; None if they are not those of an archived item."""
    number, moment = metadata.get("sequence-number", ""), metadata.get("deleted-at", "")
    if not (_is_sequence_number(number) and _is_moment(moment) and "stream" in metadata and "key-types" in metadata):
        return None
    return Version(metadata["stream"], int(number), moment, metadata["key-types"])


def moment_of_record(seconds: float) -> str:
    """A stream record's ApproximateCreationDateTime as text."""
    return datetime.fromtimestamp(seconds // 1, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- content ----------------------------------------------------------------------------------------


class ArchivedItem(NamedTuple):
    """What an object says."""

    table: str
    """Name of the table."""
    item_type: str
    deleted_at: str
    item: dict[str, Any]
    """In DynamoDB's JSON; not checked yet."""


def encode_archived(version: Version, item_type: str, item: Mapping[str, Any], *, is_expired: bool) -> bytes:
    """The content of an item's object."""
    content = {
        "format": FORMAT,
        "table": named_table(version.stream),
        "type": item_type,
        "deleted_at": version.deleted_at,
        "deleted_by": "time to live" if is_expired else "request",
        "stream": version.stream,
        "sequence_number": str(version.sequence_number),
        "item": item,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_archived(content: bytes) -> ArchivedItem:
    """What an object's content says. Raises ObjectDamaged."""
    try:
        found = json.loads(content)
    except RecursionError:
        raise ObjectDamaged("it is no archived item: its JSON is nested too deeply") from None
    except ValueError:
        raise ObjectDamaged("it is no whole JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ObjectDamaged(f'it is no archived item: it has no "format": {FORMAT}')
    for name, kind, noun in _MEMBERS:
        if not isinstance(found.get(name), kind):
            raise ObjectDamaged(f'its "{name}" is no {noun}')
    return ArchivedItem(found["table"], found["type"], found["deleted_at"], found["item"])


def named_table(stream_or_table_arn: str) -> str:
    """The name in the ARN of a table or of its stream."""
    return stream_or_table_arn.partition(":table/")[2].partition("/")[0]


_MEMBERS: tuple[tuple[str, type, str], ...] = (
    ("table", str, "text"),
    ("type", str, "text"),
    ("deleted_at", str, "text"),
    ("item", dict, "object"),
)
