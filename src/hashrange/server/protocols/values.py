"""How is the service asked with values instead of text? A call whose members are Python values, and whose reply is too.

For callers in the same process. Values are written as JSON and read as a body is, so that they pass the same constraints, in the same
order and words, and nothing of the caller's own is kept. Bytes stand for base64 text.
"""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import msgspec

from hashrange.errors import (
    ApiError,
    Malformed,
    SerializationException,
    UnknownOperationException,
)
from hashrange.operations.meter import NOTHING_USED
from hashrange.operations.operation import Operation
from hashrange.operations.reply import Reply, Structure, plain_values
from hashrange.server.protocols.first_fault import first_fault
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.faults import decode_object, explain_object

ReplyFuture = Future[dict[str, Any]]


class ValuesCall(Call):
    """One request of values."""

    body: bytes
    """The members, as JSON."""
    ended: ReplyFuture
    reply: dict[str, Any] | None = None
    error: ApiError | None = None

    @classmethod
    def start(
        cls, service: Service, account: str, region: str, name: str, members: Mapping[str, Any], ended: ReplyFuture
    ) -> None:
        """Run the operation of that name; `ended` hears the reply, or the error, now or later. On the service's thread."""
        try:
            operation = service.operations.get(name)
            if operation is None:
                raise UnknownOperationException
            body = as_json(members)
            request, is_explained = request_of(operation, body)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller hears it
            ended.set_exception(error)
            return
        scope = service.scope(account, region)
        call: Call = cls(scope, operation, request, NOTHING_USED, 0, is_explained, body, ended)
        service.workers.begin_turn()
        service.run(deque([call]))

    def done(self, reply: Reply | None) -> None:
        """Decode its rows."""
        self.reply = {} if reply is None else plain_values(Structure(reply))

    def refuse(self, error: ApiError) -> None:
        """Keep it."""
        self.error = error

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """The first fault of the members."""
        return first_fault(self, self.body, error)

    def tell(self) -> None:
        """Tell the caller."""
        if self.error is not None:
            self.ended.set_exception(self.error)
        else:
            assert self.reply is not None
            self.ended.set_result(self.reply)

    def fail(self, error: BaseException) -> None:
        """Tell the caller."""
        self.ended.set_exception(error)


def request_of(operation: Operation, body: bytes) -> tuple[Any, bool]:
    """The operation's struct; True if the members were read leniently. Raises the first fault as an ApiError."""
    try:
        return msgspec.json.decode(body, type=operation.request), False
    except (msgspec.MsgspecError, RecursionError):
        return explain_object(operation.request, operation.rules, decode_object(body)), True


def as_json(members: Mapping[str, Any]) -> bytes:
    """The body that these members would be. Raises SerializationException for what no JSON can be."""
    try:
        return msgspec.json.encode(members)
    except (TypeError, ValueError, RecursionError):
        raise SerializationException from None
