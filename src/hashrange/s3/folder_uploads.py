"""How are the parts of multipart uploads kept in a folder? Each upload in a folder of its own, until it is completed or
aborted, over restarts too. Blocks, and is called on threads.

    DIR/.hashrange/uploads/ID/upload.json          whose upload it is: account, bucket, key, headers of the object
    DIR/.hashrange/uploads/ID/00001-ETAG-SIZE      part 1
"""

import contextlib
import heapq
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from hashlib import md5
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec

from hashrange.items import steps
from hashrange.messages import s3 as say
from hashrange.s3.folder_files import (
    NO_CONDITIONS,
    Conditions,
    FolderFiles,
    ObjectRecord,
    PartRun,
    as_failures,
    id_of,
)
from hashrange.s3.limits import LIST_KEYS_MAX, PART_BYTES_MIN
from hashrange.s3.objects import S3Failure
from hashrange.s3.whole_files import NewFile, sync_names

_is_upload_id = re.compile(r"[0-9a-f]{32}", re.ASCII).fullmatch
_is_part = re.compile(r"([0-9]{5})-([0-9a-f]{32})-([0-9]+)", re.ASCII).fullmatch
_RECORD = "upload.json"


class UploadRecord(msgspec.Struct, frozen=True):
    """What an upload will be."""

    bucket: str
    key: str
    account: str
    headers: dict[str, str]
    bucket_id: str = ""
    """`BucketRecord.bucket_id`."""


class FoundUpload(NamedTuple):
    """An upload that has neither been completed nor aborted."""

    upload_id: str
    record: UploadRecord
    begun_ns: int


class UploadRange(NamedTuple):
    """Which uploads are wanted."""

    prefix: str = ""
    after: tuple[bytes, str] = b"", ""
    """Only those behind this key, as UTF-8, and id."""


