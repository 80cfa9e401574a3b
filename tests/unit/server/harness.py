"""A front end without sockets: requests in as bytes, replies out as bytes, on a clock that the test moves."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import OutcomeUnknown, ResourceNotFoundException, StorageError, ValidationException
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.server.access import Access
from hashrange.server.access_log import log_access
from hashrange.server.clients import Clients, host_of_connection
from hashrange.server.connection import Connection
from hashrange.server.connections import Connections
from hashrange.server.credentials import Credential
from hashrange.server.front import Front
from hashrange.server.incoming import Waiting
from hashrange.server.protocols.http import http_front
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.documents import NOTHING_READ
from hashrange.store.interface import TableChanged, WholeStore
from tests.support.clocks import VIRTUAL_START_SECONDS, VirtualClock
from tests.support.signing import sign
from tests.support.working import Turns as Turns  # noqa: PLC0414 - re-exported for tests of the server


class FakeTransport(asyncio.Transport):
    """A transport that keeps the written bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.peer: tuple[str, int] | None = None
        self.written = b""
        self.is_closed = False
        self.is_aborted = False
        self.reads = True
        self.has_sent_end = False
        self.unread_bytes = 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.peer if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes

    def write(self, data: Any) -> None:
        assert not self.is_closed
        assert not self.has_sent_end
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        assert not self.has_sent_end
        self.has_sent_end = True

    def is_reading(self) -> bool:
        return self.reads

    def pause_reading(self) -> None:
        assert self.reads
        self.reads = False

    def resume_reading(self) -> None:
        assert not self.reads
        self.reads = True

    def take(self) -> bytes:
        """The bytes written since the last call."""
        written, self.written = self.written, b""
        return written


class StubCatalog:
    """A catalog without tables in this Region; one name exists in another Region."""

    is_late = False

    def tables(self, account: str, region: str) -> Mapping[str, Any]:
        return {}

    def elsewhere(self, name: str) -> list[tuple[str, str]]:
        return [("000000000000", "eu-west-1")] if name == "elsewhere" else []

    def on_change(self, changed: TableChanged) -> None:
        """Nothing ever changes."""


class StubStreams:
    """The streams of a store that has none."""

    def feeds(self) -> list[object]:
        return []


