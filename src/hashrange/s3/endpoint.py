"""How is an S3 endpoint used: AWS's, or that of another server? By boto3, on threads (docs/adr/0072-s3.md).

Each call has a thread of its own while it does something, so a silent endpoint holds up nobody else. An endpoint that
does not answer is asked four times, for 30 seconds each; a connection that breaks while an object is read is replaced,
as long as something has come since the one before. The library is loaded with the first call.
"""

import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from importlib.util import find_spec
from typing import Any

from hashrange.messages import s3 as say
from hashrange.s3.objects import CHUNK_BYTES_MAX, NO_OPTIONS, ObjectInfo, ObjectOptions, Objects, S3Failure
from hashrange.terminal import without_user
from hashrange.work_threads import WorkThread

CONNECT_SECONDS_MAX = 5
SILENT_SECONDS_MAX = 30
"""Longest time without a byte."""
TRIES_MAX = 4
"""Times that a request is sent, with pauses of up to some seconds; and connections that bring nothing of an object in a
row."""
CONNECTIONS_MAX = 32
PART_BYTES = 8 * 1024 * 1024
"""Size of the first parts of an upload, which are in memory while they are sent."""
PARTS_OF_A_SIZE = 1000
"""After so many parts the size doubles, up to PART_BYTES_MOST: there may be 10,000."""
PART_BYTES_MOST = 64 * 1024 * 1024


def is_installed() -> bool:
    """True if the library is there."""
    return find_spec("boto3") is not None


class S3Endpoint:
    """One endpoint, with the server's own credentials: whoever asks sees the same."""

    def __init__(self, url: str, region: str | None, *, is_virtual: bool) -> None:
        """`region` None: that of AWS's variables and files, else us-east-1. `is_virtual`: buckets are in host names."""
        self._url = url
        self._shown_url = without_user(url, "…@")
        self._region = region
        self._addressing = "virtual" if is_virtual else "path"
        self._lock = threading.Lock()
        self._made: Any = None

    def objects_of(self, _account: str) -> Objects:
        """The endpoint."""
        return self

    def _client(self) -> Any:
        """The library's client, which threads may share. Blocks. Raises S3Failure."""
        # Imported here: it takes 0.3 s and 40 MB, and most servers have no endpoint.
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        with self._lock:
            if self._made is None:
                session = boto3.session.Session()
                self._made = session.client(
                    "s3",
                    endpoint_url=self._url,
                    region_name=self._region or session.region_name or "us-east-1",
                    config=Config(
                        signature_version="s3v4",
                        connect_timeout=CONNECT_SECONDS_MAX,
                        read_timeout=SILENT_SECONDS_MAX,
                        max_pool_connections=CONNECTIONS_MAX,
                        retries={"mode": "standard", "total_max_attempts": TRIES_MAX},
                        s3={"addressing_style": self._addressing},
                        # Some servers know no checksums in trailers, and need none.
                        request_checksum_calculation="when_required",
                        response_checksum_validation="when_required",
                    ),
                )
            return self._made

    def _ask(self, name: str, bucket: str, members: Mapping[str, Any], owner: str = "") -> Any:
        """The reply to an operation. Blocks. Raises S3Failure."""
        given = {"ExpectedBucketOwner": owner} if owner else {}
        return self._guarded(lambda: getattr(self._client(), name)(Bucket=bucket, **members, **given))

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """What `work` returns. Raises S3Failure for errors of the library."""
        # Imported here: loaded with boto3.
        from botocore import exceptions  # noqa: PLC0415

        try:
            return work()
        except exceptions.ClientError as error:
            fault = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
            raise S3Failure(str(fault.get("Code", status)), str(fault.get("Message", "")), status) from error
        except exceptions.NoCredentialsError as error:
            raise S3Failure("AccessDenied", f"{error}.", 403) from error
        except (exceptions.HTTPClientError, exceptions.ConnectionError, OSError) as error:
            words = say.ENDPOINT_UNREACHABLE.format(url=self._shown_url, reason=error)
            raise S3Failure("ServiceUnavailable", words, 503) from error
        except exceptions.BotoCoreError as error:
            raise S3Failure(
                "ServiceUnavailable", say.ENDPOINT_FAILED.format(url=self._shown_url, reason=error), 503
            ) from error

    # --- Objects --------------------------------------------------------------------------------

    async def list_objects(self, bucket: str, prefix: str, *, owner: str = "") -> AsyncGenerator[ObjectInfo, None]:
        thread = _new_thread()
        members: dict[str, Any] = {"Prefix": prefix}
        while True:
            page = await thread.run(self._ask, "list_objects_v2", bucket, members, owner)
            for one in page.get("Contents", ()):
                yield ObjectInfo(one["Key"], one["Size"], one.get("ETag", "").strip('"'))
            if not page.get("IsTruncated"):
                return
            members["ContinuationToken"] = page["NextContinuationToken"]

    async def read(
        self, bucket: str, key: str, start: int = 0, *, etag: str = "", owner: str = ""
    ) -> AsyncGenerator[bytes, None]:
        thread = _new_thread()
        position, idle_tries = start, 0
        body: Any = None
        try:
            while True:
                if body is None:
                    body, etag = await thread.run(self._open, bucket, key, position, etag, owner)
                    if body is None:
                        return
                try:
                    chunk = await thread.run(self._read_on, body)
                except S3Failure:
                    _let_go(body)
                    body, idle_tries = None, idle_tries + 1
                    if idle_tries >= TRIES_MAX:
                        raise
                    continue
                if not chunk:
                    return
                position, idle_tries = position + len(chunk), 0
                yield chunk
        finally:
            _let_go(body)

    def _open(self, bucket: str, key: str, position: int, etag: str, owner: str) -> tuple[Any, str]:
        """The content from a position on, and its ETag; None at or behind the end. Blocks. Raises S3Failure."""
        members: dict[str, str] = {"Key": key}
        if position:
            members["Range"] = f"bytes={position}-"
        if etag:
            members["IfMatch"] = f'"{etag}"'
        try:
            reply = self._ask("get_object", bucket, members, owner)
        except S3Failure as failure:
            if failure.code == "InvalidRange":
                return None, etag
            raise
        found = reply.get("ETag", "").strip('"')
        if etag and found != etag:  # some servers know no If-Match
            reply["Body"].close()
            raise S3Failure("PreconditionFailed", say.PRECONDITION_FAILED, 412)
        return reply["Body"], found

    def _read_on(self, body: Any) -> bytes:
        """The next chunk of content. Blocks. Raises S3Failure."""
        chunk: bytes = self._guarded(lambda: body.read(CHUNK_BYTES_MAX))
        return chunk

    async def write(
        self,
        bucket: str,
        key: str,
        chunks: AsyncIterable[bytes],
        options: ObjectOptions = NO_OPTIONS,
        *,
        owner: str = "",
    ) -> str:
        thread, upload = _new_thread(), None
        waiting, part_bytes = bytearray(), PART_BYTES
        try:
            async for chunk in chunks:
                waiting += chunk
                while len(waiting) > part_bytes:
                    if upload is None:
                        upload = _PartsOfUpload(self, bucket, key, owner)
                        await thread.run(upload.begin, options)
                    await thread.run(upload.send, bytes(memoryview(waiting)[:part_bytes]))
                    del waiting[:part_bytes]
                    part_bytes = upload.next_bytes
            if upload is not None:
                return await thread.run(upload.finish, bytes(waiting))
            members = {"Key": key, "Body": bytes(waiting), **_members_of(options)}
            reply = await thread.run(self._ask, "put_object", bucket, members, owner)
            return str(reply["ETag"]).strip('"')
        except BaseException:
            if upload is not None:
                thread.submit(upload.abort)  # behind all other work, and not awaited: the caller may be cancelled
            raise

    async def close(self) -> None:
        client, self._made = self._made, None
        if client is not None:
            client.close()


