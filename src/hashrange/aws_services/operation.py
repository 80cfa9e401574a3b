"""What is an operation of an API, of whichever service? A record of its name, its request struct, its function,
how it is named on the wire, and what else other code must know of it.

A file has an `OPERATION`, or the `OPERATIONS` that answer one question together. The part `wire` is the protocol's:
`JsonWire` for DynamoDB (`operations/operation.py`), `RestWire` for Lambda (`functions/api/operation.py`), `AdminWire`
for the admin API (`server/protocols/admin/endpoint.py`), and `FormWire` for the services whose requests
`server/protocols/aws_forms` reads: it makes the same struct of JSON, CBOR and Query forms, and writes the reply in the
form of the request.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from hashrange.errors import ApiError
from hashrange.soon import Soon, settled

WireT = TypeVar("WireT")
CapacityForm = Literal["one", "search", "by table", "each", "transaction"]
"""Layout of ConsumedCapacity in a reply. "one": an object for the request's only usage (a record of the meter: what an
item, a page or, in BatchGetItem, a table consumed). The others are lists: "by table" has an element for each table name
or ARN in the request, "each" one for each usage, "transaction" one for each table, whose units are repeated as read or
write units."""
Run = Callable[..., Soon[Any]]
"""`run(scope, request)`, or `run(scope, request, meter)` for operations that consume capacity. Executes one request.
Returns the reply, or a coroutine that returns it. Raises ApiError or Malformed if it refuses.

`scope`: who asks, and for DynamoDB what serves them: a `Scope`, `Caller` or `SignedCaller`. The function of an
`OPERATION` that works on an object, such as `Functions`, is `run(works_on, caller, request)`; `bound` gives it that
object. The coroutine runs without a task (`service/drive.py`): what needs one, such as `asyncio.timeout`, makes a task
and awaits it. The reply is sent once all commits so far are durable, so an operation need not wait for that.
"""


class Operation(msgspec.Struct, Generic[WireT], frozen=True):
    """One operation of an API. The members after `wire` are for DynamoDB, except `is_eventual`."""

    name: str
    request: type[msgspec.Struct]
    """Struct of the members, by the service's own names. Members that it lacks are ignored."""
    run: Run
    wire: WireT
    """How the operation is named on the wire, and what else only its protocol must know."""
    capacity: CapacityForm | None = None
    """Layout of ConsumedCapacity in the reply; None if the operation consumes none, and its `run` takes no meter."""
    tables: Callable[[Any], Iterable[str]] = lambda _request: ()
    """`tables(request)`: names or ARNs of the tables in the request, in the request's order, possibly repeated."""
    items: Callable[[Any], Iterable[tuple[str, Mapping[str, Any]]]] | None = None
    """`items(request)`: the items that a request writes one after the other, in this order:
    name or ARN of the table, and an item or a key map. None: the operation writes at most one item,
    or all at once, or each is a request by itself."""
    writes: bool = False
    """True if requests may change what other requests read, or will once that is implemented; False in `pending.py`."""
    is_read: Callable[[Any], bool] | None = None
    """True if a request only reads, such as a SELECT, although its operation has `writes`."""
    reports_missing_tables: bool = False
    """True if a missing table is reported inside the reply, and does not fail the whole request."""
    is_eventual: Callable[[Any], bool] | None = None
    """True for requests whose reply need not wait until what they read is durable (eventually consistent reads).

    Replies to other requests need not wait either if the operation has no `writes`, the request's `tables` exist, are
    given by name, and have only durable commits. None: all replies wait until all commits are durable."""

    def only_reads(self, request: Any) -> bool:
        """True if the request changes nothing, so that it need not be carried out once its client has left."""
        return not self.writes or (self.is_read is not None and self.is_read(request))

    def start(self, scope: Any, request: Any, meter: list[Any]) -> Coroutine[Any, Any, Any]:
        """A coroutine that executes the request and returns its reply."""
        return settled(self.run(scope, request) if self.capacity is None else self.run(scope, request, meter))


def bound(operations: Iterable[Operation[WireT]], works_on: object) -> list[Operation[WireT]]:
    """The operations, whose functions take caller and request alone."""
    return [msgspec.structs.replace(one, run=partial(one.run, works_on)) for one in operations]


# --- who asks -----------------------------------------------------------------------------------


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


# --- services whose requests are forms ----------------------------------------------------------


class FormWire(NamedTuple):
    """How forms name an operation: in X-Amz-Target, in the path of CBOR, or in the member `Action` of the Query form.

    Its function returns the members of the reply, or None for an empty one; it raises ServiceError and StorageError.
    Its caller is a `Caller` or, in an API with `needs_signer`, a `SignedCaller`. Times are `datetime`.
    """

    is_signed: bool = True
    """False: the service answers requests without a signature, and looks at none. The caller is then nobody's."""
    word: "Callable[[MemberFault], ServiceError] | None" = None
    """The error of a request whose members are wrong; None: that of the API."""
    body_bytes_max: int | None = None
    """Bytes that the body of a request may have as it is sent, compressed or not;
    None: only the bound of all services."""


FORM = FormWire()


class ServiceApi(NamedTuple):
    """The API of one service."""

    name: str
    """The service's name in logs, such as `CloudWatch`."""
    signing_name: str
    target_prefix: str
    """What comes before the dot in X-Amz-Target; empty: only the Query form is served."""
    json_version: str
    """`1.0` or `1.1`; empty, as `target_prefix`."""
    version: str
    """Version of the API, which requests in the Query form name."""
    operations: Sequence[Operation[FormWire]]
    """All that are served, `bound` to what they work on."""
    word: "Callable[[MemberFault], ServiceError]"
    """The error of a request whose members are wrong."""
    errors: "Mapping[str, ErrorShape]"
    """Name of each error's shape → how it is sent; others have status 400 and their own name as code."""
    internal_error: str
    """Name of the error that says that the service has failed."""
    unserved: frozenset[str] = frozenset()
    """Names of the API's other operations."""
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
    """The error's code in the Query form."""


MemberFaultKind = Literal["missing", "type", "value"]


class MemberFault(NamedTuple):
    """What is wrong with a request's member."""

    kind: MemberFaultKind
    """`missing`: a required member; `type`: it has another type; `value`: the type is right, the value is not."""
    path: str
    """Path of the member, such as `MetricData.1.Value`; places in lists count from 1."""
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
