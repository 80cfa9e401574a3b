"""How is an HTTP request answered that came without a connection? Its reply is kept, and who waits for it is told."""

from concurrent.futures import Future
from typing import NamedTuple

from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of


class Answer(NamedTuple):
    """The reply to one HTTP request."""

    status: int
    headers: dict[str, str]
    body: bytes


class Exchange:
    """One HTTP request and its reply, without a connection. Used on one thread at a time."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.answer: Answer | ConnectionError | None = None
        """The reply, or why there is none; None until then."""
        self.is_answered: Future[None] | None = None
        """Set, if anybody waits, when there is an answer."""

    def respond(
        self, status: int, body: bytes, content_type: bytes | None = None, extra: bytes = b"", used: str = ""
    ) -> None:
        """Answer the request."""
        request = self.request
        told = content_type or request.header(b"content-type") or b"application/x-amz-json-1.0"
        headers = {
            "x-amzn-RequestId": request_id_of(request.number).decode(),
            "Content-Type": told.decode("latin-1"),
            "Content-Length": str(len(body)),
        }
        for line in extra.decode("latin-1").splitlines():
            name, _, value = line.partition(": ")
            headers[name] = value
        self._end(Answer(status, headers, body))

    def cut(self, share: float) -> None:
        """Let the reply be lost."""
        self._end(ConnectionError("The connection was closed before the whole reply had come."))

    def _end(self, answer: Answer | ConnectionError) -> None:
        self.answer = answer
        if self.is_answered is not None and not self.is_answered.done():
            self.is_answered.set_result(None)
