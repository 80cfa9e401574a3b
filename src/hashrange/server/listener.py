"""How does a server start and stop? It listens and sweeps its connections regularly;
when told to stop, it gives open requests at most 10 s.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hashrange.dax.feature import DAX
from hashrange.errors import HashrangeError
from hashrange.functions.feature import FUNCTIONS
from hashrange.messages.installing import how_to_install
from hashrange.server.access import Access
from hashrange.server.access_log import log_access
from hashrange.server.clients import Clients, host_of_connection
from hashrange.server.connection import FirstRead
from hashrange.server.connections import Connections
from hashrange.server.copies import Forks, KeptSnapshots
from hashrange.server.credentials import Credential, handler_credentials, read_credentials
from hashrange.server.descriptors import require_sockets
from hashrange.server.handshakes import Handshake, Handshakes
from hashrange.server.host_names import is_loopback
from hashrange.server.incoming import Waiting
from hashrange.server.protocols.http import http_front
from hashrange.server.protocols.long_bodies import refuse_long_body
from hashrange.server.reading import LongBodies, usual_body_limit
from hashrange.service import collector
from hashrange.service.drive import in_turns
from hashrange.service.service import Service
from hashrange.service.taken_apart import take_apart
from hashrange.settings import WILDCARDS, Settings, SettingUnusable
from hashrange.soon import kept_until_done

if TYPE_CHECKING:
    from hashrange.dax.records import SharedCluster
    from hashrange.server.dax.nodes import DaxNodes
    from hashrange.server.exposition.otlp import OtlpExport

SWEEP_SECONDS = 1.0
STOP_SECONDS_MAX = 10.0
"""Longest time that open requests may take after the server was asked to stop; then their connections are aborted."""
STOP_FUNCTIONS_SECONDS = 5.0
"""Longest time that running invocations may take once the server is to stop: less than requests may, so that clients of
Invoke still get replies."""
STOP_LOOK_SECONDS = 0.005
BACKLOG_CONNECTIONS = 1024
RECEIVE_BUFFER_BYTES = 256 * 1024
"""Received bytes that the kernel may keep for a connection from which the server does not read; they take up to twice
as much memory. By default the kernel keeps 6 MB, and closing a hundred such connections takes 0.15 s."""
OTLP_NOT_INSTALLED = f"--otlp-endpoint needs libraries that are not installed. Install them: {how_to_install('otlp')}."


class ListenError(HashrangeError):
    """The server cannot listen on its address; the message names the address, the reason and the remedy."""

    def __init__(self, sentence: str, *, is_port_taken: bool = False) -> None:
        """`is_port_taken`: True if another program listens at the port of the endpoint."""
        super().__init__(sentence)
        self.is_port_taken = is_port_taken


# --- secrets --------------------------------------------------------------------------------------


class Secrets(NamedTuple):
    """Credentials and TLS context, read from the settings' files before the store is opened; None for each not set."""

    credentials: Mapping[str, Credential] | None
    tls: ssl.SSLContext | None


def read_secrets(settings: Settings) -> Secrets:
    """Read credentials and TLS files. Raises CredentialsFileError or TlsFilesError if they are unusable."""
    credentials = read_credentials(settings.credentials) if settings.credentials is not None else None
    return Secrets(credentials, tls_context(settings))


