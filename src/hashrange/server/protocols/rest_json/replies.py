"""How does a reply of Lambda's API look on the wire? Members or an error → status, body and header lines.

Source: the rest-json protocol of Smithy; botocore's service model of Lambda; status codes of errors of all operations:
Lambda's API reference, *Common errors*.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from hashrange.errors import ApiError
from hashrange.functions.api.operation import LambdaError, LambdaReply
from hashrange.messages.http import shown_message
from hashrange.messages.rest_json import SERVICE_FAILED
from hashrange.server.access_log import NOTHING_USED
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.wire.http import NO_CONTENT

JSON = b"application/json"
MESSAGE_IN_CAPITALS = frozenset({"ResourceInUseException", "ResourceNotFoundException", "ServiceException"})
"""Errors, of those that Hashrange raises, whose body has the member `Message`; that of all others is `message`."""
_UNAUTHENTICATED = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
"""Errors of the shared authentication, which DynamoDB answers with status 400, and Lambda with 403."""


class RestWriter(NamedTuple):
    """Writes the reply to one request."""

    status: int = 0
    """HTTP status of a reply that an operation gives as members, or None; 0 if the operation is not known."""

    def reply(self, outcome: Mapping[str, Any] | LambdaReply | None) -> WrittenReply:
        """The reply to what an operation returned. Status 204 must have no body."""
        if outcome is None:
            return WrittenReply(self.status, b"", JSON)
        if isinstance(outcome, LambdaReply):
            return WrittenReply(outcome.status, outcome.body, JSON, _lines(outcome.headers))
        assert self.status != NO_CONTENT, outcome
        return WrittenReply(self.status, msgspec.json.encode(outcome), JSON)

    def error(self, error: ApiError) -> WrittenReply:
        """The reply to what an operation, or the code before it, raised. Lambda's own errors say who is at fault."""
        code, status = error.code, 403 if error.code in _UNAUTHENTICATED else error.http_status
        first = {}
        if isinstance(error, LambdaError):
            status = error.http_status
            first["Type"] = "User" if status < 500 else "Service"
        name = "Message" if code in MESSAGE_IN_CAPITALS else "message"
        body = msgspec.json.encode({**first, name: shown_message(error.message or ""), **error.members})
        return WrittenReply(status, body, JSON, _lines({"x-amzn-ErrorType": code}), f"{NOTHING_USED} {code}")

    def internal_error(self) -> ApiError:
        """The error that says that Lambda has failed."""
        return LambdaError(500, "ServiceException", SERVICE_FAILED)


def _lines(headers: Mapping[str, str]) -> bytes:
    """Header lines with line ends."""
    assert not any("\r" in text or "\n" in text for pair in headers.items() for text in pair), headers
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")
