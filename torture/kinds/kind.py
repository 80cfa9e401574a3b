"""What defines a kind of hostile client? Its request, the data that it needs, its behaviour, and the right answers.

All requests of a kind are equal, so one request is made and sent repeatedly.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import msgspec

SHORT_BYTES_MAX = 1 << 20
"""Highest decoded size of a short request; short requests have a stricter bound of the others' waits."""

REFUSED = "400 ValidationException"
"""The answer of many kinds."""

Signature = Literal["right", "wrong", "none"]
Behaviour = Literal["repeat", "pipeline", "together", "never read", "leave", "arrive", "half body", "idle"]
"""The clients' behaviour: send and wait for the reply, repeatedly; for the others see torture/stalls/behaviours.py."""


class Hostile(NamedTuple):
    """One request, without the headers that all requests have."""

    operation: str
    body: bytes
    """The body on the wire."""
    decoded_bytes: int
    """Length of the body once its content coding is removed."""
    headers: tuple[tuple[str, str], ...] = ()
    chunk_bytes: int = 0
    """Size of the signed chunks of the body; 0: no chunks."""

    @property
    def is_short(self) -> bool:
        """True if the request must delay others only a little."""
        return self.decoded_bytes <= SHORT_BYTES_MAX


class Kind(NamedTuple):
    """One sort of hostile client."""

    name: str
    make: Callable[[], Hostile]
    answers: tuple[str, ...]
    """Status and error type of each correct reply: `200`, `400 ValidationException`; empty when no reply is awaited."""
    needs: tuple[str, ...] = ()
    """What must exist before: keys of `needs.NEEDS`."""
    signature: Signature = "right"
    behaviour: Behaviour = "repeat"
    clients: int = 2
    """Number of connections at a time."""
    open_files_max: int = 0
    """RLIMIT_NOFILE of the server; 0: the machine's limit."""


def plain(operation: str, members: dict[str, Any]) -> Hostile:
    """A request whose members are small enough to be encoded."""
    body = msgspec.json.encode(members)
    return Hostile(operation, body, len(body))


def spliced(operation: str, members: dict[str, Any], parts: dict[str, bytes]) -> Hostile:
    """A request in which each text `@name` is replaced by the JSON `parts[name]`, so that large values need no objects."""
    body = msgspec.json.encode(members)
    for name, part in parts.items():
        body = body.replace(b'"@%b"' % name.encode(), part)
    return Hostile(operation, body, len(body))


def json_list(element: bytes, count: int) -> bytes:
    """A JSON list of `count` equal elements."""
    return b"[%b]" % b",".join([element] * count)


def json_set(members: Iterable[bytes]) -> bytes:
    """A JSON list of texts that need no escapes."""
    return b'["%b"]' % b'","'.join(members)


def json_map(names: Iterable[bytes], value: bytes) -> bytes:
    """A JSON object with the same value under each name."""
    return b"{%b}" % b",".join(b'"%b":%b' % (name, value) for name in names)


def names_of(prefix: bytes, count: int) -> list[bytes]:
    """This many short names, in order; the first is `prefix` and a 0."""
    return [b"%b%x" % (prefix, number) for number in range(count)]
