"""What is looked at of the error that a function returned? Its type, its message and a part of its trace,
without making objects of the rest.

A handler decides about its error, up to 6 MB of it, which may be no error of Lambda's form, and no JSON at all.
"""

import hashlib
import re
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import msgspec

from hashrange.items.steps import spend_decoding
from hashrange.limits import FUNCTION_ERROR_TYPE_LENGTH_MAX
from hashrange.terminal import escape_controls

_LOGGED_CHARACTERS_MAX = 1000
"""Characters of a text of others that a line of the log has at most."""
_TRACE_END_BYTES_MAX = 32 * 1024
"""Bytes of either end of a trace that are looked at."""
MESSAGE_CHARACTERS_MAX = 32 * 1024
"""Characters of a message that are looked at: more than anything that is told of it shows."""
_CHARACTER_BYTES_MAX = 12
"""Most bytes of a character in JSON: two escaped units of UTF-16."""
_PLACES_MAX, _PATH_BYTES_MAX = 200, 500
_find_python_lines = re.compile(rb'\\",? [lL]ine (\d{1,9})').finditer
_find_node_lines = re.compile(rb"\.[cm]?[jt]s:(\d{1,9})").finditer
_is_code_of_others = re.compile(
    rb"[/\\](?:site-packages|dist-packages|node_modules)[/\\]|[/\\][Ll]ib[/\\](?:python3\.|importlib)|^<|"
    rb"[/\\]node_runtime\.mjs$"
).search
"""Libraries, and what comes with the runtimes."""


class HandlerError(NamedTuple):
    """What an error says of itself."""

    type: str
    """Empty, as the message is, if it is no text, or missing."""
    message: str
    trace: bytes = b""
    """JSON of its trace, or the two ends of a long one."""


class _Members(msgspec.Struct, gc=False):
    errorType: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Lambda's name
    errorMessage: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815 - Lambda's name
    stackTrace: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815 - the name in Lambda's runtime for Python
    trace: msgspec.Raw = msgspec.Raw(b"")


_decode = msgspec.json.Decoder(_Members).decode
_decode_text = msgspec.json.Decoder(str).decode


def read_handler_error(payload: bytes) -> HandlerError | None:
    """The error in a payload, its message up to MESSAGE_CHARACTERS_MAX; None if it is no JSON object.
    Takes some 2 ms for 1 MB; gives way before.
    """
    spend_decoding(len(payload))
    try:
        members = _decode(payload)
        error_type = _text(members.errorType, FUNCTION_ERROR_TYPE_LENGTH_MAX)
        message = _text(members.errorMessage, MESSAGE_CHARACTERS_MAX)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    trace = memoryview(members.stackTrace) or memoryview(members.trace)
    ends = bytes(trace[:_TRACE_END_BYTES_MAX]) + bytes(trace[_TRACE_END_BYTES_MAX:][-_TRACE_END_BYTES_MAX:])
    return HandlerError(error_type, message, ends)


def trace_digest(error: HandlerError) -> bytes:
    """A digest that is equal for errors of the same type and trace. Type and message, which Node.js repeats at the
    beginning of its trace, do not count.
    """
    title = msgspec.json.encode(f"{error.type}: {error.message[:_TRACE_END_BYTES_MAX]}")[:-1]
    trace = error.trace.removeprefix(b"[" + title)
    return hashlib.blake2b(error.type.encode(errors="replace") + b"\0" + trace, digest_size=16).digest()


def described(error: HandlerError) -> str:
    """Type and message as far as the error has them, with the file and line of the user's own code,
    such as `(app.py, line 3)`.
    """
    text = ": ".join(filter(None, error[:2]))
    place = _place(error.trace)
    return f"{text.removesuffix('.')} ({place})" if text and place and f"({place})" not in text else text


def _place(trace: bytes) -> str:
    """Where in the user's own code an error was raised: `app.py, line 3`; empty if the trace does not say."""
    python_lines = list(_find_python_lines(trace))
    for found in islice(reversed(python_lines) if python_lines else _find_node_lines(trace), _PLACES_MAX):
        end = found.start() if python_lines else found.start(1) - 1
        text = trace[max(0, end - _PATH_BYTES_MAX) : end]
        path = text[max(text.rfind(b'File \\"') + 6, text.rfind(b'"') + 1, text.rfind(b"(") + 1) :]
        if not _is_code_of_others(path):
            file = path[max(path.rfind(b"/"), path.rfind(b"\\")) + 1 :].decode(errors="replace")
            return f"{file}, line {found[1].decode()}"
    return ""


def logged_text(text: str) -> str:
    """A text of others as a line of the log may hold it: short, and without what commands a terminal."""
    if len(text) > _LOGGED_CHARACTERS_MAX:
        text = text[:_LOGGED_CHARACTERS_MAX] + "..."
    return escape_controls(text)


def _text(member: msgspec.Raw, length: int) -> str:
    """The first characters of a member that is a text, at most `length`; empty for any other member."""
    text = memoryview(member)
    if bytes(text[:1]) != b'"':
        return ""
    end = 1 + length * _CHARACTER_BYTES_MAX
    if len(text) <= end + 1:
        return _decode_text(text)[:length]
    for cut in range(end, end - _CHARACTER_BYTES_MAX, -1):  # one of them is between two characters
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return _decode_text(bytes(text[:cut]) + b'"')[:length]
    return _decode_text(text)[:length]