class TlsFilesError(SettingUnusable):
    """Certificate and key cannot be used; the message names the files, the reason and the remedy."""


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the configured TLS context; None without a certificate. Raises TlsFilesError for unusable files."""
    if settings.tls_cert is None:
        return None

    def refuse_passphrase() -> str:
        """Raise TlsFilesError for a locked key: OpenSSL would ask for the passphrase on the terminal, and wait."""
        raise TlsFilesError(
            f"the private key {settings.tls_key} is locked with a passphrase, which a server cannot be told."
            f" Unlock it: openssl pkey -in {settings.tls_key} -out unlocked.pem."
        )

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.options |= ssl.OP_NO_RENEGOTIATION  # a second handshake would bypass the queue (`handshakes.py`)
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, refuse_passphrase)
    except OSError as error:  # includes ssl.SSLError
        raise TlsFilesError(
            f"TLS cannot start with {settings.tls_cert} and {settings.tls_key}: {error.strerror or error}."
            " Both must be readable PEM files that belong together."
        ) from error
    return context


# --- accepting ------------------------------------------------------------------------------------


ACCEPTED_TOGETHER = 16
"""Most connections that the acceptor accepts in one turn from each listening socket; each costs less than 0.1 ms."""


class Acceptor:
    """Makes the protocol of each connection that uvloop accepts, and in the next turn accepts
    those that wait behind it, many at a time: uvloop accepts one per turn.

    In the turn after a connection was accepted, the acceptor accepts up to 16 more from each listening socket. With
    turns of 5 ms, 300 clients that connect together are accepted in 22 turns instead of 300. With asyncio's own loops
    the acceptor accepts none: except on Windows, they accept all waiting connections in one turn.
    """

    def __init__(self, make_protocol: Callable[[], asyncio.BaseProtocol], loop: asyncio.AbstractEventLoop) -> None:
        self._make_protocol = make_protocol
        self._loop = loop
        self._listening: list[socket.socket] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_due = False

    def listen(self, sockets: Sequence[socket.socket]) -> None:
        """Accept from these listening sockets, as the loop does too; with asyncio's own loops, do nothing."""
        if not isinstance(self._loop, asyncio.BaseEventLoop):
            self._listening = [socket.fromfd(one.fileno(), one.family, one.type) for one in sockets]

    def stop(self) -> None:
        """Accept no further connections."""
        for one in self._listening:
            one.close()
        self._listening = []

    def make_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol of a connection that was accepted; accept further ones in the next turn (`_accept`)."""
        if not self._is_due and self._listening:
            self._is_due = True
            self._loop.call_soon(self._accept)
        return self._make_protocol()

    def _accept(self) -> None:
        """Accept up to ACCEPTED_TOGETHER connections per socket; ignores OSError,
        which the loop, accepting too, meets.
        """
        self._is_due = False
        for listening in self._listening:
            with contextlib.suppress(OSError):  # no connection waits, or no descriptor is left
                for _ in range(ACCEPTED_TOGETHER):
                    accepted = listening.accept()[0]
                    accepted.setblocking(False)
                    kept_until_done(self._loop.create_task(self._connect(accepted)), self._tasks)

    async def _connect(self, accepted: socket.socket) -> None:
        """Hand an accepted socket to the loop; close it if its client has left already."""
        try:
            await self._loop.connect_accepted_socket(self.make_protocol, accepted)
        except OSError:
            accepted.close()


# --- the server -----------------------------------------------------------------------------------


class Server:
    """A listening server in front of a service."""

    def __init__(self, service: Service, secrets: Secrets) -> None:
        self.service = service
        self.settings = settings = service.settings
        self.access = Access(service, secrets.credentials)
        waiting: Waiting = deque()
        clients = Clients(lambda: len(self.connections.open), host_of_connection, waiting)
        self.snapshots = KeptSnapshots()
        self.forks = Forks(service, lambda: self.connections, partial(Server, secrets=secrets))
        self.front = http_front(
            service,
            self.access,
            clients,
            self.snapshots,
            self.forks,
            lambda: [] if self.dax is None else self.dax.describe(),
        )
        self.connections = Connections(
            self.front.handle,
            service.clock,
            settings.max_connections,
            log_access if settings.access_log else None,
            _long_bodies(service)._replace(take=self.front.take_body),
            waiting,
        )
        self._secrets = secrets
        self.dax: DaxNodes | None = None
        """The nodes of DAX clusters; None: there are none."""
        self.dax_endpoint: str | None = None
        """URL of the DAX cluster `default`; None: there is none."""
        self.handshakes = None if secrets.tls is None else Handshakes(self.connections, secrets.tls)
        self._listener: asyncio.Server | None = None
        self._acceptor: Acceptor | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._end_counting: Callable[[], None] = lambda: None
        """Ends that the collector counts this server's clients."""
        self._otlp = None if settings.otlp_endpoint is None else _otlp_export(service, settings.otlp_endpoint, clients)

    async def start(self) -> str:
        """Listen, start sweep and jobs, and return the endpoint's URL. Raises ListenError if it cannot listen."""
        endpoint = await self.listen()
        try:
            self.service.features.start()
        except BaseException:
            await self.close()  # after a failed start, the open listener would keep the event loop from closing
            raise
        return endpoint

    async def listen(self) -> str:
        """Listen, start the sweep, and return the endpoint's URL. Raises ListenError if it cannot listen."""
        settings = self.settings
        loop = asyncio.get_running_loop()
        self.connections.take_turns(loop)
        self.service.take_turns(loop)
        protocol: Callable[[], asyncio.BaseProtocol] = partial(FirstRead, self.connections)
        if self.handshakes is not None:
            self.handshakes.take_turns(loop)
            protocol = partial(Handshake, self.handshakes)
        self._acceptor = acceptor = Acceptor(protocol, loop)
        try:
            self._listener = await loop.create_server(
                acceptor.make_protocol, settings.host, settings.port, backlog=BACKLOG_CONNECTIONS
            )
            require_sockets(self._listener)
        except (OSError, UnicodeError) as error:  # UnicodeError: a host name that DNS cannot represent
            is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            raise ListenError(listen_failure(settings, error), is_port_taken=is_taken) from error
        try:
            for listening in self._listener.sockets:
                with socket.fromfd(listening.fileno(), socket.AF_INET, socket.SOCK_STREAM) as one:
                    one.setsockopt(
                        socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES
                    )  # accepted ones inherit it
            acceptor.listen(self._listener.sockets)
            is_local = all(is_loopback(str(one.getsockname()[0])) for one in self._listener.sockets)
            if is_local or settings.allowed_hosts is not None:
                self.front.gate.hosts.require_known()
            self._end_counting = collector.count_clients_by(self._count_clients)
            self._turn()
            port = self._listener.sockets[0].getsockname()[1]
            endpoint = self._url("http", port)
            if (functions := self.service.features.loaded(FUNCTIONS)) is not None:
                functions.reach(endpoint, handler_credentials(self._secrets.credentials))
                self.service.features.begin(functions.start())
            if self._otlp is not None:
                self._otlp.start()
            await self._serve_dax()
        except BaseException:
            await self.close()  # after a failed start, the open listener would keep the event loop from closing
            raise
        return endpoint

    def _count_clients(self) -> int:
        """How many clients are connected to the endpoint and the nodes of DAX, or about to be by a TLS handshake."""
        of_https = () if self.handshakes is None else self.handshakes.of_https
        return self.connections.count_held() + len(self.connections.dax) + len(of_https)

    def _url(self, scheme: str, port: int) -> str:
        """URL of a port of this server for clients on this machine; `scheme`: that without TLS."""
        host = WILDCARDS.get(self.settings.host, self.settings.host)
        return f"{scheme}{'' if self._secrets.tls is None else 's'}://{f'[{host}]' if ':' in host else host}:{port}"

    async def _serve_dax(self) -> None:
        """Start the nodes of DAX clusters, if there are any. Raises ListenError, SettingUnusable and StorageError."""
        features, settings = self.service.features, self.settings
        features.give(DAX, self._make_dax_nodes)
        if settings.dax_advertise is not None:
            self._make_dax_nodes()  # so that the server does not start with one that cannot be used
        if settings.dax_port is None and features.found(DAX) is None:
            return
        clusters = features.part(DAX)
        try:
            await clusters.serve(self._shared_cluster())
        except OSError as error:
            raise ListenError(listen_failure(settings, error, settings.dax_port, "--dax-port")) from error
        port = clusters.shared_port
        if port is not None:
            self.dax_endpoint = self._url("dax", port)

    def _shared_cluster(self) -> "SharedCluster | None":
        """What the settings say of the cluster `default`; None: there is none."""
        # Imported here: most servers have no DAX clusters, and start time counts.
        from hashrange.dax.records import SharedCluster  # noqa: PLC0415

        port, (credentials, tls) = self.settings.dax_port, self._secrets
        if port is None:
            return None
        return SharedCluster(port, "NONE" if tls is None else "TLS", may_change=credentials is None)

    def _make_dax_nodes(self) -> "DaxNodes":
        # Imported here: most servers have no DAX clusters, and start time counts.
        from hashrange.server.dax.nodes import DaxNodes  # noqa: PLC0415

        if self.dax is None:
            self.dax = DaxNodes(self.service, self.access.known_keys, self.handshakes, self.connections)
        return self.dax

    async def stop(self) -> None:
        """Close the server, stop the jobs, and continue no request; the store stays open."""
        await self.close()
        await self.service.features.stop()
        self.service.workers.abandon()

    async def close(self) -> None:
        """Accept no connections, answer open requests, and close all connections.

        Requests, also those whose clients have left, are abandoned if they take longer than STOP_SECONDS_MAX. Forks are
        ended and snapshots released.
        """
        if self._listener is not None:
            self._listener.close()
        if self._acceptor is not None:
            self._acceptor.stop()
        if self._sweep is not None:
            self._sweep.cancel()
        self._end_counting()
        if self.handshakes is not None:
            await self.handshakes.stop()
        connections = self.connections
        self.front.end_waiting()
        connections.stop()
        self.service.faulted.end(self.service.workers.run_next)
        began_seconds = connections.monotonic()
        has_functions = self.service.features.loaded(FUNCTIONS) is not None
        workers = self.service.workers
        while (
            connections.count_held() or workers.has_calls
        ) and connections.monotonic() < began_seconds + STOP_SECONDS_MAX:
            is_late = connections.monotonic() >= began_seconds + STOP_FUNCTIONS_SECONDS
            if has_functions and (is_late or not connections.open):
                # Mappings end before their functions do, so that no batch counts as failed.
                await self.service.features.stop()
                has_functions = False
            await asyncio.sleep(STOP_LOOK_SECONDS)
            connections.stop()
        await self._cut_off()
        await self.snapshots.release_all()
        await self.forks.end_all()
        if self.dax is not None:
            self.service.features.give(DAX, None)
            await self.service.features.part(DAX).leave()
            await self.dax.close()
        if self._otlp is not None:
            await self._otlp.stop()

    async def _cut_off(self) -> None:
        """Abort all connections, and wait until what they hold is released."""
        for connection in self.connections.everyone():
            connection.transport.abort()
        await asyncio.sleep(0)  # in this turn the loop reports them as lost
        while self.connections.lost:  # noqa: ASYNC110 - polls a state that has no event
            await asyncio.sleep(0)

    def take_apart(self) -> None:
        """Free the server and its service, which have ended, at once.
        Replies that are late find their connections closed.
        """
        take_apart(self, self.service, but=self.connections)

    def _turn(self) -> None:
        """Sweep the connections, and schedule the next sweep. If the process has no clients, collect garbage if due."""
        has_more = self.connections.sweep()
        collector.look_at_all()
        self._sweep = asyncio.get_running_loop().call_later(0.0 if has_more else SWEEP_SECONDS, self._turn)


