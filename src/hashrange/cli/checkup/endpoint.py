"""What answers at the endpoint, and what would a client meet there?
Connects, shakes hands, and sends a few small requests; each wait is bounded.
"""

import contextlib
import json
import socket
import ssl
from collections.abc import Generator, Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from threading import Thread, Timer
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from hashrange.cli.checkup.finding import Finding, failing, fine, noted, surprising
from hashrange.cli.parsing import UsageError
from hashrange.cli.remote import connected, moment_of, request_headers, trust
from hashrange.clock import SystemClock
from hashrange.terminal import without_user
from hashrange.wire.outgoing_signature import OutgoingSigner

WAIT_SECONDS_MAX = 3.0
"""Time to wait for a name's addresses, for a connection, and for a whole reply."""
IDENTIFYING_SECONDS_MAX = 5.0
"""Time in which a program at a taken port says that it is Hashrange."""
REPLY_BYTES_MAX = 1_000_000
"""Bytes of a reply that are read."""
SKEW_SECONDS_MAX = 900
"""A signature that is older is refused. Source: signing.md."""
SKEW_SECONDS_SURPRISING = 60
PROBE = b"Action=HashrangeDoctor"
"""An operation that no service has: Hashrange says so in its own words."""
LIST_TABLES = "DynamoDB_20120810.ListTables"
_NEIGHBOURS = (
    ("jetty", "DynamoDB Local, by its Server header"),
    ("werkzeug", "moto's server, by its Server header"),
    ("localstack", "LocalStack"),
)


class EndpointReply(NamedTuple):
    """The reply to one request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ClientKeys(NamedTuple):
    """What a client signs and trusts with. Stand-ins if it has no keys."""

    access_key: str
    secret_key: str
    session_token: str | None
    region: str
    ca_bundle: str | None
    """File of certificates that the client trusts beside the machine's."""
    are_stand_ins: bool = False
    """True if no keys were found: those that clients have in their code are not known here."""


def look_at_answers(url: str, keys: ClientKeys) -> Iterator[Finding]:
    """What is at the endpoint, whether its clock is right, and what it answers to ListTables."""
    parts = _parts_of(url)
    if parts is None:
        yield failing(
            "server",
            f"{without_user(url)} is no URL of an endpoint; it begins with http:// or https://, and has a host.",
        )
        return
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme == "https" and keys.ca_bundle and not _is_bundle(keys.ca_bundle):
        yield failing(
            "certificates",
            f"{keys.ca_bundle}, by AWS_CA_BUNDLE or ca_bundle of the profile, is no readable file of"
            " certificates, so clients fail.",
        )
        keys = keys._replace(ca_bundle=None)
    problem = yield from _reach(host, port)
    if problem:
        return
    try:
        health = _ask(parts, keys, "GET", "/", {}, b"")
    except (OSError, HTTPException, ssl.SSLError) as error:
        yield failing("server", _misunderstood(parts, host, port, error))
        return
    yield _named(parts, keys, health)
    yield from _clock(health)
    yield _listed(parts, keys)