class StubDocuments:
    """No documents."""

    generation = 0

    def get(self, name: str) -> bytes | None:
        return None

    def below(self, prefix: str) -> list[tuple[str, bytes]]:
        return []

    def some_below(self, prefix: str, after: str | None, count: int) -> list[tuple[str, bytes]]:
        return []

    async def write(
        self,
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        return True


class StubStore:
    """A store without data, only commit positions: commits become durable when the test calls `sync`."""

    is_kept, is_clustered = True, False

    def __init__(self) -> None:
        self.catalog = StubCatalog()
        self.documents = StubDocuments()
        self.streams = StubStreams()
        self.committed = 0
        self.durable = 0
        self.waiting: list[Callable[[StorageError | None], None]] = []
        self.maintenance = self.local_maintenance = self.row_copies = self

    def position(self) -> int:
        return self.committed

    def durable_position(self) -> int:
        return self.durable

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        assert position > self.durable
        self.waiting.append(callback)

    def sync(self, error: StorageError | None = None) -> None:
        """Make all commits durable, or report `error` to those who wait for them."""
        if error is None:
            self.durable = self.committed
        waiting, self.waiting = self.waiting, []
        for callback in waiting:
            callback(error)

    def on_work(self, wake: Callable[[], None]) -> None:
        """Ignored: this store never has work."""

    def backfills(self) -> list[object]:
        return []

    async def settle(self) -> float:
        """Nothing to settle."""
        return 1.0

    async def apply_delayed(self, limit_rows: int) -> None:
        return None

    async def expire(self, limit_rows: int, see: object) -> None:
        return None

    async def expire_now(self, table: object, see: object) -> int:
        return 0

    def kept(self) -> dict[str, bytes]:
        return {}

    def copies(self) -> dict[str, object]:
        return {}

    async def tend_recovery(self) -> None:
        pass

    async def tend_vectors(self) -> None:
        """It has no vector indexes."""

    async def tend_streams(self) -> None:
        return None

    async def split_partitions(self) -> bool:
        return False

    async def split_partition(self, partition: object) -> bool:
        return False

    async def close(self) -> None:
        """Nothing to close."""


class EchoRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request of the echo operations of this file."""

    TableName: str
    ConsistentRead: bool | None = None


async def echo(scope: Scope, request: EchoRequest) -> Reply:
    """Return the account, Region and table name; special table names suspend, fail, or give a large reply."""
    name = request.TableName
    if name == "bare":
        await asyncio.sleep(0)
    elif name == "future":
        await asyncio.sleep(0.001)
    elif name == "bug":
        raise AssertionError("a bug of ours")
    elif name == "storage":
        raise StorageError("the disk is gone")
    elif name == "unknown":
        raise OutcomeUnknown("It is not known whether a write to the table unknown took place.")
    elif name in ("missing", "elsewhere"):
        raise ResourceNotFoundException("Requested resource not found")
    elif name == "invalid":
        raise ValidationException("no good")
    elif name == "large":
        return {"text": "x" * 70_000}
    return {"account": scope.account, "region": scope.region, "name": name}


async def commit(scope: Scope, request: EchoRequest) -> Reply:
    """Make a commit that is not durable yet, then act as `echo` does, which refuses some table names."""
    scope.store.committed += 1  # type: ignore[attr-defined]
    return await echo(scope, request)


ECHO_OPERATIONS = {
    "GetItem": Operation(
        "GetItem",
        EchoRequest,
        echo,
        JsonWire(is_quick=True),
        tables=by_table_name,
        is_eventual=lambda request: not request.ConsistentRead,
    ),
    "PutItem": Operation("PutItem", EchoRequest, commit, JsonWire(is_quick=True), tables=by_table_name, writes=True),
}


class FrontEnd:
    """Connections and a service over the stub store, or over a real store."""

    def __init__(
        self,
        credentials: Mapping[str, Credential] | None = None,
        operations: Mapping[str, Operation[JsonWire]] = ECHO_OPERATIONS,
        connections_max: int = 100,
        start_seconds: float = VIRTUAL_START_SECONDS,
        real_store: WholeStore | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.clock = VirtualClock(start_seconds)
        self.store = StubStore()
        store: Any = real_store or self.store
        settings = settings or Settings()
        self.service = Service(store, operations, self.clock, settings)
        self.access = Access(self.service, credentials)
        self.waiting: Waiting = deque()
        self.handle = self.front().handle
        access_log = log_access if settings.access_log else None
        self.connections = Connections(self.handle, self.clock, connections_max, access_log, waiting=self.waiting)

    def replace_run(self, name: str, run: Any) -> None:
        """Replace the function that runs the operation."""
        self.service.operations = {
            **self.service.operations,
            name: msgspec.structs.replace(self.service.operations[name], run=run),
        }
        self.connections.incoming._handle = self.front().handle

    def front(self) -> Front:
        """A front over the service, which runs requests."""
        clients = Clients(lambda: len(self.connections.open), host_of_connection, self.waiting)
        return http_front(self.service, self.access, clients)

    def connect(self) -> tuple[Connection, FakeTransport]:
        """Connect a new client."""
        connection = Connection(self.connections)
        transport = FakeTransport()
        connection.connection_made(transport)
        return connection, transport

    def ask(self, data: bytes) -> bytes:
        """The reply that a new client gets at once to these bytes."""
        connection, transport = self.connect()
        connection.data_received(data)
        connection.connection_lost(None)
        return transport.take()

    def request(
        self,
        body: bytes = b'{"TableName":"music"}',
        operation: str = "GetItem",
        headers: dict[str, str] | None = None,
        **signing: Any,
    ) -> bytes:
        """A signed request as bytes; a header with the value None is left out."""
        complete = {
            "Host": "localhost:8000",
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }
        signing.setdefault("seconds", self.clock.wall_time())
        return as_bytes(sign(complete, body, **signing), body)


def as_bytes(headers: Mapping[str, str], body: bytes, line: str = "POST / HTTP/1.1") -> bytes:
    """An HTTP request as bytes."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{line}\r\n{head}\r\n".encode("latin-1") + body


class Parsed(msgspec.Struct):
    """One parsed reply."""

    status: int
    headers: dict[str, str]
    body: bytes


def replies(data: bytes) -> list[Parsed]:
    """All replies in the bytes of one connection; fails when bytes are left over."""
    found = []
    while data:
        head, blank, data = data.partition(b"\r\n\r\n")
        assert blank, data
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (header.partition(": ") for header in lines)}
        version, status = line.split(" ")[:2]
        assert version == "HTTP/1.1"
        length = int(headers.get("content-length", "0"))
        assert len(data) >= length
        found.append(Parsed(int(status), headers, data[:length]))
        data = data[length:]
    return found


def reply(data: bytes) -> Parsed:
    """The only reply in these bytes."""
    (only,) = replies(data)
    return only
