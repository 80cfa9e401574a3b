"""Strangers on the machine cannot pass for a function's process, and cannot exhaust the listener."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from hashrange.functions import connection as module
from hashrange.functions.connection import ConnectionBroken, Listener, Message


def message(head: dict[str, str] | bytes, body: bytes = b"") -> bytes:
    """The bytes of a message."""
    encoded = head if isinstance(head, bytes) else json.dumps(head).encode()
    return len(encoded).to_bytes(4, "big") + encoded + len(body).to_bytes(4, "big") + body


HELLO = message({"kind": "hello", "secret": "secret"})
READY = message({"kind": "ready"}, b"body")


async def refused(listener: Listener, sent: bytes) -> None:
    """Send bytes, and wait until the listener closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(sent)
    try:
        assert await reader.read() == b""
    except ConnectionResetError:
        pass
    writer.transport.abort()


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test in time."""
    asyncio.run(asyncio.wait_for(test, 60))


@pytest.mark.parametrize(
    "sent",
    [
        message({"kind": "hello", "secret": "guessed"}),
        message({"kind": "ready", "secret": "secret"}),
        message({"kind": "hello"}),
        message({"kind": "hello", "secret": "secret"}, b"a body"),
        message(b"{"),
        message(b"\xff"),
        message(b"[]"),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 100,
    ],
)
def test_strangers_are_refused(sent: bytes) -> None:
    async def test() -> None:
        listener = Listener()
        await listener.start()
        expected = listener.expect("secret")
        await refused(listener, sent)
        assert not expected.done()
        expected.cancel()
        await listener.close()

    run(test())


@pytest.mark.parametrize(
    ("head", "body", "event"),
    [
        (b'{"kind":"init-error","eventBytes":3}', b"error", b"log"),
        (b'{"kind":"init-error","eventBytes":0}', b"errorlog", b""),
        (b'{"kind":"init-error","eventBytes":6000000}', b"", b"errorlog"),
        (b'{"kind":"init-error","eventBytes":-1}', None, None),
        (b'{"kind":"init-error","eventBytes":99999999999999999999}', None, None),
        (b'{"kind":"init-error","eventBytes":"3"}', None, None),
    ],
)
def test_the_event_of_an_error_is_the_end_of_its_body(head: bytes, body: bytes | None, event: bytes | None) -> None:
    async def test() -> None:
        listener = Listener()
        await listener.start()
        expected = listener.expect("secret")
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(HELLO + message(head, b"errorlog"))
        connection = await expected
        if body is None:
            with pytest.raises(ConnectionBroken):
                await connection.started
        else:
            found = await connection.started
            assert (found.body, found.event) == (body, event)
        writer.transport.abort()
        await listener.close()

    run(test())


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_a_process_is_admitted_once(pieces: int) -> None:
    """Its first message may come together with its hello, or in any pieces."""

    async def test() -> None:
        listener = Listener()
        await listener.start()
        expected = listener.expect("secret")
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        both = HELLO + READY
        size = max(1, len(both) // pieces)
        for start in range(0, len(both), size):
            writer.write(both[start : start + size])
            await asyncio.sleep(0)
        connection = await expected
        assert await connection.started == Message("ready", body=b"body")
        await refused(listener, HELLO)
        connection.send({"requestId": "1"}, b"payload")
        assert await reader.readexactly(len(message(b'{"requestId":"1"}', b"payload"))) == message(
            b'{"requestId":"1"}', b"payload"
        )
        receiving = connection.receive()
        writer.write(READY + b"x")
        assert (await receiving).kind == "ready"
        assert await reader.read() == b"", "more than was awaited breaks the connection"
        assert connection.is_broken
        with pytest.raises(ConnectionBroken):
            await connection.receive()
        writer.transport.abort()
        await listener.close()

    run(test())


def test_too_many_strangers_do_not_keep_a_process_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler can open connections and leave them open."""
    monkeypatch.setattr(module, "STRANGERS_MAX", 2)

    async def test() -> None:
        listener = Listener()
        await listener.start()
        strangers = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(5)]
        for reader, _ in strangers[:3]:
            assert await reader.read() == b"", "the oldest are closed"
        expected = listener.expect("secret")
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(HELLO + READY)
        connection = await expected
        assert (await connection.started).kind == "ready"
        writer.transport.abort()
        await listener.close()
        for reader, writer in strangers:
            assert await reader.read() == b""
            writer.transport.abort()

    run(test())


def test_a_silent_stranger_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELLO_SECONDS_MAX", 0.01)

    async def test() -> None:
        listener = Listener()
        await listener.start()
        await refused(listener, b"\0\0")
        await listener.close()

    run(test())
