"""A node of DAX without sockets, whose clock moves by the time of 100 steps at each reading, and which counts the calls
of Python functions between two turns.
"""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import cbor2

from hashrange.dax.attribute_lists import AttributeLists
from hashrange.dax.node_caches import NodeCaches
from hashrange.dax.node_host import NodeTerms
from hashrange.items import steps
from hashrange.long_reads import LongReads
from hashrange.operations.registry import OPERATIONS
from hashrange.server.dax.begun_bytes import BegunBytes, BegunRequests
from hashrange.server.dax.connection import DaxConnection
from hashrange.server.dax.node import DaxNode
from hashrange.server.dax.nodes import METHODS
from hashrange.server.dax.tables import TableShapes
from hashrange.server.protocols.values import ValuesCall
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.dax_client import HANDSHAKE, RESULTS, DaxError, authorization, request_bytes
from tests.support.working import SteppingClock, Turns, calls_of
from tests.unit.server.harness import FakeTransport

ACCOUNT, REGION = "000000000000", "eu-west-1"
TABLE = b"films"
MEMORY_BYTES = 100_000_000


class TurnsNode:
    """One node, with a table whose key is the text `name`."""

    def __init__(self) -> None:
        self.turns = Turns()
        loop: Any = self.turns
        clock = SteppingClock()
        self._installed = steps._look, steps._queue
        self.store = open_store(None, clock, None)
        self.service = service = Service(self.store, OPERATIONS, clock, Settings())
        service.take_turns(loop)
        self.long_reads = LongReads()
        self.long_reads.take_turns(loop.call_soon)
        self.lists = AttributeLists(self.store.documents)
        self.caches = NodeCaches(NodeTerms(300_000, 300_000, MEMORY_BYTES), clock.service_time)
        self.node = DaxNode(service, self.lists, TableShapes(), None, self.caches, list, METHODS, None)
        self.calls_max = 0
        self.between: Callable[[], None] = lambda: None
        """Called before each turn."""

    def ask(self, operation: str, members: dict[str, Any]) -> None:
        """Let DynamoDB answer, without a node."""
        ended: Future[Any] = Future()
        ValuesCall.start(self.service, ACCOUNT, REGION, operation, members, ended)
        self.finish()
        ended.result(0)

    def close(self) -> None:
        """End."""
        steps._look, steps._queue = self._installed
        self.store.close_now()

    def counted(self, run: Callable[..., None], *arguments: Any) -> None:
        """Run, and count the calls."""
        self.calls_max = max(self.calls_max, calls_of(run, *arguments))

    def finish(self) -> None:
        """Serve turns until nothing is left to do."""
        while self.turns.due:
            self.between()
            self.counted(self.turns.turn)


class TurnsClient:
    """A connection to it."""

    def __init__(self, node: TurnsNode) -> None:
        self._node = node
        self._connection = DaxConnection(
            node.node,
            BegunRequests(BegunBytes(1 << 30), BegunBytes(1 << 30), node.long_reads),
            lambda _: True,
            lambda _: None,
            lambda run: run(),
        )
        self.transport = FakeTransport()
        self._connection.connection_made(self.transport)
        seconds = node.service.clock.wall_time()
        date = datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")
        self._connection.data_received(HANDSHAKE + authorization(date=date))

    def send(self, data: bytes) -> None:
        """Send a request, in pieces as a socket may deliver it, and let the first turn pass."""
        for at in range(0, len(data), 1 << 18):
            self._node.counted(self._connection.data_received, data[at : at + (1 << 18)])

    def call(self, method: str, *arguments: Any) -> Any:
        """The result of a method. Raises DaxError."""
        self.send(request_bytes(method, *arguments))
        self._node.finish()
        return self.result(method)

    def result(self, method: str) -> Any:
        """The result that has been written. Raises DaxError."""
        content, self.transport.written = self.transport.written, b""
        values = decoded(content)
        if values[0]:
            raise DaxError(values[0], values[1], values[2])
        count = RESULTS.get(method, 1)
        return values[1] if count == 1 else values[1 : count + 1]

    def item(self, content: bytes) -> bytes:
        """The bytes of an item whose only attribute `n` is this."""
        return cbor2.dumps(self.call("defineAttributeListId", ["n"])) + content

    def put(self, name: bytes, content: bytes) -> None:
        """Put such an item."""
        self.call("putItem", TABLE, name, self.item(content), None)


def decoded(content: bytes) -> list[Any]:
    """All values of bytes."""
    stream, values = BytesIO(content), []
    decoder = cbor2.CBORDecoder(stream)
    while stream.tell() < len(content):
        values.append(decoder.decode())
    return values
