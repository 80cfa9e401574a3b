"""What many functions answer, or are sent, in the same moment is read, looked at and sent over several turns."""

import asyncio
import socket
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.functions import environment as environment_module
from hashrange.functions import turns
from hashrange.functions.connection import EnvironmentConnection, Listener, Message
from hashrange.functions.environment import ExecutionEnvironment
from hashrange.functions.handler_errors import read_handler_error
from hashrange.functions.http_client import exchange, read_target
from hashrange.functions.invocation_log import FunctionLog, InvocationLog, LoggedErrors
from hashrange.functions.log_lines import LogLines
from hashrange.functions.reply_bytes import ReplyBytes
from hashrange.functions.turns import LONG_PIECE_BYTES, by_size, in_turn
from hashrange.long_reads import LONG_READ_BYTES, TURN_BYTES, long_reads_of
from tests.support.waiting import until
from tests.unit.functions.answering import answering, reply
from tests.unit.functions.counting_turns import CountedTurns
from tests.unit.functions.test_connection import message
from tests.unit.functions.world import LOOPS, World

SENDERS = 24
BODY = bytes(500_000)
MOST_IN_A_TURN_BYTES = TURN_BYTES + 256 * 1024 + SENDERS * LONG_READ_BYTES
"""The limit, the read with which it is reached, and a piece of each."""


@pytest.fixture(params=sorted(LOOPS))
def loop_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run_in(loop_kind: str, main: Coroutine[Any, Any, None]) -> None:
    """Run a test in this kind of loop, in time."""
    with asyncio.Runner(loop_factory=LOOPS[loop_kind]) as runner:
        runner.run(asyncio.wait_for(main, 60))


