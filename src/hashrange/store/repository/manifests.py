"""What is in a copy of a repository? The manifest says it: the files of a data folder, with size and digest of each.

The layout is described in docs/formats/repository.md.
"""

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.errors import StorageError

VERSION = 1
NAME_FORMAT = "%Y-%m-%dT%H-%M-%SZ"
"""How a copy is named after its time, in UTC: `2026-11-30T08-15-03Z`. No two copies of a repository have the same."""

_is_digest = re.compile(r"[0-9a-f]{64}").fullmatch
_is_name = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z").fullmatch
_MOMENT_MAX = 253_402_300_799
"""Seconds from 1970 to the year 9999."""
EpochSeconds = Annotated[float, Meta(ge=0, le=_MOMENT_MAX)]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
FileName = Annotated[str, Meta(pattern=r"^(engine/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
"""Path of a file in a data folder. It leads out of no folder."""
Size = Annotated[int, Meta(ge=0, le=1 << 62)]


class ManifestDamaged(StorageError):
    """A manifest cannot be read. The message says why; it names neither manifest nor repository."""


class ManifestNewer(ManifestDamaged):
    """A manifest has the format of a newer Hashrange."""


class CopiedFile(msgspec.Struct, frozen=True):
    """A file of a copied data folder."""

    name: FileName
    bytes: Size
    sha256: Digest
    fingerprint: Annotated[str, Meta(max_length=64)] = ""
    """By which the next copy finds that the file has not changed; empty: the file is always read again."""


class Manifest(msgspec.Struct, frozen=True):
    """One copy."""

    version: int
    name: str
    taken_at: EpochSeconds
    """When the copy was begun, by the clock of the machine that made it, in seconds since the epoch."""
    service_time: EpochSeconds
    """Service time of the copied moment, in seconds since the epoch."""
    copied_from: str
    """Endpoint or data folder that was copied."""
    hashrange: str
    """Version of the Hashrange that made the copy."""
    store_format: int
    """Format version of the data folder."""
    is_checked: bool
    """True if the content was verified as `hashrange check` verifies a data folder."""
    added_bytes: Size
    """Length of the files that the repository did not hold before."""
    files: list[CopiedFile]

    @property
    def size_bytes(self) -> int:
        """Length of all files."""
        return sum(one.bytes for one in self.files)


class _Version(msgspec.Struct, frozen=True):
    """The member that manifests of every version have."""

    version: int


def copy_name(at_seconds: float) -> str:
    """The name of a copy that was begun at this time."""
    return datetime.fromtimestamp(at_seconds, UTC).strftime(NAME_FORMAT)


def next_name(at_seconds: float, names: list[str]) -> str:
    """The name of a new copy, which sorts behind `names`, the names of the others, also after a clock was set back."""
    last = max(names, default="")
    if copy_name(at_seconds) > last:
        return copy_name(at_seconds)
    parsed = datetime.strptime(last, NAME_FORMAT).replace(tzinfo=UTC)
    return copy_name(parsed.timestamp() + 1)


def is_copy_name(text: str) -> bool:
    """True if a copy can have this name."""
    if _is_name(text) is None:
        return False
    try:
        datetime.strptime(text, NAME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def is_digest(text: str) -> bool:
    """True for a SHA-256 in hexadecimal digits."""
    return _is_digest(text) is not None


def encode_manifest(manifest: Manifest) -> bytes:
    """The content of a manifest's file: a line of JSON, and a line with the SHA-256 of the first one."""
    line = msgspec.json.encode(manifest)
    return line + b"\n" + sha256(line).hexdigest().encode() + b"\n"


def decode_manifest(content: bytes, name: str) -> Manifest:
    """Read the content of the file of the manifest `name`. Raises ManifestDamaged."""
    line, _, digest = content.partition(b"\n")
    if digest != sha256(line).hexdigest().encode() + b"\n":
        raise ManifestDamaged("it is not as it was written, or cut")
    try:
        version = msgspec.json.decode(line, type=_Version).version
        if version != VERSION:
            raise ManifestNewer(f"it has version {version}, and this Hashrange reads version {VERSION}")
        manifest = msgspec.json.decode(line, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ManifestDamaged("it is no manifest of Hashrange") from None
    if manifest.name != name:
        raise ManifestDamaged(f"it is that of the copy {manifest.name}")
    if len({one.name for one in manifest.files}) < len(manifest.files):
        raise ManifestDamaged("it names a file twice")
    return manifest
