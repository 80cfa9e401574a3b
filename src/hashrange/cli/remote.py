"""How does a command call a running server? As any client does: with signed HTTP requests,
on a connection that is kept.

A server without credentials accepts any signature. So without keys in the environment, requests are signed with
made-up keys.
"""

import contextlib
import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

import msgspec

from hashrange.bounded_replies import BODY_BYTES_MAX, BoundedResponse, EndlessReply
from hashrange.cli.parsing import CommandParser, UsageError
from hashrange.cli.reply_shapes import misfit
from hashrange.clock import SystemClock
from hashrange.errors import HashrangeError
from hashrange.terminal import escape_controls, without_user
from hashrange.toolkit.replies import SAME_PAGE, leads_to_itself
from hashrange.wire.outgoing_signature import OutgoingSigner, signed_headers

TARGETS = {
    "dynamodb": "DynamoDB_20120810",
    "streams": "DynamoDBStreams_20120810",
    "cloudwatch": "GraniteServiceVersion20100801",
}
SIGNING_NAMES = {"cloudwatch": "monitoring"}
"""Services that are signed for by another name than DynamoDB's."""
ADMIN_PREFIX = "/_hashrange/v1/"
DEFAULT_ENDPOINT = "http://127.0.0.1:8000"
ENDPOINT_FLAGS = ("--endpoint", "--endpoint-url")
"""Two names of one option; the second name is the AWS CLI's."""
ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")
NAMES_MAX = 1_000
DEFAULT_REGION = "us-east-1"
REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
PLACEHOLDER_KEY = "hashrange"
REPLY_SECONDS_MAX = 60.0
"""Time to wait for a connection, or for further bytes of a reply; then the server is reported as not answering."""
SNAPSHOT_IDLE_SECONDS = 3600
"""The server releases a snapshot that a command has taken, and not released, so long after the last request for it. As
long may a backup read files of earlier copies without a request.
"""

_NUMBER_IN_PATH = re.compile("/[0-9]+")
_KEY_FAULTS = {
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "ExpiredTokenException",
    "MissingAuthenticationTokenException",
}


def add_endpoint(parser: CommandParser) -> None:
    """Let a command take the option `--endpoint`, by both its names; see `endpoint_of`."""
    parser.add_argument(
        *ENDPOINT_FLAGS,
        dest="endpoint",
        metavar="URL",
        help=f"Where the server is; AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL are heard too. [{DEFAULT_ENDPOINT}]",
    )


def endpoint_of(option: str | None, environment: Mapping[str, str], argument: str = ENDPOINT_FLAGS[0]) -> str:
    """Where the server is, by the option `--endpoint`, or another `argument`, or else the environment.

    Raises UsageError, which names which.
    """
    given = [(argument, option), *((name, environment.get(name) or None) for name in ENDPOINT_VARIABLES)]
    source, endpoint = next(((name, url) for name, url in given if url is not None), ("", DEFAULT_ENDPOINT))
    require_endpoint(endpoint, source)
    return endpoint.removesuffix("/")


def chosen_region(option: str | None, environment: Mapping[str, str]) -> str:
    """The Region of the tables, by the option `--region` or else the environment."""
    return option or next((environment[name] for name in REGION_VARIABLES if environment.get(name)), DEFAULT_REGION)


def names_of_tables(ask: Callable[..., Any], names_max: float = NAMES_MAX) -> list[str]:
    """Names of the Region's tables, sorted; no more pages once there are `names_max`: by default, as many as messages
    need. `ask`: as `Remote.ask`. Raises RemoteError.
    """
    names: list[str] = []
    page: dict[str, Any] = {}
    while len(names) < names_max:
        reply = ask("ListTables", **page)
        names += reply["TableNames"]
        if not reply.get("LastEvaluatedTableName"):
            break
        page = {"ExclusiveStartTableName": reply["LastEvaluatedTableName"]}
    return names


class RemoteError(HashrangeError):
    """No server answers, what answers is not DynamoDB, or the server refused (RefusedRequest), as the message says."""


