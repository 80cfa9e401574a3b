"""How are the parts of multipart uploads kept in a folder? Each upload in a folder of its own, until it is completed or
aborted, over restarts too. Blocks, and is called on threads.

    DIR/.hashrange/uploads/ID/upload.json          whose upload it is: bucket, key, headers of the object
    DIR/.hashrange/uploads/ID/00001-ETAG-SIZE      part 1
"""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from hashlib import md5
from itertools import pairwise
from typing import NamedTuple

import msgspec

from hashrange.messages import s3 as say
from hashrange.s3.folder_files import NO_CONDITIONS, Conditions, FolderFiles, ObjectRecord, as_failures
from hashrange.s3.limits import PART_BYTES_MIN
from hashrange.s3.objects import S3Failure
from hashrange.s3.whole_files import NewFile, sync_names, write_whole

_is_upload_id = re.compile(r"[0-9a-f]{32}", re.ASCII).fullmatch
_is_part = re.compile(r"([0-9]{5})-([0-9a-f]{32})-([0-9]+)", re.ASCII).fullmatch
_RECORD = "upload.json"


class UploadRecord(msgspec.Struct, frozen=True):
    """What an upload will be."""

    bucket: str
    key: str
    account: str
    headers: dict[str, str]


class FoundUpload(NamedTuple):
    """An upload that has neither been completed nor aborted."""

    upload_id: str
    record: UploadRecord
    begun_ns: int


class FoundPart(NamedTuple):
    """A part of an upload."""

    number: int
    etag: str
    size_bytes: int
    path: str


class WantedPart(NamedTuple):
    """A part that an upload is to be completed with."""

    number: int
    etag: str


class FolderUploads:
    """The uploads of one folder."""

    def __init__(self, files: FolderFiles) -> None:
        self._files = files

    @as_failures
    def create(self, record: UploadRecord) -> str:
        """Begin an upload, and return its id."""
        upload_id = secrets.token_hex(16)
        folder = os.path.join(self._files.uploads, upload_id)
        os.mkdir(folder, 0o700)
        write_whole(os.path.join(folder, _RECORD), msgspec.json.encode(record), self._files.receiving)
        sync_names(self._files.uploads)
        return upload_id

    @as_failures
    def require(self, upload_id: str, bucket: str, key: str) -> UploadRecord:
        """An upload. Raises NoSuchUpload if there is none of this bucket and key."""
        record = self._record(upload_id) if _is_upload_id(upload_id) else None
        if record is None or (record.bucket, record.key) != (bucket, key):
            raise S3Failure("NoSuchUpload", say.NO_SUCH_UPLOAD, 404, UploadId=upload_id)
        return record

    def _record(self, upload_id: str) -> UploadRecord | None:
        try:
            with open(os.path.join(self._files.uploads, upload_id, _RECORD), "rb") as file:
                return msgspec.json.decode(file.read(), type=UploadRecord)
        except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
            return None

    @as_failures
    def put_part(self, upload_id: str, number: int, file: NewFile, etag: str) -> None:
        """Let a file be a part of an upload that exists, in place of an earlier one with its number."""
        file.sync()
        folder = os.path.join(self._files.uploads, upload_id)
        with self._files.changes:
            former = [one for one in self.parts(upload_id) if one.number == number]
            path = os.path.join(folder, f"{number:05d}-{etag}-{file.size_bytes}")
            try:
                file.rename(path)
            except FileNotFoundError:
                raise S3Failure("NoSuchUpload", say.NO_SUCH_UPLOAD, 404, UploadId=upload_id) from None
            for one in former:
                if one.path != path:
                    os.unlink(one.path)
            sync_names(folder)

    @as_failures
    def parts(self, upload_id: str) -> list[FoundPart]:
        """The parts of an upload that exists, in order of their numbers."""
        found = []
        folder = os.path.join(self._files.uploads, upload_id)
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
        for name in names:
            part = _is_part(name)
            if part is not None:
                found.append(FoundPart(int(part[1]), part[2], int(part[3]), os.path.join(folder, name)))
        return sorted(found)

    @as_failures
    def complete(
        self,
        upload_id: str,
        record: UploadRecord,
        wanted: Sequence[WantedPart],
        owner: str = "",
        conditions: Conditions = NO_CONDITIONS,
    ) -> ObjectRecord:
        """Let these parts together be the object. Raises InvalidPart, InvalidPartOrder, EntityTooSmall."""
        parts = _chosen(self.parts(upload_id), wanted)
        file = self._files.begin_file()
        try:
            for part in parts:
                descriptor = os.open(part.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
                try:
                    file.copy_from(descriptor, part.size_bytes)
                finally:
                    os.close(descriptor)
            hashes = b"".join(bytes.fromhex(part.etag) for part in parts)
            etag = f"{md5(hashes).hexdigest()}-{len(parts)}"
            placed = self._files.place(
                record.bucket, record.key, file, etag, record.headers, record.account, owner, conditions
            )
        finally:
            file.discard()
        self.delete(upload_id)
        return placed

    @as_failures
    def delete(self, upload_id: str) -> None:
        """Forget an upload and its parts."""
        with self._files.changes:
            folder = os.path.join(self._files.uploads, upload_id)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, _RECORD))
            shutil.rmtree(folder, ignore_errors=True)
            sync_names(self._files.uploads)

    @as_failures
    def uploads_of(self, bucket: str) -> list[FoundUpload]:
        """The uploads of a bucket, in order of keys, then of their beginnings."""
        found = []
        with os.scandir(self._files.uploads) as entries:
            for entry in entries:
                record = self._record(entry.name) if _is_upload_id(entry.name) else None
                if record is not None and record.bucket == bucket:
                    found.append(FoundUpload(entry.name, record, entry.stat().st_mtime_ns))
        return sorted(found, key=lambda one: (one.record.key.encode(), one.begun_ns))


def _chosen(found: Sequence[FoundPart], wanted: Sequence[WantedPart]) -> list[FoundPart]:
    by_number = {part.number: part for part in found}
    if any(first.number >= second.number for first, second in pairwise(wanted)):
        raise S3Failure("InvalidPartOrder", say.INVALID_PART_ORDER)
    chosen = []
    for number, etag in wanted:
        part = by_number.get(number)
        if part is None or part.etag != etag:
            raise S3Failure("InvalidPart", say.INVALID_PART, 400, PartNumber=number, ETag=etag)
        chosen.append(part)
    for part in chosen[:-1]:
        if part.size_bytes < PART_BYTES_MIN:
            raise S3Failure(
                "EntityTooSmall",
                say.PART_TOO_SMALL,
                400,
                ProposedSize=part.size_bytes,
                MinSizeAllowed=PART_BYTES_MIN,
                PartNumber=part.number,
                ETag=part.etag,
            )
    return chosen
