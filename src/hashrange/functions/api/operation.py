"""What defines an operation of Lambda's API? A method and path, a request struct, a coroutine;
`server/protocols/rest_json` finds it by them.

A file for each operation, here or in `triggers/api`, has an `OPERATION`.
Source of methods, paths, members and statuses: botocore's service model of Lambda, 2015-03-31.
"""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.errors import ApiError

RestMethod = Literal["GET", "POST", "PUT", "DELETE"]
NO_MEMBERS: Mapping[str, str] = MappingProxyType({})


class LambdaReply(NamedTuple):
    """Reply of an operation whose body is not JSON that the protocol makes, or that has headers or another status."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = NO_MEMBERS
    content_type: str = "application/json"


class LambdaOperation(NamedTuple):
    """One operation of Lambda's API."""

    name: str
    method: RestMethod
    path: str
    """Such as `/2015-03-31/functions/{FunctionName}/code`.
    A segment in braces gives its text, unquoted, to that member."""
    request: type[msgspec.Struct]
    """Struct of all members, whatever part of the HTTP request they come from;
    members of the body have their own names."""
    run: Callable[[Any, Caller, Any], Coroutine[Any, Any, Mapping[str, Any] | LambdaReply | None]]
    """run(served, caller, request) returns the members of the reply, or None for an empty body.
    Raises LambdaError, StorageError.

    `served`: the object that this package of operations works on: Functions (`functions/api`) or Triggers
    (`triggers/api`). The coroutine runs without a task (`service/drive.py`): what needs one,
    such as `asyncio.timeout`, makes a task and awaits it. The reply is sent once all commits so far are durable,
    so an operation need not wait for that.
    """
    status: int = 200
    """HTTP status of a reply given as members, or None."""
    query: Mapping[str, str] = NO_MEMBERS
    """Name of a query parameter → member. A member that is a list takes all values of its parameter."""
    headers: Mapping[str, str] = NO_MEMBERS
    """Name of a header in lower case → member."""
    raw_body: str | None = None
    """Member that takes the body as bytes (Invoke's Payload); None: the body is JSON, or empty."""


class LambdaError(ApiError):
    """An error of Lambda's API: `code` is the name that SDKs turn into an exception class.

    `members`: further members of the body, such as `Reason`.
    """

    message: str

    def __init__(self, http_status: int, code: str, message: str, **members: object) -> None:
        super().__init__(message, **members)
        self.http_status = http_status
        self.code = code
