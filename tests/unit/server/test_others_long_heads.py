"""`--others`: the head of a reply is handed on in linear time, whatever the other emulator writes into it."""

import asyncio
import time
import timeit

from hashrange.server.protocols.unserved.handing_on import OtherEmulator
from hashrange.server.protocols.unserved.services import UnservedService
from hashrange.wire.http import HeaderLayout, HttpRequest


async def hand_on(reply: bytes) -> list[int]:
    """The statuses of the replies to one request, which an emulator answers with these bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    emulator = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = emulator.sockets[0].getsockname()[1]
    answered = asyncio.Event()
    statuses: list[int] = []

    class Client:
        def respond(self, status: int, *_: object) -> None:
            statuses.append(status)
            answered.set()

    request = HttpRequest(b"GET", b"/", HeaderLayout(()), [None], b"", keeps_alive=True)
    others = OtherEmulator(f"http://127.0.0.1:{port}")
    others.hand_on(request, Client().respond, UnservedService("s3", "s3"))
    await answered.wait()
    emulator.close()
    await emulator.wait_closed()
    return statuses


def cpu_seconds(fields: int) -> float:
    """CPU time of a reply with this many headers, and as many names in `Connection`;
    the load of other processes does not count.
    """
    names = b",".join(b"%x" % number for number in range(fields))
    reply = b"HTTP/1.1 200 OK\r\nConnection: " + names + b"\r\n" + b"a:\r\n" * fields + b"Content-Length: 0\r\n\r\n"

    def ask() -> None:
        assert asyncio.run(hand_on(reply)) == [200]

    return min(timeit.repeat(ask, timer=time.process_time, number=1, repeat=5))


def test_the_time_grows_with_the_length_and_not_with_its_square() -> None:
    """Four times as many headers take at most 4 times as long; with quadratic time it would be 16 times."""
    assert cpu_seconds(6_000) < 8 * cpu_seconds(1_500)
