"""What must a protocol over HTTP have, so that the front can pass requests to it?

It says which requests are its own, and makes calls of the service of them. Its guard says what it checks itself of who
sends a request, and how it refuses one, for the gate (`server/gate.py`).
"""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from hashrange.server.incoming import Respond
from hashrange.server.protocols.unserved.services import ServiceRefusal, refuse_in_form
from hashrange.service.call import Call
from hashrange.wire.http import HttpRequest

Refuse = Callable[[HttpRequest, Respond, ServiceRefusal], None]
Prepare = Callable[[HttpRequest, Respond], Call | None]


class Guard(NamedTuple):
    """What a protocol itself checks of who sends a request, and how it refuses one."""

    checks_signatures: bool = False
    """True if, on a server with a credentials file, no request with a signature gets further than its check."""
    is_open_to_pages: bool = False
    """True if pages of any site may send its requests."""
    answers_preflights: bool = False
    """True if it answers itself when a browser asks whether a page may send a request (CORS preflight)."""
    refuse: Refuse = refuse_in_form
    """Answers a request with a refusal."""


class WireProtocol(Protocol):
    """One protocol: the members that the front uses. Nearly all protocols name no targets."""

    targets: Mapping[bytes, Prepare] = MappingProxyType({})
    """The protocol's values of X-Amz-Target, each with the `prepare` function for its requests."""
    quick_targets: Mapping[bytes, bool] = MappingProxyType({})
    """Targets whose small requests take well under a millisecond, each with True if its requests only read."""
    closed_targets: Collection[bytes] = frozenset()
    """Targets whose requests pages of other sites may not send, whatever the guard says."""
    guard: Guard = Guard()
    """What it checks itself of who sends a request."""

    def claims(self, request: HttpRequest) -> bool:
        """True if this protocol, by method, path or headers, handles a request whose target no protocol names."""

    def prepare(self, request: HttpRequest, respond: Respond) -> Call | None:
        """Return the call that a request of this protocol becomes; None if it is answered without a call, now or later.

        May give way. Raises only if code that it loads when it is first needed cannot be loaded, StillLoading,
        or Abandoned; the request is not answered then.
        """
