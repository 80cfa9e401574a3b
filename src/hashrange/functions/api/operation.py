"""How is an operation of Lambda's API named on the wire? By a method and a path, by which `server/protocols/rest_json`
finds it; what may it return, and which errors does it raise?

Files here and in `triggers/api` have an `OPERATION` or several `OPERATIONS`, whose functions work on Functions
(`functions/api`) or Triggers (`triggers/api`). A function returns the members of the reply, None for an empty body, or
a LambdaReply; it raises LambdaError and StorageError. Source of methods, paths, members and statuses: botocore's
service model of Lambda, 2015-03-31.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from hashrange.errors import ApiError

RestMethod = Literal["GET", "POST", "PUT", "DELETE"]
NO_MEMBERS: Mapping[str, str] = MappingProxyType({})


class LambdaReply(NamedTuple):
    """Reply of an operation whose body is not JSON that the protocol makes, or that has headers or another status."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = NO_MEMBERS
    content_type: str = "application/json"


class RestWire(NamedTuple):
    """The parts of an HTTP request that an operation takes. Members of the body have their own names."""

    method: RestMethod
    path: str
    """The path, such as `/2015-03-31/functions/{FunctionName}/code`. The text of a segment in braces, unquoted, is the
    value of the member with that name."""
    status: int = 200
    """HTTP status of a reply given as members, or None."""
    query: Mapping[str, str] = NO_MEMBERS
    """Name of a query parameter → member. A member that is a list takes all values of its parameter."""
    headers: Mapping[str, str] = NO_MEMBERS
    """Name of a header in lower case → member."""
    raw_body: str | None = None
    """Member that takes the body as bytes (Invoke's Payload); None: the body is JSON, or empty."""


def query_of(*members: str) -> Mapping[str, str]:
    """Query parameters that have the names of their members."""
    return {member: member for member in members}


class LambdaError(ApiError):
    """An error of Lambda's API: `code` is the name that SDKs turn into an exception class.

    `members`: further members of the body, such as `Reason`.
    """

    message: str

    def __init__(self, http_status: int, code: str, message: str, **members: object) -> None:
        super().__init__(message, **members)
        self.http_status = http_status
        self.code = code
