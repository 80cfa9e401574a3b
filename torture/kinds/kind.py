"""What is a hostile request? A record per kind: what is sent, what must exist before, and what is answered.

The requests of one kind are equal, so one is made and sent over and over.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import msgspec

SHORT_BYTES_MAX = 1 << 20
"""Requests up to here, decoded, owe their neighbours more than larger ones do."""

REFUSED = "400 ValidationException"
"""An answer of many kinds."""

Signature = Literal["right", "wrong", "none"]
Behaviour = Literal["repeat", "pipeline", "together", "never read", "half body", "idle"]
"""What the clients of a kind do: send and wait for the reply, over and over; or what torture/stalls/behaviours.py says."""


class Hostile(NamedTuple):
    """One request, without the headers that every request has."""

    operation: str
    body: bytes
    """As it goes over the wire."""
    decoded_bytes: int
    """Of the body, once its content coding is taken off."""
    headers: tuple[tuple[str, str], ...] = ()
    chunk_bytes: int = 0
    """The body goes over the wire in signed chunks of so many bytes; 0: as it is."""

    @property
    def is_short(self) -> bool:
        """Is it one of those that must be hardly noticed?"""
        return self.decoded_bytes <= SHORT_BYTES_MAX


class Kind(NamedTuple):
    """One sort of hostile client."""

    name: str
    make: Callable[[], Hostile]
    answers: tuple[str, ...]
    """Status, and type of error, of each reply that is right: `200`, `400 ValidationException`; empty when no reply is waited for."""
    needs: tuple[str, ...] = ()
    """What must exist before: keys of `needs.NEEDS`."""
    signature: Signature = "right"
    behaviour: Behaviour = "repeat"
    clients: int = 2
    """Connections that do so at a time."""
    open_files_max: int = 0
    """RLIMIT_NOFILE of the server; 0: as the machine has it."""


def plain(operation: str, members: dict[str, Any]) -> Hostile:
    """A request whose members are small enough to be written out."""
    body = msgspec.json.encode(members)
    return Hostile(operation, body, len(body))


def spliced(operation: str, members: dict[str, Any], parts: dict[str, bytes]) -> Hostile:
    """A request in which each text `@name` is replaced by the JSON of that name in `parts`: large values are not built as objects."""
    body = msgspec.json.encode(members)
    for name, part in parts.items():
        body = body.replace(b'"@%b"' % name.encode(), part)
    return Hostile(operation, body, len(body))


def json_list(element: bytes, count: int) -> bytes:
    """The same element so many times."""
    return b"[%b]" % b",".join([element] * count)


def json_set(members: Iterable[bytes]) -> bytes:
    """Texts that need no escapes."""
    return b'["%b"]' % b'","'.join(members)


def json_map(names: Iterable[bytes], value: bytes) -> bytes:
    """The same value under each of those names."""
    return b"{%b}" % b",".join(b'"%b":%b' % (name, value) for name in names)


def names_of(prefix: bytes, count: int) -> list[bytes]:
    """So many short names, in order; the first is `prefix` and a 0."""
    return [b"%b%x" % (prefix, number) for number in range(count)]
