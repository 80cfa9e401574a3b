"""How is a request over HTTP answered that is none of DynamoDB's? By a call, whose writer says how a reply and an error
look in the form of the request: one of Lambda's API, of the services with forms, or of the admin API.

Operations go on after their client has left.
"""

import logging
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from hashrange.errors import Abandoned, ApiError, StorageError
from hashrange.server.clients import cut_reply
from hashrange.server.incoming import Respond
from hashrange.service.call import Call, CallKind
from hashrange.wire.http import HttpRequest, retry_after_line
from hashrange.wire.identifiers import request_id_of

_log = logging.getLogger("hashrange.server")


class WrittenReply(NamedTuple):
    """A reply as `Respond` takes it."""

    status: int
    body: bytes
    content_type: bytes | None = None
    header_lines: bytes = b""
    used: str = ""
    """What the access log says beside status and length."""


class CallWriter(Protocol):
    """Writes the reply to one request."""

    def reply(self, outcome: Any, /) -> WrittenReply:
        """The reply to what the operation has returned. May give way."""

    def error(self, error: ApiError, /) -> WrittenReply:
        """The reply that reports this error, the operation's or one of the code before it."""

    def internal_error(self) -> ApiError:
        """The error that says that the service has failed."""


class HttpCall(Call):
    """A request whose operation has been found, and whose signature and members have been accepted."""

    kind: ClassVar[CallKind] = "own"
    http: HttpRequest
    respond: Respond
    writer: CallWriter
    written: WrittenReply = WrittenReply(500, b"")

    def done(self, reply: Any) -> None:
        """Write the reply."""
        self.written = self.writer.reply(reply)

    def refuse(self, error: ApiError) -> None:
        """Write the error."""
        self.written = written_error(self.writer, error)

    def internal_error(self) -> ApiError:
        """The error that says that the service has failed."""
        return self.writer.internal_error()

    def send(self) -> None:
        """Send the written reply."""
        self.respond(*self.written)

    def hold_reply(self, on_left: Callable[[], object]) -> int | None:
        """Keep the written reply until the client leaves."""
        return self.http.hold_reply(self.written.body, on_left)

    def cut_reply(self, share: float) -> None:
        """Send this share of the written reply, and end the connection."""
        cut_reply(self.respond, self.written.status, self.written.body, share)

    def fail(self, error: BaseException) -> None:
        """Log an internal error, and answer with it."""
        answer_error(self.http, self.respond, self.writer, error)


def answer_error(http: HttpRequest, respond: Respond, writer: CallWriter, error: BaseException) -> None:
    """Answer a request with an error, which is logged if it is internal."""
    if not isinstance(error, ApiError):
        log_failure(request_id_of(http.number).decode(), error)
        error = writer.internal_error()
    respond(*written_error(writer, error))


def written_error(writer: CallWriter, error: ApiError) -> WrittenReply:
    """The reply with an error, and with the time after which the client is asked to retry."""
    written = writer.error(error)
    if error.retry_after_ms is None:
        return written
    return written._replace(header_lines=written.header_lines + retry_after_line(error.retry_after_ms))


def log_failure(request_id: str, error: BaseException) -> None:
    """Log an internal error under the request's id, unless it is Abandoned: that a client has left is no fault."""
    if isinstance(error, StorageError):
        _log.error("request %s failed in storage: %s: %s", request_id, type(error).__name__, error)
    elif not isinstance(error, Abandoned):
        _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