class RefusedRequest(RemoteError):
    """The server refused a request; holds the error's code and message."""

    def __init__(self, code: str, message: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.message = message


class Remote:
    """A server at an endpoint, to which requests for one Region are sent; a context manager. Not thread-safe."""

    def __init__(
        self,
        endpoint: str | None,
        region: str,
        environment: Mapping[str, str],
        argument: str = ENDPOINT_FLAGS[0],
    ) -> None:
        """`endpoint`: the option `--endpoint`, or another `argument`; without it, the environment says where the server
        is.

        Raises UsageError for an unusable endpoint, and for keys or a Region that cannot be sent; sends nothing yet.
        """
        self.endpoint = endpoint_of(endpoint, environment, argument)
        self._argument = argument
        self._url = urlsplit(self.endpoint)
        _require_sendable(region, environment)
        self._tls = trust(environment.get("AWS_CA_BUNDLE")) if self._url.scheme == "https" else None
        self.region = region
        self._access_key = environment.get("AWS_ACCESS_KEY_ID") or PLACEHOLDER_KEY
        self._secret = environment.get("AWS_SECRET_ACCESS_KEY") or PLACEHOLDER_KEY
        self._token = environment.get("AWS_SESSION_TOKEN")
        self._has_keys = bool(environment.get("AWS_ACCESS_KEY_ID"))
        self._connection: HTTPConnection | None = None
        self._is_ended = False
        self.replied_at_seconds = 0.0
        """Date header of the last reply, in seconds since the epoch; local time if the reply had none; 0 at first."""

    def ask(self, operation: str, service: str = "dynamodb", /, **members: Any) -> Any:
        """Send a request; returns the reply. Raises RefusedRequest if refused, RemoteError if no DynamoDB answers.

        A request that fails on a kept connection, except because the reply takes too long, is sent once more on a new
        one.
        """
        body = json.dumps(members).encode()
        signer = OutgoingSigner(self._access_key, self._secret, self.region, SIGNING_NAMES.get(service, "dynamodb"))
        headers = request_headers(self._url, f"{TARGETS[service]}.{operation}", signer, self._token, body)
        status, reply = self._exchange("POST", "/", headers, body)
        return self._understood(operation, members, status, reply)

    def operate(self, method: str, path: str, **members: Any) -> Any:
        """Send a request to the admin API; `path` is below its prefix. Returns the reply.

        Raises RemoteError if the server refuses, has no admin API, or does not answer. Repeats as `ask` does.
        """
        status, body = self._exchange(method, ADMIN_PREFIX + path, {}, json.dumps(members).encode())
        reply = _decoded(body)
        if status == 200 and isinstance(reply, dict):
            return self._readable(f"{method} {_NUMBER_IN_PATH.sub('', path)}", reply, "Hashrange")
        raise self._refused_endpoint(method, path, reply)

    def fetch(self, path: str, **members: Any) -> bytes:
        """Send a request to an endpoint of the admin API that replies with bytes. Raises as `operate` does."""
        status, body = self._exchange("POST", ADMIN_PREFIX + path, {}, json.dumps(members).encode())
        if status != 200:
            raise self._refused_endpoint("POST", path, _decoded(body))
        return body

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Any]:
        """A snapshot of the server's content, which the server keeps within the `with` block. Raises RemoteError."""
        taken = self.operate("POST", "snapshots", idle_seconds=SNAPSHOT_IDLE_SECONDS)
        try:
            yield taken
        finally:
            self.operate("DELETE", f"snapshots/{taken['snapshot']}")

    def _refused_endpoint(self, method: str, path: str, reply: Any) -> RemoteError:
        if isinstance(reply, dict) and isinstance(reply.get("error"), str):
            return RemoteError(
                f"the server at {self.endpoint} refused {method} {path}: {escape_controls(reply['error'])}"
            )
        return RemoteError(f"the server at {self.endpoint} has no admin API. Start it with --admin.")

    def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Send a request, and once more as `ask` says; returns the reply's status and body. Raises RemoteError."""
        is_kept = self._connection is not None
        while True:
            try:
                return self._send(method, path, headers, body)
            except (OSError, HTTPException) as error:
                if not is_kept or isinstance(error, TimeoutError | EndlessReply):
                    raise self._unreachable(error) from None
                is_kept = False  # repeat the request: the server may have closed the kept connection, or restarted

    def close(self) -> None:
        """Close the connection; the next request reopens it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def end(self) -> None:
        """Let the request that another thread waits for fail now, and all further ones."""
        self._is_ended = True
        socket_of = None if self._connection is None else self._connection.sock
        if socket_of is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(socket_of, socket.SHUT_RDWR)

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """Send a request once; returns the reply's status and body. Raises OSError, HTTPException."""
        if self._is_ended:
            raise InterruptedError
        try:
            if self._connection is None:
                self._connection = connected(self._url, self._tls, REPLY_SECONDS_MAX)
            self._connection.request(method, path, body, dict(headers))
            # Without `with`, the reply's finalizer may close it, and Python ignores a KeyboardInterrupt in a finalizer.
            with self._connection.getresponse() as reply:
                self.replied_at_seconds = moment_of(reply.getheader("Date")) or SystemClock.wall_time() // 1
                try:
                    content = reply.read(BODY_BYTES_MAX + 1)
                except ValueError as error:  # from http.client, for a chunk of negative length
                    raise HTTPException("malformed reply") from error
                if len(content) > BODY_BYTES_MAX:
                    raise EndlessReply
                return reply.status, content
        except BaseException:
            self.close()
            raise

    def _understood(self, operation: str, members: Mapping[str, Any], status: int, body: bytes) -> Any:
        if status == 413:
            raise RemoteError(
                f"the server at {self.endpoint} refused {operation}: the request is longer than it takes (HTTP 413)."
                " Send less at once."
            )
        reply = _decoded(body)
        if not isinstance(reply, dict) or (status != 200 and "__type" not in reply):
            raise RemoteError(
                f"what answers at {self.endpoint} is no DynamoDB server (HTTP {status}). Name one with --endpoint."
            )
        if status == 200:
            return self._readable(operation, reply, "DynamoDB", members)
        code = str(reply["__type"]).rpartition("#")[2]
        message = str(reply.get("message") or reply.get("Message") or "")
        raise RefusedRequest(code, message, self._refused(operation, code, message))

    def _readable(
        self, operation: str, reply: dict[str, Any], program: str, members: Mapping[str, Any] = MappingProxyType({})
    ) -> dict[str, Any]:
        """The reply. Raises RemoteError if it is not what `program` replies to the operation:
        a command could not read it, or would ask for the same page for ever. `members`: those of the request.
        """
        wrong = misfit(reply, operation) or (SAME_PAGE if leads_to_itself(members, reply) else None)
        if wrong is not None:
            raise RemoteError(
                f"what answers at {self.endpoint} is no {program} server, by its reply to {operation}: {wrong}."
                " Name one with --endpoint."
            )
        return reply

    def _refused(self, operation: str, code: str, message: str) -> str:
        """The sentence for a refusal. It quotes the first line of `message`, which has many for a wrong signature."""
        reason = escape_controls(f"{code}: {message.splitlines()[0] if message else 'it gave no reason'}")
        if code not in _KEY_FAULTS:
            return f"the server at {self.endpoint} refused {operation}: {reason}"
        way_out = (
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and --region must be those of its credentials file."
            if self._has_keys
            else "It has a credentials file: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key of it."
        )
        return f"the server at {self.endpoint} does not let this caller in ({reason}). {way_out}"

    def _unreachable(self, error: Exception) -> RemoteError:
        if isinstance(error, ssl.SSLCertVerificationError):
            return RemoteError(
                f"the certificate at {self.endpoint} is not trusted ({error.verify_message})."
                " Name its authority's file in AWS_CA_BUNDLE."
            )
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return RemoteError(
            f"no server answers at {self.endpoint}: {reason}. Start one with `hashrange serve`, or"
            f" name another one by {self._argument}."
        )


