"""How are objects kept in a folder? Each as a file below the folder of its bucket, with a record of what is known of it
beside its content. Every function here blocks, and is called on a thread (`s3/folder.py`).

    DIR/photos/2026/cat.jpg                                  the object 2026/cat.jpg of the bucket photos
    DIR/.hashrange/format.json                               version of the layout, and how names are written
    DIR/.hashrange/buckets/photos.json                       whose bucket it is; none: that of every account
    DIR/.hashrange/objects/photos/2026/cat.jpg%json          the record of the object: ETag, headers
    DIR/.hashrange/receiving/…                               files that are being written
    DIR/.hashrange/uploads/…                                 parts of multipart uploads (`s3/folder_uploads.py`)
    DIR/.hashrange/discarded/…                               what is being deleted (`s3/discarded.py`)

A file that somebody else has put into a bucket's folder is an object without a record. Links are not followed.
A file replaces another by a rename once it is whole and synced, with its record before it. A record file holds the
records of the new file and of the one before, so whichever is there after a power cut has its record.
One lock lets one change of names happen at a time. docs/formats/s3-folder.md describes every byte.
"""

import contextlib
import errno
import os
import secrets
import stat
import threading
from collections import deque
from collections.abc import Callable
from functools import wraps
from hashlib import md5
from typing import NamedTuple, ParamSpec, TypeVar

import msgspec

from hashrange.items import steps
from hashrange.messages import s3 as say
from hashrange.s3.discarded import DiscardedFolders
from hashrange.s3.key_paths import FILE_ENDING, RECORD_ENDING, names_of_key
from hashrange.s3.objects import S3Failure
from hashrange.s3.whole_files import NewFile, OpenFile, discard_left_behind, open_regular, sync_names, write_whole
from hashrange.settings import SettingUnusable

OWN_FOLDER = ".hashrange"
"""No bucket's name begins with a dot."""
FORMAT = 1
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT))
_NOT_THERE = (FileNotFoundError, NotADirectoryError)

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class PartRun(NamedTuple):
    """Parts of an upload that follow one another and have one size."""

    part_count: int
    size_bytes: int


class ObjectRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a file beside its content. Size and time say of which file."""

    size_bytes: int
    modified_ns: int
    etag: str
    headers: dict[str, str] = {}
    """Headers of a reply with the object, by lower-case name: content type, metadata, storage class, …"""
    parts: tuple[PartRun, ...] = ()
    """The parts in which it was sent; none if it came at once."""


class BucketRecord(msgspec.Struct, frozen=True):
    """Whose bucket it is."""

    account: str
    region: str
    bucket_id: str = ""
    """Tells the bucket from earlier ones of its name; empty: a bucket of an earlier version of the program."""


class FoundBucket(NamedTuple):
    """A bucket in a list."""

    name: str
    changed_ns: int


class FolderFormat(msgspec.Struct, frozen=True):
    """How a folder is laid out."""

    format: int
    is_folding: bool
    """True if names tell capitals by an ending (`key_paths.py`)."""


class Conditions(NamedTuple):
    """What must hold of an object that is replaced or read; empty: nothing."""

    if_match: str = ""
    """An ETag, or `*` for any object."""
    if_none_match: str = ""


NO_CONDITIONS = Conditions()


def as_failures(work: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """A function that raises S3Failure for each OSError of `work`."""

    @wraps(work)
    def with_failures(*arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
        try:
            return work(*arguments, **named)
        except OSError as error:
            raise failure_of(error) from error

    return with_failures


def failure_of(error: OSError) -> S3Failure:
    """S3's error for what the file system refuses."""
    reason = error.strerror or str(error)
    if error.errno == errno.ENAMETOOLONG:
        return S3Failure("KeyTooLongError", say.KEY_TOO_LONG)
    if error.errno in _NO_ROOM:
        return S3Failure("InternalError", say.FOLDER_FULL.format(reason=reason), 500)
    return S3Failure("InternalError", say.FOLDER_FAILED.format(reason=reason), 500)


def no_such_key(key: str) -> S3Failure:
    """The error that says that there is no such object."""
    return S3Failure("NoSuchKey", say.NO_SUCH_KEY, 404, Key=key)


