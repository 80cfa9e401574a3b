"""How is an operation of Lambda's API named on the wire? By a method and a path, by which `server/protocols/rest_json`
finds it; what may it return, and which errors does it raise?

Files here and in `triggers/api` have an `OPERATION` or several `OPERATIONS`, whose functions work on Functions
(`functions/api`) or Triggers (`triggers/api`). A function returns the members of the reply, None for an empty body, or
a LambdaReply; it raises LambdaError and StorageError. Source of methods, paths, members and statuses: botocore's
service model of Lambda, 2015-03-31.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from hashrange.aws_services.operation import Operation, Run
from hashrange.errors import ApiError
from hashrange.functions.api.api_paths import API_PATHS, RestMethod

NO_MEMBERS: Mapping[str, str] = MappingProxyType({})


class LambdaReply(NamedTuple):
    """Reply of an operation whose body is not made by the protocol, or that has headers or another status."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = NO_MEMBERS


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


def rest_operation(
    name: str,
    request: type[msgspec.Struct],
    run: Run,
    *,
    status: int = 200,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] = NO_MEMBERS,
    raw_body: str | None = None,
) -> Operation[RestWire]:
    """The operation of this name, with the method and path that it has in the API.

    `query` None: members that are not in the path of a GET or DELETE, which has no body, are in the query under their
    own names.
    """
    method, path = API_PATHS[name]
    if query is None and method in {"GET", "DELETE"}:
        query = {one: one for one in request.__struct_fields__ if f"{{{one}}}" not in path}
    return Operation(name, request, run, RestWire(method, path, status, query or NO_MEMBERS, headers, raw_body))


class LambdaError(ApiError):
    """An error of Lambda's API: `code` is the name that SDKs turn into an exception class.

    `members`: further members of the body, such as `Reason`.
    """

    message: str

    def __init__(self, http_status: int, code: str, message: str, **members: object) -> None:
        super().__init__(message, **members)
        self.http_status = http_status
        self.code = code