def connected(url: SplitResult, tls: ssl.SSLContext | None, wait_seconds_max: float) -> HTTPConnection:
    """A connection to the host of a URL, which is made with its first request. Its replies have limits."""
    host, port = url.hostname or "", url.port or None
    connection = (
        HTTPConnection(host, port, timeout=wait_seconds_max)
        if tls is None
        else HTTPSConnection(host, port, timeout=wait_seconds_max, context=tls)
    )
    connection.response_class = BoundedResponse
    return connection


def request_headers(
    url: SplitResult, target: str, signer: OutgoingSigner, session_token: str | None, body: bytes
) -> dict[str, str]:
    """The headers of a request to the path of a URL, including its signature."""
    headers = {
        "Host": url.netloc.rpartition("@")[2],
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": target,
    }
    if session_token:
        headers["X-Amz-Security-Token"] = session_token
    return signed_headers(signer, "POST", url.path or "/", headers, body, SystemClock.wall_time())


def require_endpoint(endpoint: str, source: str) -> None:
    """Raise UsageError unless an endpoint is an HTTP(S) URL without user, path and query.
    `source`: the flag or variable that names it.
    """
    try:
        url = urlsplit(endpoint)
        is_sound = url.scheme in {"http", "https"} and bool(url.hostname) and url.path in {"", "/"} and url.port != 0
        is_sound = is_sound and endpoint.isascii() and url.username is None and not url.query
        is_sound = is_sound and endpoint.isprintable() and " " not in endpoint
        (url.hostname or "").encode("idna")  # raises UnicodeError for a name that no look-up takes
    except ValueError:
        is_sound = False
    if not is_sound:
        shown = without_user(endpoint, "…@")
        raise UsageError(f'{source} is "{shown}"; it must be a URL without a path, such as {DEFAULT_ENDPOINT}.')


def _require_sendable(region: str, environment: Mapping[str, str]) -> None:
    """Raise UsageError for the first of the Region and the keys that no header can hold; shows none of them."""
    sent = {name: environment.get(name, "") for name in ("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN")}
    for name, text in {"the Region": region, **sent}.items():
        if not (text.isascii() and text.isprintable()):
            raise UsageError(f"{name} holds characters beyond ASCII, or a line break; set it again.")
    if not environment.get("AWS_SECRET_ACCESS_KEY", "").isprintable():
        raise UsageError("AWS_SECRET_ACCESS_KEY holds a line break, or bytes that are no text; set it again.")


def trust(ca_bundle: str | None) -> ssl.SSLContext:
    """As SDKs trust: the machine's authorities, and those of AWS_CA_BUNDLE. Raises UsageError."""
    context = ssl.create_default_context()
    if ca_bundle:
        try:
            context.load_verify_locations(ca_bundle)
        except OSError as error:
            raise UsageError(
                f"AWS_CA_BUNDLE is {ca_bundle}, which is no readable file of certificates: {error.strerror}."
            ) from None
    return context


def moment_of(date: str | None) -> float | None:
    """A Date header in seconds since the epoch; None if it is missing, or no date."""
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError):
        return None


def _decoded(body: bytes) -> Any:
    """A body's JSON; None if it is none, or holds what is no Unicode, or numbers beyond a double's."""
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
