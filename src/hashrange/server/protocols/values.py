"""How is the service asked with values instead of text? A call whose members are Python values, and whose reply is too.

For callers in the same process. What the fast way does not take (values of other types, nulls, unknown members) is written as JSON and
read as a body would be, so that values pass the same constraints, in the same order and words. Bytes stand for base64 text.
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
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.faults import decode_object, explain_object, find_fault

Ended = Future[dict[str, Any]]


class ValuesCall(Call):
    """One request of values."""

    members: Mapping[str, Any]
    ended: Ended
    reply: dict[str, Any] | None = None
    error: ApiError | None = None
    is_explained: bool = False

    @classmethod
    def start(
        cls, service: Service, account: str, region: str, name: str, members: Mapping[str, Any], ended: Ended
    ) -> None:
        """Run the operation of that name; `ended` hears the reply, or the error, now or later. On the service's thread."""
        try:
            operation = service.operations.get(name)
            if operation is None:
                raise UnknownOperationException
            request, is_explained = request_of(operation, members)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller hears it
            ended.set_exception(error)
            return
        scope = service.scope(account, region)
        call: Call = cls(scope, operation, request, NOTHING_USED, 0, members, ended, is_explained=is_explained)
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
        if self.is_explained:
            return SerializationException() if isinstance(error, Malformed) else error
        operation = self.operation
        try:
            if isinstance(error, Malformed):
                self.request = explained(operation, self.members)
                self.is_explained = True
                return None
            find_fault(operation.request, operation.rules, as_json(self.members))
        except ApiError as fault:
            return fault
        return error

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


def request_of(operation: Operation, members: Mapping[str, Any]) -> tuple[Any, bool]:
    """The operation's struct; True if the members were read leniently. Raises the first fault as an ApiError."""
    try:
        return msgspec.convert(members, operation.request), False
    except (msgspec.ValidationError, RecursionError):
        return explained(operation, members), True


def explained(operation: Operation, members: Mapping[str, Any]) -> Any:
    """The same, leniently, as JSON is read: no nulls, no unknown members."""
    return explain_object(operation.request, operation.rules, decode_object(as_json(members)))


def as_json(members: Mapping[str, Any]) -> bytes:
    """The body that these members would be. Raises SerializationException for what no JSON can be."""
    try:
        return msgspec.json.encode(members)
    except (TypeError, ValueError, RecursionError):
        raise SerializationException from None