def _parts_of(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in {"http", "https"} and parts.hostname and parts.hostname.isascii() else None


def _reach(host: str, port: int) -> Generator[Finding, None, bool]:
    """Connect to each address of the host. Returns True if none can be reached."""
    addresses = _addresses_of(host, port)
    if not addresses:
        yield failing("server", f"The name {host} is not known on this machine.")
        return True
    problems: dict[str, str] = {}
    for address in addresses:
        try:
            socket.create_connection((address, port), WAIT_SECONDS_MAX).close()
        except OSError as error:
            problems[address] = error.strerror or str(error)
    if len(problems) == len(addresses):
        reason = next(iter(problems.values()))
        yield failing(
            "server",
            f"Nothing answers at {host}, port {port}: {reason}. Start a server with `hashrange serve --port {port}`.",
        )
        return True
    if addresses[0] in problems:
        reached = next(one for one in addresses if one not in problems)
        yield surprising(
            "server",
            f"{host} is {addresses[0]} first, where nothing listens. A client that does not try {reached} next fails;"
            " name that address in the endpoint.",
        )
    return False


def _addresses_of(host: str, port: int) -> list[str]:
    """The first addresses of a host; none if it is unknown, or not found in time."""
    found: list[str] = []

    def look_up() -> None:
        with contextlib.suppress(OSError, UnicodeError):
            found.extend(str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

    thread = Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS_MAX)
    return list(dict.fromkeys(found))[:4]


def _ask(
    parts: SplitResult,
    keys: ClientKeys,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    wait_seconds_max: float = WAIT_SECONDS_MAX,
) -> EndpointReply:
    """The reply to one request. Raises OSError, HTTPException, and ValueError for headers that cannot be sent."""
    tls = trust(keys.ca_bundle) if parts.scheme == "https" else None
    connection = connected(parts, tls, wait_seconds_max)
    used: list[socket.socket] = []
    is_late = False

    def hang_up() -> None:
        # A server that sends a byte now and then would otherwise hold the command forever.
        nonlocal is_late
        is_late = True
        for one in filter(None, (connection.sock, *used)):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)

    timer = Timer(wait_seconds_max, hang_up)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        used.append(connection.sock)
        connection.request(method, path, body, dict(headers))
        reply = _received(connection)
        if is_late:
            raise TimeoutError
        return reply
    except (OSError, HTTPException) as error:
        if is_late:
            raise TimeoutError from error
        raise
    finally:
        timer.cancel()
        connection.close()


def _received(connection: HTTPConnection) -> EndpointReply:
    """The reply to the request that was sent. Raises OSError, HTTPException."""
    try:
        with connection.getresponse() as reply:
            received = reply.read(REPLY_BYTES_MAX)
            return EndpointReply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, received)
    except ValueError as error:  # from http.client, for a chunk of negative length
        raise HTTPException("malformed reply") from error


def _is_bundle(path: str) -> bool:
    """False for a file of certificates that cannot be read."""
    try:
        trust(path)
    except UsageError:
        return False
    return True


def _misunderstood(parts: SplitResult, host: str, port: int, error: Exception) -> str:
    """Why a server that takes connections gave no HTTP reply."""
    listener = f"What listens at {host}, port {port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"Clients do not trust the certificate at {host}, port {port}: {error.verify_message}."
            " Name its authority's file in AWS_CA_BUNDLE."
        )
    if isinstance(error, TimeoutError):
        return f"{listener} gave no reply within {WAIT_SECONDS_MAX:g} seconds."
    if parts.scheme == "https":
        return f"{listener} does not speak HTTPS. Try an endpoint that begins with http://."
    if _speaks_tls(host, port):
        return f"{listener} speaks HTTPS. Let the endpoint begin with https://."
    return f"{listener} does not speak HTTP ({type(error).__name__})."


def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), WAIT_SECONDS_MAX) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return True
    except OSError:
        return False