def test_messages_that_come_together_are_read_in_several_turns(loop_kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve results of 6 MB were read and copied in one turn, which took 0.14 s."""
    counted = CountedTurns()
    take = EnvironmentConnection.buffer_updated

    def noted(connection: EnvironmentConnection, nbytes: int) -> None:
        counted.note(nbytes)
        take(connection, nbytes)

    monkeypatch.setattr(EnvironmentConnection, "buffer_updated", noted)
    sent = message({"kind": "ready"}, BODY)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        listener = Listener()
        await listener.start()
        processes = [socket.create_connection(("127.0.0.1", listener.port)) for _ in range(SENDERS)]
        try:
            connections = []
            for number, process in enumerate(processes):
                expected = listener.expect(str(number))
                process.setblocking(False)
                await loop.sock_sendall(process, message({"kind": "hello", "secret": str(number)}))
                connections.append(await expected)
            counted.by_turn.clear()
            async with counted.counted():
                sending = asyncio.gather(*(loop.sock_sendall(process, sent) for process in processes))
                for connection in connections:
                    assert (await connection.started).body == BODY
                await sending
        finally:
            for process in processes:
                process.close()
            await listener.close()

    run_in(loop_kind, main())
    assert sum(counted.sizes) == SENDERS * len(sent)
    assert counted.sizes[0] <= LONG_READ_BYTES
    assert counted.most <= MOST_IN_A_TURN_BYTES


def test_replies_of_urls_that_come_together_are_read_in_several_turns(
    loop_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = CountedTurns()
    take = ReplyBytes.buffer_updated

    def noted(arriving: ReplyBytes, nbytes: int) -> None:
        counted.note(nbytes)
        take(arriving, nbytes)

    monkeypatch.setattr(ReplyBytes, "buffer_updated", noted)

    async def main() -> None:
        long_reads = long_reads_of(asyncio.get_running_loop())
        monkeypatch.setattr(long_reads, "_turn_bytes_max", 4 * 64 * 1024)
        async with answering(reply(BODY)) as server, counted.counted():
            target = read_target(server.url)
            for one in await asyncio.gather(*(exchange(target, "GET", {}, b"", len(BODY)) for _ in range(SENDERS))):
                assert one.body == BODY

    run_in(loop_kind, main())
    assert sum(counted.sizes) == SENDERS * len(reply(BODY))
    assert max(counted.sizes) <= 64 * 1024
    assert counted.most <= 5 * 64 * 1024 + SENDERS * LONG_READ_BYTES


# --- environments ---------------------------------------------------------------------------------


class StubConnection:
    """The end of a connection whose process answers all invocations when the test says so."""

    is_broken = is_held = False

    def __init__(self, counted: CountedTurns) -> None:
        self._counted = counted
        self.sent: list[tuple[dict[str, Any], bytes]] = []

    def receive(self) -> asyncio.Future[Message]:
        self.received = asyncio.get_running_loop().create_future()
        return self.received

    def send(self, head: dict[str, Any], body: bytes) -> None:
        self._counted.note(1 if len(body) > LONG_PIECE_BYTES else 0)
        self.sent.append((head, body))


def invoked(world: World, connection: StubConnection, number: int, payload: bytes) -> Coroutine[Any, Any, Any]:
    """An invocation by a started environment with this connection."""
    environment: Any = ExecutionEnvironment(world.runnable(), Listener(), "stream", 0)
    environment._connection = connection
    environment._process = SimpleNamespace(exited=asyncio.get_running_loop().create_future(), read_on=lambda: None)
    lines = FunctionLog(lambda *_: None, LogLines(SystemClock()), LoggedErrors())
    result: Coroutine[Any, Any, Any] = environment.invoke(payload, InvocationLog(f"request-{number}", lines))
    return result


@pytest.mark.parametrize("size_bytes", [10, 2 * LONG_PIECE_BYTES])
def test_long_errors_are_looked_at_one_in_a_turn_and_long_events_sent_likewise(
    size_bytes: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine errors of 6 MB that came together held up everybody for 0.18 s."""
    looked, sent = CountedTurns(), CountedTurns()

    def noted(payload: bytes) -> Any:
        looked.note()
        return read_handler_error(payload)

    monkeypatch.setattr(environment_module, "read_handler_error", noted)
    error = msgspec.json.encode({"errorType": "E" * size_bytes})
    payload = msgspec.json.encode("x" * size_bytes)

    async def main() -> None:
        connections = [StubConnection(sent) for _ in range(5)]
        async with looked.counted(), sent.counted():
            invocations = asyncio.gather(
                *(invoked(World(tmp_path), one, number, payload) for number, one in enumerate(connections))
            )
            await until(lambda: all(one.sent for one in connections))
            for number, one in enumerate(connections):
                one.received.set_result(Message("error", f"request-{number}", body=error))
            for outcome in await invocations:
                assert (outcome.payload, outcome.error_type) == (error, ("E" * size_bytes)[:256])
        assert [body for one in connections for _, body in one.sent] == [payload] * 5

    asyncio.run(main())
    is_long = size_bytes > LONG_PIECE_BYTES
    assert (sum(looked.sizes), looked.most) == (5, 1 if is_long else 5)
    assert (sum(sent.sizes), sent.most) == ((5, 1) if is_long else (0, 0))


# --- pieces ---------------------------------------------------------------------------------------


def test_few_short_pieces_are_done_in_a_turn_and_one_long_one() -> None:
    short, long = CountedTurns(), CountedTurns()

    async def main() -> None:
        async with short.counted(), long.counted():
            works = [in_turn(short.note, 1) for _ in range(20)]
            works += [by_size(LONG_PIECE_BYTES + 1, long.note, 1) for _ in range(5)]
            await asyncio.gather(*works)
            assert await by_size(LONG_PIECE_BYTES, lambda one: one + 1, 1) == 2

    asyncio.run(main())
    assert (sum(short.sizes), sum(long.sizes)) == (20, 5)
    assert (short.most, long.most) == (turns.PIECES_MAX, 1)
    assert not turns._short
    assert not turns._long
