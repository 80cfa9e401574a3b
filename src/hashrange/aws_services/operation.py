"""What defines an operation of a service beside DynamoDB, such as CloudWatch? A request struct and a coroutine;
how it is written on the wire is another matter.

A file for each operation has an `OPERATION`. `server/protocols/aws_forms` reads JSON, CBOR and Query forms into
the same struct, and writes the reply in the form of the request.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.errors import ApiError


class Signer(NamedTuple):
    """What a request is signed with, without the secret."""

    access_key: str
    session_token: str | None


class Caller(NamedTuple):
    """Whose functions, alarms and metrics a request sees: those of one account and Region."""

    account: str
    region: str


class SignedCaller(NamedTuple):
    """A caller for operations that depend on the access key too."""

    account: str
    region: str
    signer: Signer | None
    """None: the request need not be signed; account and Region are empty."""


class ServiceOperation(NamedTuple):
    """One operation of a service's API."""

    name: str
    request: type[msgspec.Struct]
    """Struct of the members, by the service's own names. Times are `datetime`. Members that it lacks are ignored."""
    run: Callable[[Any, Any, Any], Coroutine[Any, Any, Mapping[str, Any] | None]]
    """run(served, caller, request) returns the members of the reply, or None for an empty one.
    Raises ServiceError, StorageError.

    `caller` is a `Caller` or, in an API with `needs_signer`, a `SignedCaller`.

    Times in a reply are `datetime`. The coroutine runs without a task (`service/drive.py`).
    The reply is sent once all commits so far are durable.
    """
    is_signed: bool = True
    """False: the service answers requests without a signature, and looks at none. The caller is then nobody's."""
    word: "Callable[[MemberFault], ServiceError] | None" = None
    """The error of a request whose members are wrong; None: that of the API."""
    body_bytes_max: int | None = None
    """Bytes that the body of a request may have as it is sent, compressed or not;
    None: only the bound of all services."""


class ServiceApi(NamedTuple):
    """The API of one service."""

    name: str
    """Such as `CloudWatch`, for logs."""
    signing_name: str
    target_prefix: str
    """What comes before the dot in X-Amz-Target; empty: only the Query form is served."""
    json_version: str
    """`1.0` or `1.1`; empty, as `target_prefix`."""
    version: str
    """Version of the API, which requests in the Query form name."""
    operations: Sequence[tuple[ServiceOperation, Any]]
    """Each operation, with the object that it works on."""
    unserved: frozenset[str]
    """Names of the API's other operations."""
    word: "Callable[[MemberFault], ServiceError]"
    """The error of a request whose members are wrong."""
    errors: "Mapping[str, ErrorShape]"
    """Name of each error's shape → how it is sent; others have status 400 and their own name as code."""
    internal_error: str
    """Name of the error that says that the service has failed."""
    map_members: frozenset[str] = frozenset()
    """Names of members of replies that are maps: their keys are data."""
    xml_namespace: str | None = None
    """Namespace of replies in the Query form. CBOR (with a `target_prefix`) and the Query form are
    served only if this is given."""
    needs_signer: bool = False
    """True if its operations depend on the access key that signs a request, and not only on its account."""


class ErrorShape(NamedTuple):
    """How an error is sent."""

    status: int
    query_code: str
    """Its code in the Query form."""


MemberFaultKind = Literal["missing", "type", "value"]


class MemberFault(NamedTuple):
    """What is wrong with a request's member."""

    kind: MemberFaultKind
    """`missing`: a required member; `type`: it has another type; `value`: the type is right, the value is not."""
    path: str
    """Such as `MetricData.1.Value`: places in lists count from 1."""
    detail: str
    """What was expected, in English."""
    value: str = ""
    """The value that is not valid, if it is a number or a text."""


class ServiceError(ApiError):
    """An error of such a service: `code` is the name of its shape, which SDKs turn into an exception class.

    `members`: further members of the error, such as `ResourceName`.
    """

    message: str

    def __init__(self, code: str, message: str, **members: object) -> None:
        super().__init__(message, **members)
        self.code = code