def _long_bodies(service: Service) -> LongBodies:
    """How long bodies may be: those of functions' zips longer than others, if there are functions."""
    has_functions = service.features.loaded(FUNCTIONS) is not None
    refuse = partial(refuse_long_body, has_admin=service.settings.admin, has_functions=has_functions)
    if not has_functions:
        return LongBodies(usual_body_limit, refuse)
    # Imported here: most servers have no functions, and start time counts.
    from hashrange.server.protocols.rest_json.lambda_api import body_limit  # noqa: PLC0415

    return LongBodies(body_limit, refuse)


def _otlp_export(service: Service, endpoint: str, clients: Clients) -> "OtlpExport":
    """Raises SettingUnusable if the libraries that it needs are not installed."""
    # Imported here: most servers send no metrics, and start time counts.
    try:
        from hashrange.server.exposition.otlp import OtlpExport  # noqa: PLC0415
    except ImportError as error:
        raise SettingUnusable(OTLP_NOT_INSTALLED) from error
    from hashrange.server.exposition.server_state import look_at_server  # noqa: PLC0415

    in_worker = partial(in_turns, workers=service.workers)
    return OtlpExport(endpoint, partial(look_at_server, service, clients), service.clock, in_worker)


def listen_failure(
    settings: Settings, error: OSError | UnicodeError, port: int | None = None, option: str = "--port"
) -> str:
    """Message of a ListenError: why the server could not listen, and the remedy.
    `port`: that of `option`; None: the setting.
    """
    address = f"{settings.host}:{settings.port if port is None else port}"
    if isinstance(error, UnicodeError):
        return f"the server cannot listen on {address}: that is no name of a host. Mend --host."
    if error.errno == errno.EADDRINUSE:
        return f"{address} is taken by another program. Stop it, or choose another port with {option}."
    if error.errno == errno.EACCES:
        return f"this user may not listen on {address}. Choose a port from 1024 up with {option}."
    return f"the server cannot listen on {address}: {error.strerror or error}. Mend --host or {option}."
