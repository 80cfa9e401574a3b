"""How does the service represent a request? As a call: scope, operation, members, and the methods that get reply or
error.

Each protocol of DynamoDB has its own subclass; the other services and the admin API share one
(`server/protocols/http_call.py`). In the turn in which the operation ends, the service calls `done` or `refuse`, which
write the reply. Once the commits that the reply waits for are durable, it calls `send`, which sends the reply. After an
internal error it calls `fail` instead.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, cast

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError, InternalServerError, Malformed
from hashrange.items.row_layout import is_packed
from hashrange.items.types import Row
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.operations.meter import Meter
from hashrange.operations.reply import Reply
from hashrange.store.interface import Durability


class _Begun(msgspec.Struct, kw_only=True, gc=False, eq=False):
    """What has happened to a request; a struct by itself, because the members of a `Call` are given by place."""

    begin_seconds: float = 0.0
    """Monotonic time at which the operation began."""
    overtaken: int = 0
    """How often the operation has raised RecordsChanged."""


CallKind = Literal["dynamodb", "service", "own"]
"""What a call may meet, and who is told of it.

`dynamodb`: metrics count it; it and the rows that it touches meet faults, and pass the front of the store. `service`: a
call of another service, which meets faults that name its operation (docs/testing/faults.md). `own`: a call of Lambda's
API or of the admin API, which meets none.
"""


class Call(_Begun, gc=False, eq=False):
    """One request to the service. A struct, because it is made in a third of the time of a class."""

    kind: ClassVar[CallKind] = "dynamodb"
    scope: Any
    """Who asks: a `Scope` if the call is one of DynamoDB's, which tells what serves them too."""
    operation: Operation[Any]
    request: Any
    """The operation's request struct, which has passed its constraints."""
    meter: Meter
    """Capacity that the operation has consumed so far."""
    position: int
    """Number of the commit that the reply waits for; 0 if it need not wait for any."""
    is_explained: bool
    """True once the slow path has read the request, and found no fault that it can word."""

    @property
    def is_abandoned(self) -> bool:
        """True if the request changes nothing, and its client has left. Asked only before a reply is written."""
        return self.has_left and self.operation.only_reads(self.request)

    @property
    def has_left(self) -> bool:
        """True if the client has left."""
        return False

    def done(self, reply: Reply | None) -> None:
        """Write the reply of an operation that succeeded; None if it has no output. May give way."""
        raise NotImplementedError

    def refuse(self, error: ApiError) -> None:
        """Write the reply that reports this error, the operation's or an earlier fault."""
        raise NotImplementedError

    def internal_error(self) -> ApiError:
        """The error that says that the service has failed, as faults make it do."""
        return InternalServerError(INTERNAL_ERROR)

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Return the error to report: a fault of the body that precedes `error` in the service's order, else `error`.

        For `Malformed`, which is never reported: return the fault, or replace `request` by one that was read leniently
        and return None; the service then runs the operation once more.

        This implementation returns `error`: faults that precede it were found when the request was read.
        """
        assert isinstance(error, ApiError), "only operations of DynamoDB raise Malformed"
        return error

    def send(self) -> None:
        """Send the reply that `done` or `refuse` has made. May give way."""
        raise NotImplementedError

    def hold_reply(self, on_left: Callable[[], object]) -> int | None:
        """Keep the reply until `send` is called later; returns its length in bytes. None: the client has left.
        `on_left` is called if the client leaves before.
        """
        return 0  # of calls within the process, whose clients wait for their replies

    def replace_reply(self, error: ApiError) -> None:
        """Let `send` send this error, instead of the reply that `done` or `refuse` has made."""
        self.refuse(error)

    def cut_reply(self, share: float) -> None:
        """Send only this share of the reply's body, from 0 (nothing at all) to 1, and end the connection.
        Called instead of `send`.
        """
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Tell the client of an internal error. Called instead of `send`, even after `done` or `refuse`."""
        raise NotImplementedError


def is_packed_item(call: Call, reply: Reply | None) -> bool:
    """True if a read returned one item whose JSON is much longer than its row:
    `Service` may drop the reply and read again.
    """
    if reply is None or call.kind != "dynamodb":
        return False
    item = reply.get("Item")
    return item.__class__ is bytes and call.operation.is_eventual is not None and is_packed(cast("Row", item))


def is_durable(call: Call, store: Durability, durable_position: int) -> bool:
    """True if the reply could not tell of a commit that a power cut would undo, and need not wait: that of an
    eventually consistent read, or of another read of tables whose commits are all durable. So large writes to other
    tables do not delay the reply.
    """
    operation = call.operation
    if operation.is_eventual is None:
        return False
    if operation.is_eventual(call.request):
        return True
    if operation.writes:
        return False
    named = [call.scope.tables.get(name) for name in operation.tables(call.request)]
    return bool(named) and all(table is not None and store.position_of(table) <= durable_position for table in named)