ALL_UPLOADS = UploadRange()
BEHIND_ALL_IDS = "g"
"""Ids are numbers in hex."""


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
    """The uploads of one folder. To all but the account that has begun it, and once its bucket is deleted, there is no
    such upload, whoever has the bucket's name.
    """

    def __init__(self, files: FolderFiles) -> None:
        self._files = files
        self._newest_ns = 0

    @as_failures
    def create(self, bucket: str, key: str, account: str, headers: dict[str, str], owner: str = "") -> str:
        """Begin an upload, and return its id: ids of later uploads are greater. Raises NoSuchBucket, AccessDenied."""
        with self._files.changes:
            bucket_id = id_of(self._files.require_bucket(bucket, account, owner))
            file = self._files.begin_file()
            try:
                file.write(msgspec.json.encode(UploadRecord(bucket, key, account, headers, bucket_id)))
                file.sync()
                self._newest_ns = max(file.change_time(None).st_mtime_ns, self._newest_ns + 1)
                upload_id = f"{self._newest_ns:016x}{secrets.token_hex(8)}"
                folder = self._folder_of(upload_id)
                os.mkdir(folder, 0o700)
                file.rename(os.path.join(folder, _RECORD))
            finally:
                file.discard()
            sync_names(folder)
            sync_names(self._files.uploads)
        return upload_id

    @as_failures
    def require(self, upload_id: str, bucket: str, key: str, account: str, owner: str = "") -> UploadRecord:
        """An upload. Raises NoSuchBucket, AccessDenied, and NoSuchUpload if the account has no such one of this key."""
        bucket_id = id_of(self._files.require_bucket(bucket, account, owner))
        record = self._record(upload_id) if _is_upload_id(upload_id) else None
        if record is None or _place_of(record) != (bucket, bucket_id, account) or record.key != key:
            raise no_such_upload(upload_id)
        return record

    def _folder_of(self, upload_id: str) -> str:
        return os.path.join(self._files.uploads, upload_id)

    def _record(self, upload_id: str) -> UploadRecord | None:
        try:
            with open(os.path.join(self._folder_of(upload_id), _RECORD), "rb") as file:
                return msgspec.json.decode(file.read(), type=UploadRecord)
        except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
            return None

    @as_failures
    def put_part(self, upload_id: str, number: int, file: NewFile, etag: str) -> None:
        """Let a file be a part of an upload that exists, in place of an earlier one with its number."""
        file.sync()
        folder = self._folder_of(upload_id)
        with self._files.changes:
            former = [one for one in self.parts(upload_id) if one.number == number]
            path = os.path.join(folder, f"{number:05d}-{etag}-{file.size_bytes}")
            try:
                file.rename(path)
            except FileNotFoundError:
                raise no_such_upload(upload_id) from None
            for one in former:
                if one.path != path:
                    os.unlink(one.path)
            sync_names(folder)

    @as_failures
    def parts(self, upload_id: str) -> list[FoundPart]:
        """The parts of an upload that exists, in order of their numbers."""
        found = []
        folder = self._folder_of(upload_id)
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
        for name in names:
            part = _is_part(name)
            if part is not None:
                found.append(FoundPart(int(part[1]), part[2], int(part[3]), os.path.join(folder, name)))
        return steps.sort(found)  # in pieces, between which other threads have turns

    @as_failures
    def complete(
        self,
        upload_id: str,
        record: UploadRecord,
        wanted: Sequence[WantedPart],
        owner: str = "",
        conditions: Conditions = NO_CONDITIONS,
    ) -> ObjectRecord:
        """Let these parts together be the object. Raises InvalidPart, InvalidPartOrder, EntityTooSmall, and
        NoSuchUpload if the upload ends meanwhile, as when its bucket is deleted.
        """
        parts = _chosen(self.parts(upload_id), wanted)
        file = self._files.begin_file()
        try:
            for part in parts:
                try:
                    descriptor = os.open(part.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
                except FileNotFoundError:  # the upload has ended meanwhile, or the part has been replaced
                    self.require(upload_id, record.bucket, record.key, record.account, owner)
                    raise _invalid_part(part.number, part.etag) from None
                try:
                    file.copy_from(descriptor, part.size_bytes)
                finally:
                    os.close(descriptor)
            hashes = b"".join(bytes.fromhex(part.etag) for part in parts)
            etag = f"{md5(hashes).hexdigest()}-{len(parts)}"
            runs = tuple(PartRun(len(list(run)), size) for size, run in groupby(part.size_bytes for part in parts))
            file.sync()
            bucket, key, account = record.bucket, record.key, record.account
            with self._files.changes:
                self.require(upload_id, bucket, key, account, owner)
                placed = self._files.place(bucket, key, file, etag, record.headers, account, owner, conditions, runs)
                self.delete(upload_id)
        finally:
            file.discard()
        return placed

    @as_failures
    def delete(self, upload_id: str) -> None:
        """Forget an upload and its parts."""
        self._delete_all((upload_id,))

    def _delete_all(self, upload_ids: Iterable[str]) -> None:
        """Forget uploads and their parts. The disk is waited for once: a bucket may have many."""
        for upload_id in upload_ids:
            with self._files.changes:
                taken = self._files.discarded.take(self._folder_of(upload_id))
            self._files.discarded.delete(taken)
        sync_names(self._files.uploads)

    @as_failures
    def uploads_of(
        self, bucket: str, account: str, wanted: UploadRange = ALL_UPLOADS, most: int = LIST_KEYS_MAX, owner: str = ""
    ) -> list[FoundUpload]:
        """The first uploads of an account to a bucket that are wanted, at most so many, in order of keys, then of their
        beginnings.
        """
        place = bucket, id_of(self._files.require_bucket(bucket, account, owner)), account
        return heapq.nsmallest(most, self._wanted(place, wanted), key=_order_of)

    def _wanted(self, place: tuple[str, str, str], wanted: UploadRange) -> Iterator[FoundUpload]:
        for upload_id in self._ids():
            record = self._record(upload_id)
            if record is None or _place_of(record) != place or not record.key.startswith(wanted.prefix):
                continue
            with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
                begun_ns = os.stat(os.path.join(self._folder_of(upload_id), _RECORD)).st_mtime_ns
                found = FoundUpload(upload_id, record, begun_ns)
                if _order_of(found) > wanted.after:
                    yield found

    @as_failures
    def discard_of(self, bucket: str, bucket_id: str) -> None:
        """Delete all uploads to a bucket that has been deleted."""
        records = ((one, self._record(one)) for one in self._ids())
        gone = (bucket, bucket_id)
        self._delete_all(one for one, record in records if record and (record.bucket, record.bucket_id) == gone)

    @as_failures
    def discard_left_behind(self) -> None:
        """Delete the uploads whose bucket is gone, or another's now, and parts without a record: what is left by a
        killed process, or by somebody who has removed a bucket's folder by hand.
        """
        self._delete_all(one for one in self._ids() if self._is_left_behind(one))

    def _is_left_behind(self, upload_id: str) -> bool:
        record = self._record(upload_id)
        if record is not None:
            return not self._has_bucket(record)
        has_none = not os.path.lexists(os.path.join(self._folder_of(upload_id), _RECORD))
        return has_none and bool(self.parts(upload_id))

    def _has_bucket(self, record: UploadRecord) -> bool:
        try:
            return id_of(self._files.require_bucket(record.bucket, record.account)) == record.bucket_id
        except S3Failure as failure:
            return failure.http_status >= 500  # not known

    def _ids(self) -> list[str]:
        with os.scandir(self._files.uploads) as entries:
            return [entry.name for entry in entries if _is_upload_id(entry.name)]


def no_such_upload(upload_id: str) -> S3Failure:
    """The error that says that there is no such upload."""
    return S3Failure("NoSuchUpload", say.NO_SUCH_UPLOAD, 404, UploadId=upload_id)


def _order_of(upload: FoundUpload) -> tuple[bytes, str]:
    return upload.record.key.encode(), upload.upload_id


def _place_of(record: UploadRecord) -> tuple[str, str, str]:
    """The very bucket that an upload is for, and the account that has begun it."""
    return record.bucket, record.bucket_id, record.account


def _invalid_part(number: int, etag: str) -> S3Failure:
    return S3Failure("InvalidPart", say.INVALID_PART, 400, PartNumber=number, ETag=etag)


def _chosen(found: Sequence[FoundPart], wanted: Sequence[WantedPart]) -> list[FoundPart]:
    by_number = {part.number: part for part in found}
    if any(first.number >= second.number for first, second in pairwise(wanted)):
        raise S3Failure("InvalidPartOrder", say.INVALID_PART_ORDER)
    chosen = []
    for number, etag in wanted:
        part = by_number.get(number)
        if part is None or part.etag != etag:
            raise _invalid_part(number, etag)
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
