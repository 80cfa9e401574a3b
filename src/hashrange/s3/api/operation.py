"""How does an operation of S3 look that the server's own S3 serves? Its function works on an `S3Folder`, and takes the
caller and a request; `server/protocols/s3` finds it by method and query, and writes its reply.

An operation raises S3Failure and StorageError, and does what blocks on the folder's threads.
Source of names, members and headers: botocore's service model of S3, 2006-03-01.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol, Union

import msgspec

from hashrange.aws_services.operation import Operation, Run
from hashrange.messages import s3 as say
from hashrange.s3.folder_files import Conditions
from hashrange.s3.limits import PART_NUMBER_MAX
from hashrange.s3.objects import S3Failure
from hashrange.s3.received_body import ReceivedBody
from hashrange.s3.whole_files import OpenFile

XmlValue = Union[str, int, bool, "XmlMembers", Iterable["XmlMembers"]]
"""Text of an element, its members, or, for an element that is repeated, those of each; they are read once."""
XmlMembers = Mapping[str, "XmlValue"]

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Upload(Protocol):
    """The body of a request that becomes a file."""

    async def whole(self) -> ReceivedBody:
        """The body once it has come and has been compared with what the head says of it. Raises S3Failure."""


class S3Request(msgspec.Struct, frozen=True, gc=False):
    """A request, which has been authenticated."""

    bucket: str
    """Empty: the request is for all buckets."""
    key: str
    """Empty: the request is for the bucket."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes = b""
    upload: Upload | None = None
    """The body, if it becomes a file."""

    @property
    def owner(self) -> str:
        """The account that must own the bucket; empty: any."""
        return self.headers.get("x-amz-expected-bucket-owner", "")

    @property
    def conditions(self) -> Conditions:
        """What must hold of the object that is replaced or deleted."""
        return Conditions(unquoted(self.headers.get("if-match", "")), unquoted(self.headers.get("if-none-match", "")))

    def whole_number(self, name: str, default: int, most: int, message: str) -> int:
        """A number in the query, at most `most`. Raises InvalidArgument."""
        text = self.query.get(name)
        if text is None or not text:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= 2**31:
            raise S3Failure("InvalidArgument", message, 400, ArgumentName=name, ArgumentValue=text)
        return min(int(text), most)

    def part_number(self) -> int:
        """The number of a part in the query, which has it. Raises InvalidArgument."""
        text = self.query["partNumber"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 0
        if not 1 <= number <= PART_NUMBER_MAX:
            raise S3Failure("InvalidArgument", say.PART_NUMBER, 400, ArgumentName="partNumber", ArgumentValue=text)
        return number


class FilePart(NamedTuple):
    """The body of a reply that is read from a file while it is sent."""

    file: OpenFile
    """At the first byte that is sent; whoever sends it closes it."""
    size_bytes: int


class S3Reply(NamedTuple):
    """A reply."""

    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS
    root: str = ""
    """Name of the root element of a body in XML; empty: there is none."""
    members: XmlMembers = MappingProxyType({})
    body: FilePart | None = None
    length: int | None = None
    """Length of the body that a HEAD request does not get."""


class S3Wire(NamedTuple):
    """How a request names an operation."""

    method: str
    target: str
    """`service`, `bucket` or `key`."""
    query: Mapping[str, str | None]
    """Parameters that the query must have; a value of None: any."""
    takes_file: bool = False
    """True if the body becomes a file."""


def s3_operation(
    name: str,
    run: Run,
    method: str,
    target: str,
    query: Mapping[str, str | None] = MappingProxyType({}),
    *,
    takes_file: bool = False,
) -> Operation[S3Wire]:
    """The operation of this name."""
    wire = S3Wire(method, target, query, takes_file)
    return Operation(name, S3Request, run, wire, writes=method not in {"GET", "HEAD"})


def unquoted(etag: str) -> str:
    """An ETag without quotation marks."""
    return etag.strip().removeprefix("W/").strip('"')


def continuation_token(place: bytes) -> str:
    """The token for the page that begins behind a key or name: it, in base64."""
    return urlsafe_b64encode(place).decode()


def read_continuation(token: str) -> bytes:
    """Behind which key or name a page begins. Raises S3Failure."""
    try:
        place = urlsafe_b64decode(token)
    except (ValueError, binascii.Error):
        place = b""
    if not place:
        raise S3Failure("InvalidArgument", say.BAD_CONTINUATION_TOKEN, 400, ArgumentName="continuation-token")
    return place


def invalid_argument(name: str, value: str) -> S3Failure:
    """The error of a header or parameter with a value that it cannot have."""
    return S3Failure("InvalidArgument", say.INVALID_ARGUMENT, 400, ArgumentName=name, ArgumentValue=value)
