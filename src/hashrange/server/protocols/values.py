"""How do callers in the same process use the service?
By a call whose members and reply are Python values instead of text.

Members are written as JSON and read like a body, so that they are checked by the same constraints, in the same order,
and no object of the caller is kept. A RequestFault keeps the current layer's message, without the prefix that some
operations add over HTTP. Bytes in members become base64 text.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError, Malformed, SerializationException, UnknownOperationException
from hashrange.operations.meter import NOTHING_USED
from hashrange.operations.operation import JsonWire
from hashrange.operations.reply import Reply, Structure, plain_values
from hashrange.server.protocols.first_fault import first_fault
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.faults import read_slowly


class ReplyFuture(Protocol):
    """What a caller waits for: `concurrent.futures.Future`, or something like it."""

    def set_result(self, reply: dict[str, Any], /) -> None:
        """Called with the reply."""

    def set_exception(self, error: BaseException, /) -> None:
        """Called with the error instead."""


class ValuesCall(Call):
    """One request whose members are Python values."""

    body: bytes
    """The request's members as JSON."""
    ended: ReplyFuture
    reply: dict[str, Any] | None = None
    error: ApiError | None = None

    @classmethod
    def start(
        cls, service: Service, account: str, region: str, name: str, members: Mapping[str, Any], ended: ReplyFuture
    ) -> None:
        """Run the operation `name`; `ended` gets the reply or error, now or later. Only for the service's thread."""
        try:
            operation = service.operations.get(name)
            if operation is None:
                raise UnknownOperationException
            body = as_json(members)
            request, is_explained = request_of(operation, body)
        except Exception as error:  # noqa: BLE001 - every error goes to the caller
            if isinstance(error, ApiError) and service.recording is not None:
                service.recording.refused_unread(account, region)
            ended.set_exception(error)
            return
        scope = service.scope(account, region)
        call: Call = cls(scope, operation, request, NOTHING_USED, 0, is_explained, body, ended)
        service.workers.begin_turn()
        service.run(deque([call]))

    def done(self, reply: Reply | None) -> None:
        """Keep the reply, with its rows decoded, until `send` is called."""
        self.reply = {} if reply is None else plain_values(Structure(reply))

    def refuse(self, error: ApiError) -> None:
        """Keep the error until `send` is called."""
        self.error = error

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Return a fault of the members that the service finds before `error`, or else `error`.

        After `Malformed`, None if there is no such fault: the operation must run again on `request`, which has been
        read again, leniently (see `Call.first_fault`).
        """
        return first_fault(self, self.body, error)

    def send(self) -> None:
        """Set the caller's future to the reply or the error."""
        if self.error is not None:
            self.ended.set_exception(self.error)
        else:
            assert self.reply is not None
            self.ended.set_result(self.reply)

    def cut_reply(self, share: float) -> None:
        """Raise ConnectionError for the caller, whose reply is lost."""
        self.ended.set_exception(ConnectionError("The reply was lost."))

    def fail(self, error: BaseException) -> None:
        """Set the caller's future to `error`, an internal error."""
        self.ended.set_exception(error)


def request_of(operation: Operation[JsonWire], body: bytes) -> tuple[Any, bool]:
    """Return the operation's request, and whether it was read leniently. Raises the first fault as an ApiError."""
    try:
        return msgspec.json.decode(body, type=operation.request), False
    except (msgspec.MsgspecError, RecursionError):
        return read_slowly(operation.request, operation.wire.rules, body), True


def as_json(members: Mapping[str, Any]) -> bytes:
    """Write members as a JSON body. Raises SerializationException for values that msgspec cannot write."""
    try:
        return msgspec.json.encode(members)
    except (TypeError, ValueError, RecursionError):
        raise SerializationException from None