class _PartsOfUpload:
    """An object that is sent in parts. All methods block, and raise S3Failure."""

    def __init__(self, endpoint: S3Endpoint, bucket: str, key: str, owner: str) -> None:
        self._ask = endpoint._ask  # noqa: SLF001 - a part of the same file
        self._bucket, self._key, self._owner = bucket, key, owner
        self._upload_id = ""
        self._parts: list[dict[str, Any]] = []

    @property
    def next_bytes(self) -> int:
        """Size of the next part."""
        return min(PART_BYTES << len(self._parts) // PARTS_OF_A_SIZE, PART_BYTES_MOST)

    def begin(self, options: ObjectOptions) -> None:
        """Begin the upload."""
        members = {"Key": self._key, **_members_of(options)}
        self._upload_id = self._ask("create_multipart_upload", self._bucket, members, self._owner)["UploadId"]

    def send(self, content: bytes) -> None:
        """Send the next part."""
        number = len(self._parts) + 1
        members = {"Key": self._key, "UploadId": self._upload_id, "PartNumber": number, "Body": content}
        etag = self._ask("upload_part", self._bucket, members, self._owner)["ETag"]
        self._parts.append({"PartNumber": number, "ETag": etag})

    def finish(self, content: bytes) -> str:
        """Send the last part; from now on the object is there. Returns its ETag."""
        self.send(content)
        members = {"Key": self._key, "UploadId": self._upload_id, "MultipartUpload": {"Parts": self._parts}}
        reply = self._ask("complete_multipart_upload", self._bucket, members, self._owner)
        return str(reply["ETag"]).strip('"')

    def abort(self) -> None:
        """Let the endpoint forget the parts. It may not hear of it: that is what its lifecycle rules are for."""
        if self._upload_id:
            members = {"Key": self._key, "UploadId": self._upload_id}
            try:
                self._ask("abort_multipart_upload", self._bucket, members, self._owner)
            except S3Failure:
                pass


def _new_thread() -> WorkThread:
    return WorkThread("hashrange-s3-endpoint")


def _let_go(body: Any) -> None:
    """Close a connection, of which more may come."""
    if body is not None:
        body.close()


def _members_of(options: ObjectOptions) -> dict[str, str]:
    named = {
        "ContentType": options.content_type,
        "ServerSideEncryption": options.encryption,
        "SSEKMSKeyId": options.kms_key_id,
        "StorageClass": options.storage_class,
    }
    return {name: value for name, value in named.items() if value}
