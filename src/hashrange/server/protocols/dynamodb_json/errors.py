"""How does an error look on the wire? An ApiError → body of the reply.

Source: errors.md sections 1 and 3.
"""

from hashrange.errors import ApiError, InternalServerError, RequestFault
from hashrange.messages.http import INTERNAL_ERROR, shown_message
from hashrange.operations.operation import Wording
from hashrange.server.protocols.dynamodb_json.writing import reply_json

ENVELOPE = "1 validation error detected: "
"""The envelope: prefix of a RequestFault's message if the `wording` is "enveloped" and the fault not `is_always_bare`
(errors.md 3)."""


def error_body(error: ApiError, wording: Wording = "bare") -> bytes:
    """Return the body of an error's reply: `__type`, the message as `error.message_member`, then `error.members`.

    `wording` says which message of a RequestFault is taken, and whether `ENVELOPE` precedes it.
    A very long message is cut.
    """
    message = error_message(error, wording)
    body: dict[str, object] = {"__type": error.wire_type}
    if message is not None:
        body[error.message_member] = message
    body.update(error.members)
    return reply_json(body)


def error_message(error: ApiError, wording: Wording) -> str | None:
    """The message of an error's reply; see `error_body`."""
    message = error.message
    if isinstance(error, RequestFault):
        if wording == "older":
            message = error.older_message
        elif wording == "enveloped" and not error.is_always_bare:
            message = f"{ENVELOPE}{message}"
    return None if message is None else shown_message(message)


INTERNAL_ERROR_BODY = error_body(InternalServerError(INTERNAL_ERROR))
