"""How is a folder an S3, for exports and imports, and for the server's own S3 (`s3/api`)? Its files are read and
written on a few threads beside the event loop; what the files are is in `s3/folder_files.py`.

All work on one file is done by one thread, so it happens in order, also after its caller has been cancelled.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from hashlib import md5
from itertools import count, islice
from weakref import WeakValueDictionary

from hashrange.messages import s3 as say
from hashrange.s3.folder_files import FolderFiles, as_failures
from hashrange.s3.folder_uploads import FolderUploads
from hashrange.s3.folder_walk import MANY_AT_ONCE, FolderWalk, FoundObject, ListRange
from hashrange.s3.limits import LIST_KEYS_MAX
from hashrange.s3.objects import CHUNK_BYTES_MAX, NO_OPTIONS, ObjectInfo, ObjectOptions, Objects, S3Failure
from hashrange.s3.whole_files import NewFile, OpenFile
from hashrange.work_threads import WorkThread

THREADS = 4
_folders: "WeakValueDictionary[str, S3Folder]" = WeakValueDictionary()
"""Those in use, by path: a server and its forks share one, with its lock."""


def open_folder(root: str) -> "S3Folder":
    """The S3 of a folder, which is made if it does not exist. Raises SettingUnusable."""
    path = os.path.realpath(root)
    folder = _folders.get(path)
    if folder is None:
        folder = _folders[path] = S3Folder(root)
    return folder


class S3Folder:
    """A folder whose subfolders are buckets."""

    def __init__(self, root: str) -> None:
        """Raises SettingUnusable."""
        self.files = FolderFiles(root)
        self.uploads = FolderUploads(self.files)
        self._threads = [WorkThread(f"hashrange-s3-{number}") for number in range(THREADS)]
        self._turns = count()
        self.thread().submit(self._discard_left_behind)

    def _discard_left_behind(self) -> None:
        """Delete what earlier processes have left, beside the event loop: uploads may have gigabytes."""
        self.files.discarded.delete_all()
        self.uploads.discard_left_behind()

    def thread(self) -> WorkThread:
        """A thread for the work on one file, or for one question."""
        return self._threads[next(self._turns) % THREADS]

    def objects_of(self, account: str) -> Objects:
        """The folder as this account sees it."""
        return _FolderObjects(self, account)

    def delete_bucket(self, bucket: str, account: str, owner: str = "") -> None:
        """Delete a bucket without objects, and the uploads to it that have not ended. Blocks. Raises S3Failure."""
        bucket_id = self.files.delete_bucket(bucket, account, owner)
        self.uploads.discard_of(bucket, bucket_id)

    def begin_list(
        self, bucket: str, account: str, wanted: ListRange, owner: str = "", at_once: int = MANY_AT_ONCE
    ) -> Iterator[FoundObject]:
        """The objects of a bucket that are wanted. Blocks, as each step of the walk. Raises S3Failure."""
        root = self.files.bucket_folder(bucket, account, owner)
        return iter(FolderWalk(root, wanted, self.files.is_folding, at_once))


@as_failures
def next_objects(walk: Iterator[FoundObject], most: int) -> list[FoundObject]:
    """The next objects of a walk. Blocks. Raises S3Failure."""
    return list(islice(walk, most))


class _FolderObjects:
    """The objects in a folder, as one account sees them."""

    def __init__(self, folder: S3Folder, account: str) -> None:
        self._folder = folder
        self._account = account

    async def list_objects(self, bucket: str, prefix: str, *, owner: str = "") -> AsyncGenerator[ObjectInfo, None]:
        thread = self._folder.thread()
        wanted = ListRange(prefix)
        walk = await thread.run(self._folder.begin_list, bucket, self._account, wanted, owner)
        while page := await thread.run(self._next_page, bucket, walk, owner):
            for info in page:
                yield info

    def _next_page(self, bucket: str, walk: Iterator[FoundObject], owner: str) -> list[ObjectInfo]:
        files = self._folder.files
        page = [
            ObjectInfo(one.key, one.found.st_size, files.record_of(bucket, one.key, one.found).etag)
            for one in next_objects(walk, LIST_KEYS_MAX)
            if one.found is not None
        ]
        files.bucket_folder(bucket, self._account, owner)  # another account may have taken the bucket's name meanwhile
        return page

    async def read(
        self, bucket: str, key: str, start: int = 0, *, etag: str = "", owner: str = ""
    ) -> AsyncGenerator[bytes, None]:
        thread = self._folder.thread()
        file = await thread.run(self._open, bucket, key, start, etag, owner)
        try:
            while chunk := await thread.run(as_failures(file.read), CHUNK_BYTES_MAX):
                yield chunk
        finally:
            thread.submit(file.close)  # behind a read that goes on although the caller has been cancelled

    def _open(self, bucket: str, key: str, start: int, etag: str, owner: str) -> OpenFile:
        files = self._folder.files
        file, record = files.open_object(bucket, key, self._account, owner)
        if etag and record.etag != etag:
            file.close()
            raise S3Failure("PreconditionFailed", say.PRECONDITION_FAILED, 412)
        file.seek(start)
        return file

    async def write(
        self,
        bucket: str,
        key: str,
        chunks: AsyncIterable[bytes],
        options: ObjectOptions = NO_OPTIONS,
        *,
        owner: str = "",
    ) -> str:
        files, thread = self._folder.files, self._folder.thread()
        await thread.run(files.bucket_folder, bucket, self._account, owner)
        file = await thread.run(as_failures(files.begin_file))
        hashed = md5()

        @as_failures
        def add(chunk: bytes) -> None:
            hashed.update(chunk)
            file.write(chunk)

        try:
            async for chunk in chunks:
                await thread.run(add, chunk)
            record = await thread.run(self._place, bucket, key, file, hashed.hexdigest(), options, owner)
        except BaseException:
            thread.submit(
                file.discard
            )  # behind all other work on the file, and not awaited: the caller may be cancelled
            raise
        return record

    def _place(self, bucket: str, key: str, file: NewFile, etag: str, options: ObjectOptions, owner: str) -> str:
        headers = headers_of(options)
        return self._folder.files.place(bucket, key, file, etag, headers, self._account, owner).etag

    async def close(self) -> None:
        """There is nothing to close: threads end when there is no work."""


def headers_of(options: ObjectOptions) -> dict[str, str]:
    """The headers by which S3 is told these options."""
    named = {
        "content-type": options.content_type,
        "x-amz-server-side-encryption": options.encryption,
        "x-amz-server-side-encryption-aws-kms-key-id": options.kms_key_id,
        "x-amz-storage-class": options.storage_class,
    }
    return {name: value for name, value in named.items() if value}
