"""What is looked at of the error that a function returned? Its type and message, without making objects of the rest.

A handler decides about its error, up to 6 MB of it, which may be no error of Lambda's form, and no JSON at all.
"""

from typing import NamedTuple

import msgspec

from hashrange.limits import FUNCTION_ERROR_TYPE_LENGTH_MAX
from hashrange.terminal import escape_controls

_LOGGED_CHARACTERS_MAX = 1000
"""Characters of a text of others that a line of the log has at most."""


class HandlerError(NamedTuple):
    """Type and message; empty if they are no text, or missing."""

    type: str
    message: str


class _Members(msgspec.Struct, gc=False):
    errorType: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Lambda's name
    errorMessage: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Lambda's name


_decode = msgspec.json.Decoder(_Members).decode
_decode_text = msgspec.json.Decoder(str).decode


def read_handler_error(payload: bytes) -> HandlerError | None:
    """The error in a payload; None if it is no JSON object. Takes some 2 ms for 1 MB."""
    try:
        members = _decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return HandlerError(_text(members.errorType)[:FUNCTION_ERROR_TYPE_LENGTH_MAX], _text(members.errorMessage))


def logged_text(text: str) -> str:
    """A text of others as a line of the log may hold it: short, and without what commands a terminal."""
    if len(text) > _LOGGED_CHARACTERS_MAX:
        text = text[:_LOGGED_CHARACTERS_MAX] + "..."
    return escape_controls(text)


def _text(member: msgspec.Raw) -> str:
    return _decode_text(member) if bytes(memoryview(member)[:1]) == b'"' else ""
