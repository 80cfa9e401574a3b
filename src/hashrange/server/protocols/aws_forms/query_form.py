"""Which names and values does a form have? They are read in pieces, so that a long form holds up no other request.

The operation is found without reading the rest, because it decides who reads it.
"""

from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from hashrange.items.steps import spend, walk
from hashrange.limits import SERVICE_BODY_BYTES_MAX, SERVICE_QUERY_MEMBERS_MAX

PIECE_BYTES = 4 * 1024
"""Bytes of a name or value whose escapes are read in one call, which takes up to 0.4 ms."""
NAME_BYTES_MAX = 1_000
"""Bytes that are read of the name of an operation, or of a version."""


def member_in(form: bytes, name: bytes) -> str | None:
    """What stands last for this name; None if the form does not have it. Raises UnicodeDecodeError. 0.1 ms for 1 MB."""
    begin = form.rfind(b"&" + name + b"=") + 1
    if begin == 0 and not form.startswith(name + b"="):
        return None
    begin += len(name) + 1
    end = form.find(b"&", begin, begin + NAME_BYTES_MAX)
    return _text(form[begin : begin + NAME_BYTES_MAX if end < 0 else end])


def pairs_in(form: bytes) -> list[tuple[str, str]] | None:
    """Names and values of a form; None if it cannot be read, or is too large. May give way."""
    if len(form) > SERVICE_BODY_BYTES_MAX or form.count(b"&") >= SERVICE_QUERY_MEMBERS_MAX:
        return None
    try:
        return [_pair(one) for one in walk(form.split(b"&")) if one]
    except UnicodeDecodeError:
        return None


def _pair(text: bytes) -> tuple[str, str]:
    name, _, value = text.partition(b"=")
    return _text(name), _text(value)


def _text(given: bytes) -> str:
    plain = given.replace(b"+", b" ")
    return (b"".join(_unescaped(plain)) if b"%" in plain else plain).decode()


def _unescaped(given: bytes) -> Iterator[bytes]:
    """The bytes that a text with escapes stands for, in pieces between which it gives way."""
    begin = 0
    while begin < len(given):
        end = begin + PIECE_BYTES
        split_escape = given.rfind(b"%", end - 2, end)
        if split_escape > begin:
            end = split_escape
        spend(min(PIECE_BYTES, len(given) - begin) >> 4)
        yield unquote_to_bytes(given[begin:end])
        begin = end
