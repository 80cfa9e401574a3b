"""A Kinesis on loopback that keeps what it accepts, and misbehaves as a test says."""

import asyncio
import base64
import contextlib
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal, NamedTuple

from tests.support.waiting import PATIENCE_SECONDS, until

Misbehaviour = Literal[
    "partial", "none", "throttled", "error", "error after", "cut", "cut after", "garbage", "garbage after",
    "miscount after", "hang", "hang after", "late", "unfit", "unfit whole",
]  # fmt: skip
"""What goes wrong with a request. `after`: once its records have been accepted. `hang`: no reply until `release`.
`late`: carried out and answered after `release`.
`unfit`: each record, or the whole request, is refused as invalid."""
THROTTLED = "ProvisionedThroughputExceededException"
RECORD_BYTES_MAX = 1024 * 1024
BODY_BYTES_MAX = 20 * 1024 * 1024


class Asked(NamedTuple):
    """A request that arrived."""

    operation: str
    body: dict[str, Any]
    headers: dict[str, str]


class Accepted(NamedTuple):
    """A record that was accepted."""

    partition_key: str
    data: bytes

    @property
    def change(self) -> dict[str, Any]:
        """The decoded document."""
        found: dict[str, Any] = json.loads(self.data)
        return found


class FakeKinesis:
    """The server. Data streams are names, in every account and Region alike."""

    def __init__(self, *names: str) -> None:
        self.records: dict[str, list[Accepted]] = {name: [] for name in names}
        """Data stream → what it accepted, in order."""
        self.statuses: dict[str, str] = {}
        """Data stream → its status, if that is not ACTIVE."""
        self.asked: list[Asked] = []
        self.connections = 0
        """Connections so far, whether or not a request came."""
        self.misbehave: Callable[[Asked], Misbehaviour | None] = lambda _: None
        self.fails: Callable[[str], bool] = lambda _: True
        """True if a record with this partition key fails; for `partial`."""
        self.url = ""
        self.met: Counter[str] = Counter()
        self._released = asyncio.Event()
        self._open = 0
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        """Listen, on a free port by default."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening; no connection stays open."""
        assert self._server is not None
        self._server.close()
        self._released.set()
        await self._server.wait_closed()
        await until(lambda: not self._open)

    @property
    def port(self) -> int:
        """The port, also after a stop."""
        return int(self.url.rpartition(":")[2])

    def release(self) -> None:
        """Let requests that hang end without a reply."""
        self._released.set()
        self._released = asyncio.Event()

    def changes(self, name: str = "changes") -> list[dict[str, Any]]:
        """The documents that a data stream accepted, in order."""
        return [one.change for one in self.records[name]]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            headers = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])
            }
            length = int(headers["content-length"])
            assert length <= BODY_BYTES_MAX
            body = json.loads(await reader.readexactly(length))
            asked = Asked(headers["x-amz-target"].rpartition(".")[2], body, headers)
            self.asked.append(asked)
            reply = await self._answer(asked)
            if reply is not None:
                writer.write(reply)
                await writer.drain()
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()
        finally:
            self._open -= 1

    async def _answer(self, asked: Asked) -> bytes | None:  # noqa: C901 - a branch for each operation and misbehaviour
        wrong = self.misbehave(asked)
        self.met[str(wrong)] += 1
        if wrong == "hang":
            await self._released.wait()
            return None
        if wrong == "late":
            await self._released.wait()
        if wrong == "cut":
            return http(200, {"Records": []})[:-5]
        if wrong == "garbage":
            return http_bytes(200, b"<html>Not Kinesis</html>")
        if wrong == "throttled":
            return refusal(THROTTLED, "Rate exceeded")
        if wrong == "unfit whole":
            return refusal("ValidationException", "1 validation error detected")
        if wrong == "error":
            return http(500, {"__type": "InternalFailure"})
        name = asked.body["StreamName"]
        assert asked.body["StreamARN"].endswith(f":stream/{name}")
        if name not in self.records:
            return refusal("ResourceNotFoundException", f"Stream {name} not found")
        if asked.operation == "DescribeStreamSummary":
            return http(
                200,
                {"StreamDescriptionSummary": {"StreamName": name, "StreamStatus": self.statuses.get(name, "ACTIVE")}},
            )
        results = [self._put(name, record, wrong) for record in asked.body["Records"]]
        if wrong == "hang after":
            await self._released.wait()
            return None
        if wrong == "error after":
            return http(500, {"__type": "InternalFailure"})
        if wrong == "garbage after":
            return http_bytes(200, b'{"Records": [5]}')
        if wrong == "miscount after":
            results.pop()
        reply = http(200, {"FailedRecordCount": sum("ErrorCode" in one for one in results), "Records": results})
        return reply[: len(reply) // 2] if wrong == "cut after" else reply

    def _put(self, name: str, record: dict[str, Any], wrong: Misbehaviour | None) -> dict[str, Any]:
        key, data = record["PartitionKey"], base64.b64decode(record["Data"], validate=True)
        if wrong == "unfit" or len(data) + len(key) > RECORD_BYTES_MAX:
            return {"ErrorCode": "InvalidArgumentException", "ErrorMessage": "too long"}
        if wrong == "none" or (wrong == "partial" and self.fails(key)):
            return {"ErrorCode": THROTTLED, "ErrorMessage": "Rate exceeded"}
        self.records[name].append(Accepted(key, data))
        return {"SequenceNumber": str(len(self.records[name])), "ShardId": "shardId-000000000000"}


@contextlib.asynccontextmanager
async def fake_kinesis(*names: str) -> AsyncIterator[FakeKinesis]:
    """Run one with these data streams on the current loop."""
    kinesis = FakeKinesis(*(names or ("changes",)))
    await kinesis.start()
    try:
        yield kinesis
    finally:
        await kinesis.stop()


@contextlib.contextmanager
def threaded_kinesis(*names: str) -> Iterator[FakeKinesis]:
    """Run one on a thread of its own."""
    started, ended = threading.Event(), threading.Event()
    kinesis: list[FakeKinesis] = []
    stopping: list[Callable[[], object]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with fake_kinesis(*names) as running:
            kinesis.append(running)
            stopping.append(lambda: loop.call_soon_threadsafe(stop.set))
            started.set()
            await stop.wait()
        ended.set()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    try:
        yield kinesis[0]
    finally:
        stopping[0]()
        thread.join(PATIENCE_SECONDS)
        assert ended.is_set()


def refusal(code: str, message: str) -> bytes:
    """A reply with status 400."""
    return http(400, {"__type": code, "message": message})


def http(status: int, body: dict[str, Any]) -> bytes:
    """An HTTP reply with a JSON body."""
    return http_bytes(status, json.dumps(body).encode())


def http_bytes(status: int, body: bytes) -> bytes:
    """An HTTP reply with any body."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
