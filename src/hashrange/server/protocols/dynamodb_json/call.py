"""How is one call of the JSON protocol answered? With JSON; after Malformed or a ValidationException,
the request's body is searched for an earlier fault.
"""

from collections.abc import Callable

from hashrange.errors import ApiError, Malformed, RequestFault
from hashrange.operations.reply import Reply
from hashrange.server.clients import cut_reply
from hashrange.server.incoming import Respond
from hashrange.server.protocols.dynamodb_json.writing import INTERNAL_ERROR_BODY, error_body, reply_json
from hashrange.server.protocols.first_fault import first_fault
from hashrange.server.protocols.http_call import log_failure
from hashrange.service.call import Call
from hashrange.wire.fallback import holds_unread_values
from hashrange.wire.http import HttpRequest, retry_after_line
from hashrange.wire.identifiers import request_id_of
from hashrange.wire.piecewise import free_request

SURELY_QUICK_BYTES = 16_000
"""Longest body that is decoded, and its signature checked, in well under a millisecond."""


class JsonCall(Call):
    """A request whose signature and body have been accepted."""

    http: HttpRequest
    respond: Respond
    is_large: bool = False
    """True if the body, once its content coding was removed, had more than SURELY_QUICK_BYTES."""
    status: int = 200
    body: bytes = b""
    extra: bytes = b""
    """Header lines beyond those of every reply, with line ends."""

    @property
    def has_left(self) -> bool:
        """True if the client's connection is lost."""
        return self.http.is_abandoned

    def done(self, reply: Reply | None) -> None:
        """Write the reply as JSON, and free a large request."""
        self.body = reply_json(reply)
        if self.is_large:
            free_request(self.request)

    def refuse(self, error: ApiError) -> None:
        """Write the error, in the older layer's wording if the request falls back to it, and free a large request."""
        wording = self.operation.wire.wording
        if isinstance(error, RequestFault) and holds_unread_values(self.operation.wire.rules, self.request):
            wording = "older"
        self.status, self.body = error.http_status, error_body(error, wording)
        if error.retry_after_ms is not None:
            self.extra = retry_after_line(error.retry_after_ms)
        if self.is_large:
            free_request(self.request)

    def first_fault(self, error: ApiError | Malformed) -> ApiError | None:
        """Return the error or an earlier fault of the HTTP body; None if the operation must run again (see `Call`)."""
        return first_fault(self, self.http.body, error)

    def send(self) -> None:
        """Send the written reply."""
        self.respond(self.status, self.body, None, self.extra)

    def hold_reply(self, on_left: Callable[[], object]) -> int | None:
        """Keep the written reply until the client leaves."""
        return self.http.hold_reply(self.body, on_left)

    def replace_reply(self, error: ApiError) -> None:
        """Write this error instead of the reply."""
        self.status, self.body, self.extra = error.http_status, error_body(error), b""

    def cut_reply(self, share: float) -> None:
        """Send this share of the written reply, and end the connection."""
        cut_reply(self.respond, self.status, self.body, share)

    def fail(self, error: BaseException) -> None:
        """Log an internal error (unless Abandoned), answer 500 instead of the reply, and free a large request."""
        fail(self.http, self.respond, error)
        if self.request is not None and self.is_large:
            free_request(self.request)


def fail(http: HttpRequest, respond: Respond, error: BaseException) -> None:
    """Log an internal error (unless Abandoned) under the request's id, which the client gets, and answer 500."""
    log_failure(request_id_of(http.number).decode(), error)
    respond(500, INTERNAL_ERROR_BODY)
