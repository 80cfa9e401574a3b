"""How does DynamoDB answer a DAX node? By a call of the service, as for any protocol, whose reply is written for
the client by the method that asked.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from hashrange.errors import Abandoned, ApiError, Malformed
from hashrange.items.steps import gave_way
from hashrange.operations.meter import NOTHING_USED, Meter
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.server.dax.connection import DaxAnswer
from hashrange.server.dax.errors import WriteError
from hashrange.server.dax.wide_members import request_json, request_struct
from hashrange.server.protocols.first_fault import first_fault
from hashrange.server.protocols.values import request_of
from hashrange.service.call import Call
from hashrange.service.service import Service
from hashrange.wire.piecewise import free

WriteReply = Callable[[dict[str, Any], Meter], bytes]
"""Members of DynamoDB's reply, which may hold rows, and what it consumed → the reply to the client."""
Send = Callable[[DaxAnswer, bytes], None]


class DaxCall(Call):
    """One request to DynamoDB."""

    members: dict[str, Any]
    answer: DaxAnswer
    write: WriteReply
    write_error: WriteError
    deliver: Send
    ways_before: int
    """How many times work had given way when the request began."""
    content: bytes = b""

    @property
    def has_left(self) -> bool:
        """True if the client has left."""
        return self.answer.is_over

    def done(self, reply: Reply | None) -> None:
        """Write the reply, and free a long request."""
        self.content = self.write({} if reply is None else reply, self.meter)
        self._free()

    def refuse(self, error: ApiError) -> None:
        """Write the error, and free a long request."""
        self.content = self.write_error(error, self.operation.wire.wording)
        self._free()

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Return the error or an earlier fault of the members; None if the operation must run again (see `Call`)."""
        return first_fault(self, request_json(self.members), error)

    def send(self) -> None:
        """Send what has been written."""
        self.deliver(self.answer, self.content)

    def replace_reply(self, error: ApiError) -> None:
        """Write this error instead."""
        self.refuse(error)

    def cut_reply(self, share: float) -> None:
        """Send this share of the reply, and end the connection."""
        self.answer.cut(self.content[: int(len(self.content) * share)])

    def fail(self, error: BaseException) -> None:
        """Send an internal error, unless the client has left."""
        if not isinstance(error, Abandoned):
            self.answer.send(self.write_error(error, "bare"))
        self._free()

    def _free(self) -> None:
        """Free the request piece by piece, unless it was so short that nothing has given way."""
        if gave_way() != self.ways_before:
            free(self.members)


def run(
    service: Service,
    scope: Scope,
    name: str,
    members: dict[str, Any],
    answer: DaxAnswer,
    write: WriteReply,
    write_error: WriteError,
    deliver: Send,
) -> None:
    """Run an operation of DynamoDB; the answer is sent now or later. Raises the ApiError of malformed members."""
    operation = service.operations[name]
    is_explained = False
    try:
        request: Any = request_struct(members, operation.request)
    except (msgspec.ValidationError, RecursionError):
        request, is_explained = request_of(operation, request_json(members))
    call: Call = DaxCall(
        scope,
        operation,
        request,
        NOTHING_USED,
        0,
        is_explained,
        members,
        answer,
        write,
        write_error,
        deliver,
        gave_way(),
    )
    service.run(deque((call,)))