class FolderFiles:
    """The files of one folder."""

    def __init__(self, root: str) -> None:
        """Makes the folder if it does not exist, and deletes what a killed process has left unfinished.
        Raises SettingUnusable.
        """
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
            self.root = os.path.realpath(root)
            own = os.path.join(self.root, OWN_FOLDER)
            self.receiving, self.uploads = os.path.join(own, "receiving"), os.path.join(own, "uploads")
            self._buckets, self._records = os.path.join(own, "buckets"), os.path.join(own, "objects")
            discarded = os.path.join(own, "discarded")
            for folder in (own, self.receiving, self.uploads, self._buckets, self._records, discarded):
                os.makedirs(folder, mode=0o700, exist_ok=True)
            self.is_folding = self._read_format(os.path.join(own, "format.json"))
            discard_left_behind(self.receiving)
            self.discarded = DiscardedFolders(discarded)
        except OSError as error:
            raise SettingUnusable(
                f"--s3-folder {root} cannot be used: {error.strerror or error}. It must be a folder that this user may"
                " write."
            ) from error
        self.changes = threading.RLock()
        """Held while names in the folder change."""

    def _read_format(self, path: str) -> bool:
        folds = _is_folding(self.receiving)
        try:
            with open(path, "rb") as file:
                written = msgspec.json.decode(file.read(), type=FolderFormat)
        except FileNotFoundError:
            write_whole(path, msgspec.json.encode(FolderFormat(FORMAT, folds)), self.receiving)
            return folds
        except msgspec.MsgspecError as error:
            raise SettingUnusable(f"--s3-folder {self.root}: {path} cannot be read: {error}.") from error
        if written.format != FORMAT or (folds and not written.is_folding):
            why = (
                f"its layout has the version {written.format}, and this program knows {FORMAT}"
                if written.format != FORMAT
                else "it was made on a file system that tells capitals from small letters, and this one does not"
            )
            raise SettingUnusable(f"--s3-folder {self.root} cannot be used: {why}. Choose another folder.")
        return written.is_folding

    def begin_file(self) -> NewFile:
        """A new file, which is nobody's object before it is placed."""
        return NewFile(self.receiving)

    # --- buckets --------------------------------------------------------------------------------

    @as_failures
    def bucket_folder(self, bucket: str, account: str, owner: str = "") -> str:
        """The folder of a bucket. Raises as `require_bucket`."""
        self.require_bucket(bucket, account, owner)
        return os.path.join(self.root, bucket)

    @as_failures
    def require_bucket(self, bucket: str, account: str, owner: str = "") -> BucketRecord | None:
        """The record of a bucket, if it has one. Raises NoSuchBucket, and AccessDenied for a bucket of another account,
        or of another than `owner`.
        """
        if not is_bucket_name(bucket) or not _is_folder(os.path.join(self.root, bucket)):
            raise S3Failure("NoSuchBucket", say.NO_SUCH_BUCKET, 404, BucketName=bucket)
        record = self.bucket_record(bucket)
        if record is not None and (record.account != account or (owner and record.account != owner)):
            raise S3Failure("AccessDenied", say.ACCESS_DENIED, 403)
        return record

    def bucket_record(self, bucket: str) -> BucketRecord | None:
        """Whose bucket it is; None: that of every account, because somebody made its folder by hand."""
        try:
            with open(os.path.join(self._buckets, f"{bucket}.json"), "rb") as file:
                return msgspec.json.decode(file.read(), type=BucketRecord)
        except FileNotFoundError:
            return None

    @as_failures
    def create_bucket(self, bucket: str, account: str, region: str) -> bool:
        """Make a bucket; False if the account has it already. Raises InvalidBucketName, BucketAlreadyExists."""
        if not is_bucket_name(bucket):
            raise S3Failure("InvalidBucketName", say.INVALID_BUCKET_NAME, 400, BucketName=bucket)
        folder = os.path.join(self.root, bucket)
        with self.changes:
            if os.path.lexists(folder):
                record = self.bucket_record(bucket)
                if not _is_folder(folder) or (record is not None and record.account != account):
                    raise S3Failure("BucketAlreadyExists", say.BUCKET_EXISTS, 409, BucketName=bucket)
                return False
            left = self.discarded.take(os.path.join(self._records, bucket))  # of one whose folder went by hand
            record = BucketRecord(account, region, secrets.token_hex(8))
            write_whole(os.path.join(self._buckets, f"{bucket}.json"), msgspec.json.encode(record), self.receiving)
            os.mkdir(folder, 0o700)
            sync_names(self.root)
        self.discarded.delete(left)
        return True

    @as_failures
    def delete_bucket(self, bucket: str, account: str, owner: str = "") -> str:
        """Delete a bucket without objects, and return its id. Raises BucketNotEmpty."""
        with self.changes:
            record = self.require_bucket(bucket, account, owner)
            folder = os.path.join(self.root, bucket)
            try:
                os.rmdir(folder)
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                raise S3Failure("BucketNotEmpty", say.BUCKET_NOT_EMPTY, 409, BucketName=bucket) from None
            left = self.discarded.take(os.path.join(self._records, bucket))  # records of files that went by hand
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._buckets, f"{bucket}.json"))
            sync_names(self.root)
        self.discarded.delete(left)
        return id_of(record)

    @as_failures
    def buckets_of(self, account: str, most: int, prefix: str = "", after: str = "") -> "deque[FoundBucket]":
        """The first buckets behind the name `after` that an account sees, at most so many, in order of names."""
        names = []
        with os.scandir(self.root) as entries:
            for entry in entries:
                is_wanted = entry.name > after and entry.name.startswith(prefix) and is_bucket_name(entry.name)
                if is_wanted and entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
        found = deque[FoundBucket]()
        for name in steps.sort(names):  # in pieces, between which other threads have turns
            record = self.bucket_record(name)
            if record is None or record.account == account:
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    found.append(FoundBucket(name, os.lstat(os.path.join(self.root, name)).st_mtime_ns))
                if len(found) == most:
                    break
        return found

    # --- objects --------------------------------------------------------------------------------

    @as_failures
    def open_object(self, bucket: str, key: str, account: str, owner: str = "") -> tuple[OpenFile, ObjectRecord]:
        """The open file of an object, and its record. Raises NoSuchBucket, AccessDenied and NoSuchKey."""
        folder, name = self._place_of(self.bucket_folder(bucket, account, owner), key)
        for path in (os.path.join(folder, name), os.path.join(folder, name + FILE_ENDING)):
            file = open_regular(path)
            if file is not None:
                break
        else:
            raise no_such_key(key)
        try:
            if os.path.realpath(folder) != folder:
                raise no_such_key(key)
            self.bucket_folder(bucket, account, owner)  # another account may have taken the bucket's name before
            return file, self.record_of(bucket, key, file.state())
        except BaseException:
            file.close()
            raise

    def record_of(self, bucket: str, key: str, found: os.stat_result) -> ObjectRecord:
        """The record of an object's file; one that is made up if the file is somebody else's."""
        for record in self._read_records(self._record_path(bucket, key)):
            if (record.size_bytes, record.modified_ns) == (found.st_size, found.st_mtime_ns):
                return record
        made_up = f"{found.st_size}-{found.st_mtime_ns}-{found.st_ino}".encode()
        return ObjectRecord(found.st_size, found.st_mtime_ns, f"{md5(made_up).hexdigest()}-1")

    @as_failures
    def place(
        self,
        bucket: str,
        key: str,
        file: NewFile,
        etag: str,
        headers: dict[str, str],
        account: str,
        owner: str = "",
        conditions: Conditions = NO_CONDITIONS,
        parts: tuple[PartRun, ...] = (),
    ) -> ObjectRecord:
        """Let a file be the object of a key, once all of it is on the disk. Raises PreconditionFailed, NoSuchBucket."""
        file.sync()
        with self.changes:
            root = self.bucket_folder(bucket, account, owner)
            folder, name = self._place_of(root, key)
            former = self._find(folder, name)
            former_stat = None if former is None else os.lstat(former)
            before = None if former_stat is None else self.record_of(bucket, key, former_stat)
            require(conditions, None if before is None else before.etag)
            try:
                self._make_folders(root, folder)
                target = self._target(folder, name)
                found = file.change_time(None if former_stat is None else former_stat.st_mtime_ns)
                record = ObjectRecord(found.st_size, found.st_mtime_ns, etag, headers, parts)
                self._write_records(bucket, key, [record] if before is None else [record, before])
                file.rename(target)
            except BaseException:
                _delete_empty(folder, root)
                raise
            sync_names(folder)
        return record

    @as_failures
    def delete_object(
        self, bucket: str, key: str, account: str, owner: str = "", conditions: Conditions = NO_CONDITIONS
    ) -> bool:
        """Delete an object; False if there is none. Folders that are empty then are deleted too."""
        with self.changes:
            root = self.bucket_folder(bucket, account, owner)
            folder, name = self._place_of(root, key)
            found = self._find(folder, name)
            etag = None if found is None else self.record_of(bucket, key, os.lstat(found)).etag
            if conditions.if_match:
                require(conditions, etag)
            if found is None:
                return False
            os.unlink(found)
            sync_names(folder)
            record = self._record_path(bucket, key)
            with contextlib.suppress(*_NOT_THERE):
                os.unlink(record)
            _delete_empty(folder, root)
            _delete_empty(os.path.dirname(record), os.path.join(self._records, bucket))
        return True

    # --- names ----------------------------------------------------------------------------------

    def _place_of(self, root: str, key: str) -> tuple[str, str]:
        """The folder of a key's object, and the object's name there."""
        *folders, name = names_of_key(key, self.is_folding)
        return os.path.join(root, *folders), name

    def _record_path(self, bucket: str, key: str) -> str:
        names = names_of_key(key, self.is_folding)
        return os.path.join(self._records, bucket, *names) + RECORD_ENDING

    def _find(self, folder: str, name: str) -> str | None:
        """The path of an object's file; None if there is none. Raises AccessDenied for a path over links."""
        for path in (os.path.join(folder, name), os.path.join(folder, name + FILE_ENDING)):
            try:
                is_file = stat.S_ISREG(os.lstat(path).st_mode)
            except _NOT_THERE:
                continue
            if os.path.realpath(folder) != folder:
                raise S3Failure("AccessDenied", say.ACCESS_DENIED, 403)
            if is_file:
                return path
        return None

    def _target(self, folder: str, name: str) -> str:
        """Where the file of an object goes: beside a folder of its name, if there is one."""
        path, beside = os.path.join(folder, name), os.path.join(folder, name + FILE_ENDING)
        if _is_folder(path) or os.path.lexists(beside):
            path = beside
        try:
            is_file = stat.S_ISREG(os.lstat(path).st_mode)
        except FileNotFoundError:
            return path
        if not is_file:
            raise S3Failure("AccessDenied", say.ACCESS_DENIED, 403)
        return path

    def _make_folders(self, root: str, folder: str) -> None:
        """Make the folders between a bucket's folder and that of an object. A file in the way moves beside the folder
        that takes its name. Raises AccessDenied if a link is in the way.
        """
        missing = []
        while len(folder) > len(root) and not _is_folder(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        if os.path.realpath(folder) != folder:
            raise S3Failure("AccessDenied", say.ACCESS_DENIED, 403)
        for one in reversed(missing):
            if os.path.lexists(one):
                if not stat.S_ISREG(os.lstat(one).st_mode):
                    raise S3Failure("AccessDenied", say.ACCESS_DENIED, 403)
                os.rename(one, one + FILE_ENDING)
            os.mkdir(one, 0o700)
        for one in reversed(
            missing
        ):  # once all are made: the first sync of a usual file system then writes all of them
            sync_names(os.path.dirname(one))

    # --- records --------------------------------------------------------------------------------

    def _read_records(self, path: str) -> list[ObjectRecord]:
        try:
            with open(path, "rb") as file:
                return msgspec.json.decode(file.read(), type=list[ObjectRecord])
        except (*_NOT_THERE, msgspec.MsgspecError):
            return []

    def _write_records(self, bucket: str, key: str, records: list[ObjectRecord]) -> None:
        path = self._record_path(bucket, key)
        missing, folder = list[str](), os.path.dirname(path)
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for one in reversed(missing):  # os.makedirs calls itself for each level, of which there may be a thousand
            os.mkdir(one, 0o700)
        write_whole(path, msgspec.json.encode(records), self.receiving)


def id_of(record: BucketRecord | None) -> str:
    """What tells a bucket from earlier ones of its name; empty for a bucket that was made by hand."""
    return "" if record is None else record.bucket_id


def require(conditions: Conditions, etag: str | None) -> None:
    """Raise PreconditionFailed if the object with this ETag, or that there is none, does not meet the conditions."""
    wanted, unwanted = conditions
    is_met = (not wanted or (etag is not None and wanted in ("*", etag))) and (
        not unwanted or etag is None or unwanted not in ("*", etag)
    )
    if not is_met:
        raise S3Failure("PreconditionFailed", say.PRECONDITION_FAILED, 412)


def is_bucket_name(name: str) -> bool:
    """True if a bucket may have this name: 3 to 63 of lower-case letters, digits, dots and hyphens, the first and the
    last of them a letter or digit, and no two dots in a row.
    """
    letters = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
    is_framed = 3 <= len(name) <= 63 and name[0] in letters and name[-1] in letters
    return is_framed and ".." not in name and letters.union(".-").issuperset(name)


def _is_folder(path: str) -> bool:
    """True if the path is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except _NOT_THERE:
        return False


def _is_folding(folder: str) -> bool:
    """True if the file system takes capitals for small letters."""
    probe = os.path.join(folder, f"probe-{os.getpid()}-a")
    with open(probe, "wb"):
        pass
    try:
        return os.path.lexists(probe[:-1] + "A")
    finally:
        os.unlink(probe)


def _delete_empty(folder: str, root: str) -> None:
    """Delete a folder below `root`, and those above it, as long as they are empty."""
    if os.rmdir not in os.supports_dir_fd:
        while len(folder) > len(root) and _deleted(folder):
            folder = os.path.dirname(folder)
        return
    # From each folder to the one above, because a path of a thousand names takes a millisecond to follow.
    above = None
    try:
        while len(folder) > len(root):
            folder, name = os.path.split(folder)
            below, above = above, os.open(folder if above is None else "..", _FOLDER, dir_fd=above)
            if below is not None:
                os.close(below)
            if not _deleted(name, above):
                return
    except OSError:
        return
    finally:
        if above is not None:
            os.close(above)


def _deleted(path: str, folder: int | None = None) -> bool:
    """True once the folder of this path, or of this name in an open folder, is deleted; False if it is not empty."""
    try:
        os.rmdir(path, dir_fd=folder)
    except OSError:
        return False
    return True
