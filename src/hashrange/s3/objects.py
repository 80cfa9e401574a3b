"""How do exports, imports and bulk puts read and write objects of S3? Through this interface,
which a folder (`s3/folder.py`) and an endpoint (`s3/endpoint.py`) implement.

Objects are streams: no call keeps more of an object in memory than one chunk that it reads, or one part that it sends.
Each call does its blocking work on a thread. A call that meets a slow or silent endpoint tries again for a bounded
time, and then raises.

Every call may raise S3Failure, which has S3's own code and words. An iterator that is left before its end keeps its
file or connection until it is closed: `async with contextlib.aclosing(objects.read(…)) as chunks`.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import NamedTuple, Protocol

from hashrange.errors import ApiError

CHUNK_BYTES_MAX = 1024 * 1024
"""Most bytes of a chunk that `Objects.read` yields."""


class S3Failure(ApiError):
    """S3 has refused something, or could not be reached. Clients of the server's own S3 get it as it is;
    an operation of DynamoDB must not let it through.

    `code` is S3's: NoSuchBucket, NoSuchKey, AccessDenied, SlowDown, …; that of an endpoint which does not answer is
    ServiceUnavailable. `message` has S3's words, such as `The specified bucket does not exist`.
    """

    message: str

    def __init__(self, code: str, message: str, http_status: int = 400, **members: object) -> None:
        super().__init__(message, **members)
        self.code = code
        self.http_status = http_status


class ObjectInfo(NamedTuple):
    """What a list says of an object."""

    key: str
    size_bytes: int
    etag: str
    """Without quotation marks. It changes when the content does; of an object that was written in one part, it is
    usually the MD5 of the content. Empty if the endpoint's list does not tell it."""


class ObjectOptions(NamedTuple):
    """What S3 is asked to keep of an object beside its content; what is empty is not sent."""

    content_type: str = ""
    encryption: str = ""
    """AES256 or aws:kms."""
    kms_key_id: str = ""
    storage_class: str = ""


NO_OPTIONS = ObjectOptions()


class Objects(Protocol):
    """The buckets of one S3, as one account sees them. `owner` is an account that must own the bucket, as in
    `x-amz-expected-bucket-owner`; empty: whoever owns it.
    """

    def list_objects(self, bucket: str, prefix: str, *, owner: str = "") -> AsyncGenerator[ObjectInfo, None]:
        """All objects whose keys begin with `prefix`, in the order of the UTF-8 bytes of their keys, over all pages.
        Objects that are written or deleted meanwhile may be listed or not.
        """
        ...

    def read(
        self, bucket: str, key: str, start: int = 0, *, etag: str = "", owner: str = ""
    ) -> AsyncGenerator[bytes, None]:
        """The content from byte `start` on, in chunks of at most CHUNK_BYTES_MAX, none of them empty.

        A connection that breaks is replaced, and the content goes on where it broke off. With `etag`, or from the first
        chunk on, content that has been replaced raises PreconditionFailed. A start at or behind the end yields nothing.
        """
        ...

    async def write(
        self,
        bucket: str,
        key: str,
        chunks: AsyncIterable[bytes],
        options: ObjectOptions = NO_OPTIONS,
        *,
        owner: str = "",
    ) -> str:
        """Write an object, or replace it, and return its ETag. The whole object is there afterwards, durably; if the
        call raises, or the process is killed, what was there before; if it is cancelled in its last step, either.

        Chunks may have any size, and are asked for as quickly as they can be written; large objects are sent in parts.
        An error of `chunks` is raised as it is.
        """
        ...

    async def close(self) -> None:
        """Free connections and threads, those of all accounts. Calls that still run may raise."""
        ...


ObjectsOf = Callable[[str], Objects]
"""Account → what it sees of S3. An endpoint is asked with the server's own credentials, whatever the account is; a
folder refuses the buckets of other accounts with AccessDenied."""