def hashrange_at(host: str, port: int) -> str | None:
    """What calls itself Hashrange at a port, such as `Hashrange 0.1.0`, over HTTP;
    None if something else answers, or nothing in time.
    """
    parts = urlsplit(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    return _own_name(parts, ClientKeys("", "", None, "", None), IDENTIFYING_SECONDS_MAX)


def _own_name(parts: SplitResult, keys: ClientKeys, wait_seconds_max: float = WAIT_SECONDS_MAX) -> str | None:
    """`Hashrange`, with its version if the server tells it; None if it is another program."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        info = _ask(parts, keys, "GET", "/_hashrange/v1/info", {}, b"", wait_seconds_max)
        version = json.loads(info.body).get("version") if info.status == 200 else None
        probe = b"" if version else _ask(parts, keys, "POST", "/", form, PROBE, wait_seconds_max).body
    except (OSError, HTTPException, ValueError, AttributeError, RecursionError):
        return None
    if isinstance(version, str) and version:
        return f"Hashrange {version}"
    return "Hashrange" if b"Hashrange" in probe else None


def _named(parts: SplitResult, keys: ClientKeys, health: EndpointReply) -> Finding:
    """Which program answers."""
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    own = _own_name(parts, keys)
    if own is not None:
        return fine("server", f"{own} answers at {place}.")
    told = f"{health.headers.get('server', '')} {health.body[:2000].decode('latin-1')}".lower()
    other = next((name for word, name in _NEIGHBOURS if word in told), None)
    if other is not None:
        return surprising(
            "server", f"What answers at {place} is {other}, not Hashrange. Stop it, or start Hashrange on another port."
        )
    if health.body.startswith(b"healthy: dynamodb"):
        return fine("server", f"A DynamoDB answers at {place}.")
    return surprising(
        "server", f"What answers at {place} gives no sign of being Hashrange or DynamoDB (HTTP {health.status})."
    )


def _clock(health: EndpointReply) -> Iterator[Finding]:
    there = moment_of(health.headers.get("date"))
    if there is None:
        return
    skew_seconds = abs(there - SystemClock.wall_time())
    if skew_seconds > SKEW_SECONDS_MAX:
        yield failing(
            "clock",
            f"The clocks of this machine and of the server differ by {skew_seconds:,.0f} seconds."
            f" Signatures are refused from {SKEW_SECONDS_MAX} on; set the clocks.",
        )
    elif skew_seconds > SKEW_SECONDS_SURPRISING:
        yield surprising(
            "clock", f"The clocks of this machine and of the server differ by {skew_seconds:,.0f} seconds."
        )
    else:
        yield fine("clock", "The clocks of this machine and of the server agree.")


def _listed(parts: SplitResult, keys: ClientKeys) -> Finding:
    """What ListTables gets, signed as a client signs it."""
    signer = OutgoingSigner(keys.access_key, keys.secret_key, keys.region, "dynamodb")
    try:
        headers = request_headers(parts, LIST_TABLES, signer, keys.session_token, b"{}")
        reply = _ask(parts, keys, "POST", parts.path or "/", headers, b"{}")
    except (OSError, HTTPException) as error:
        return failing("request", f"ListTables got no reply ({type(error).__name__}).")
    except ValueError:
        return failing(
            "request", "The access key, session token or Region holds characters that no header can. Set them again."
        )
    try:
        members = json.loads(reply.body)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict) or not members.keys() & {"TableNames", "__type"}:
        return failing("request", f"ListTables got no reply of DynamoDB (HTTP {reply.status}).")
    if reply.status != 200 or not isinstance(members.get("TableNames"), list):
        return _refused(members, keys)
    number = len(members["TableNames"])
    if not number:
        return surprising(
            "request",
            f"ListTables works, and there are no tables in {keys.region} for these keys."
            " Other Regions, and keys that are accounts, have others.",
        )
    more = " or more" if "LastEvaluatedTableName" in members else ""
    return fine("request", f"ListTables works: {number}{more} {'table' if number == 1 else 'tables'} in {keys.region}.")


def _refused(members: Mapping[str, Any], keys: ClientKeys) -> Finding:
    """Why ListTables is refused, by the members of its error."""
    code = str(members.get("__type", "")).rpartition("#")[2]
    if keys.are_stand_ins:
        return noted(
            "request",
            f"ListTables is refused without keys: {code}. Those that clients have in their code must be in the"
            " server's credentials file.",
        )
    message = str(members.get("message") or members.get("Message") or "").partition("\n")[0][:200]
    if keys.session_token:
        message = message.replace(keys.session_token, "…")
    return failing(
        "request",
        f"ListTables is refused: {code}: {message} The keys and Region of clients must be those of the"
        " server's credentials file.",
    )
