"""What defines a kind of hostile client? Its request, the data that it needs, its behaviour, and the right answers.

The requests of a kind are made once and sent repeatedly. Most are one signed request of DynamoDB's;
others may be of any protocol.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from benchmarks.signing import web_request

SHORT_BYTES_MAX = 1 << 20
"""Highest decoded size of a short request; short requests have a stricter bound of the others' waits."""

REFUSED = "400 ValidationException"
"""The answer of many kinds."""

Signature = Literal["right", "wrong", "none"]
Probe = Literal["item", "stream"]
"""The prober's requests: GetItem of a small item, or GetRecords at the end of a stream;
see torture/stalls/probes.py."""
Behaviour = Literal[
    "repeat", "pipeline", "together", "never read", "leave", "arrive", "half body", "idle", "be killed", "dax"
]
"""The clients' behaviour: send and wait for the reply, repeatedly, `dax` to a node of DAX;
for the others see torture/stalls/behaviours.py."""


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
    raw: Callable[[str], bytes] | None = None
    """The whole request for that Host header, instead of a signed one of DynamoDB's operation; see `web`."""
    then: "tuple[Hostile, ...]" = ()
    """Requests that each client sends after this one, before it begins again; only for the behaviour `repeat`.

    `@name@` in one of them stands for that member of the last reply: such requests must not need a signature."""

    @property
    def is_short(self) -> bool:
        """True if the request must delay others only a little."""
        return all(each.decoded_bytes <= SHORT_BYTES_MAX for each in (self, *self.then))


class Call(NamedTuple):
    """One preparing request to DynamoDB."""

    operation: str
    members: dict[str, Any]


class Conditions(NamedTuple):
    """How the servers of a kind are started."""

    open_files: int = 0
    """RLIMIT_NOFILE of the server; 0: the machine's limit."""
    flags: tuple[str, ...] = ()
    """Further options of `hashrange serve`."""
    has_credentials: bool = True
    """False if the server checks no signatures."""


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
    conditions: Conditions = Conditions()
    preparation: Callable[[], Iterator[Call | Hostile]] | None = None
    """Makes requests that are sent to both servers once, after those of `needs`; all must be answered with success."""
    tidying: tuple[Hostile, ...] = ()
    """Requests that remove what the clients leave behind when they end in between; sent after them, with any answer."""
    probe: Probe = "item"


def plain(operation: str, members: dict[str, Any]) -> Hostile:
    """A request whose members are small enough to be encoded."""
    body = msgspec.json.encode(members)
    return Hostile(operation, body, len(body))


def web(
    method: str, url: str, body: bytes = b"", headers: tuple[tuple[str, str], ...] = (), service: str = ""
) -> Hostile:
    """A request of any protocol, signed for the service of that signing name; unsigned without one."""
    raw = partial(web_request, method=method, url=url, body=body, headers=headers, service=service)
    return Hostile(f"{method} {url}", body, len(body), headers, raw=raw)


def spliced(operation: str, members: dict[str, Any], parts: dict[str, bytes]) -> Hostile:
    """A request in which each text `@name` is replaced by the JSON `parts[name]`,
    so that large values need no objects.
    """
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
