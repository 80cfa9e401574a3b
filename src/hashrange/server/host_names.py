"""At which names may a server be asked? A page of the web may let its own name lead to 127.0.0.1,
and so reach a server that listens on the loopback only.

A browser sends the page's name as Host, so a server on the loopback accepts only names that lead to its own machine for
everybody, and those of the setting `allowed_hosts`.
"""

import re
import socket
from ipaddress import IPv6Address, ip_address

from hashrange.aws_services.host_endings import AWS_ENDINGS
from hashrange.settings import SettingUnusable
from hashrange.wire.http import HttpRequest

KNOWN_MAX = 256
"""Values of Host that are remembered as accepted."""
LOCAL_NAMES = frozenset({"localhost", "host.docker.internal", "host.testcontainers.internal"})
LOCAL_SUFFIXES = (".localhost", *AWS_ENDINGS)
"""Names below localhost are the machine's own by RFC 6761. Those of the services,
such as `ACCOUNT.streams-ddb.us-east-1.amazonaws.com`, reach this server only if its client was told so."""

_host_and_port = re.compile(r"(\[[0-9a-f:.]*\]|[a-z0-9._-]*)(?::[0-9]*)?").fullmatch
_is_pattern = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|[0-9a-f:]+").fullmatch


class HostNames:
    """The names at which one listener may be asked; all of them until `require_known` is called."""

    def __init__(self, allowed: str | None, listening: str) -> None:
        """`allowed`: the setting; `listening`: the name or address that the server listens on.
        Raises SettingUnusable.
        """
        patterns = _patterns(allowed)
        self._names = (
            LOCAL_NAMES | _names_of_machine() | {listening.lower()} | {name for name in patterns if name[0] != "*"}
        )
        self._suffixes = LOCAL_SUFFIXES + tuple(name[1:] for name in patterns if name[0] == "*")
        self._accepts_all = True
        self.known: set[bytes | None] = {None}
        """Values of Host that DynamoDB's requests had lately; None: a request without a Host needs no look either."""

    def require_known(self) -> None:
        """Accept only the machine's own names and the allowed ones from now on."""
        self._accepts_all = False
        self.known.clear()

    def accepts(self, request: HttpRequest) -> bool:
        """True if the request's Host is a name of this server, or if any is accepted."""
        if not self._accepts_all and not self.is_local(request):
            return False
        self.remember(request)
        return True

    def remember(self, request: HttpRequest) -> None:
        """Let DynamoDB's requests with the same Host pass without a further look."""
        value = request.values[request.layout.host]
        if value is not None:
            if len(self.known) >= KNOWN_MAX:
                self.known.clear()
            self.known.add(value)

    def is_local(self, request: HttpRequest) -> bool:
        """True if the request's Host leads to this machine for everybody, or is allowed. HTTP/1.0 needs none."""
        if request.layout.host < 0:
            return not request.lacks_host
        name = _name_in(request)
        return name is not None and (name in self._names or name.endswith(self._suffixes) or is_loopback(name))

    def is_of_aws(self, request: HttpRequest) -> bool:
        """True if the request's Host is a name of AWS that no setting allows: SDKs use such names, pages do not."""
        name = _name_in(request)
        return name is not None and name.endswith(AWS_ENDINGS) and name not in self._names


def _name_in(request: HttpRequest) -> str | None:
    """The name in the request's Host, without a port; None without a Host, and for one that is no name."""
    value = request.header(b"host") if request.layout.host >= 0 else None
    found = None if value is None else _host_and_port(value.decode("latin-1").lower())
    return None if found is None else found[1].strip("[]").removesuffix(".")


def is_loopback(text: str | None) -> bool:
    """True if this is a loopback address; False for None, and for whatever is no address."""
    try:
        address = ip_address(text or "")
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _names_of_machine() -> set[str]:
    """The machine's name, as it is and as other programs on it may write it.
    No resolver is asked, which may take seconds.
    """
    name = socket.gethostname().lower()
    first = name.partition(".")[0]
    return {name, first, f"{first}.local"} - {"", ".local"}


def _patterns(allowed: str | None) -> list[str]:
    patterns = [] if allowed is None else [one.strip().lower() for one in allowed.split(",")]
    for pattern in patterns:
        if _is_pattern(pattern) is None:
            raise SettingUnusable(
                f'--allowed-hosts names "{pattern}". It must be names of hosts without a port, such as db.test or'
                " *.example.com, with commas between them."
            )
    return patterns
