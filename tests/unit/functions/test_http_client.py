"""One exchange: whatever a server answers, there is a complete reply within bounds, or one kind of error."""

import asyncio
import contextlib
import gc
import shutil
import ssl
import threading
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httptools
import pytest

from hashrange.functions import turns
from hashrange.functions.http_client import (
    FRAME_BYTES_FREE,
    HEADERS_MAX,
    PIECE_BYTES,
    ExchangeFailed,
    HttpTarget,
    RemoteReply,
    ReplyTooLarge,
    UrlUnusable,
    exchange,
    read_target,
)
from hashrange.wire.http import HEAD_BYTES_MAX
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.functions.answering import TLS, Answer, Answering, answering, reply
from tests.unit.functions.world import LOOPS

BODY_BYTES_MAX = 1000
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=sorted(LOOPS))
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on each kind of event loop."""

    def to_end(main: Coroutine[Any, Any, Any]) -> Any:
        async def in_time() -> Any:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await main

        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(in_time())

    return to_end


def send(url: str, body: bytes = b"{}", **headers: str) -> Awaitable[RemoteReply]:
    return exchange(read_target(url), "POST", headers, body, BODY_BYTES_MAX)


async def answered(answer: Answer) -> RemoteReply:
    """The reply to a server's answer; the connection is closed either way."""
    async with answering(answer) as server:
        return await send(server.url)


# --- requests -----------------------------------------------------------------------------------


def test_the_request_has_what_http_asks_for_and_the_callers_headers(run: Run) -> None:
    async def main() -> Answering:
        async with answering(reply()) as server:
            target = read_target(f"{server.url}/a%20b?c=d#fragment")
            await exchange(target, "PUT", {"Content-Type": "text/plain", "X-Empty": ""}, b"body", BODY_BYTES_MAX)
            return server

    server = run(main())
    authority = server.url.removeprefix("http://")
    assert server.requests[0].head.decode().split("\r\n") == [
        "PUT /a%20b?c=d HTTP/1.1",
        f"Host: {authority}",
        "Content-Length: 4",
        "Connection: close",
        "Content-Type: text/plain",
        "X-Empty: ",
    ]
    assert server.requests[0].body == b"body"


def test_a_large_body_arrives_whole(run: Run) -> None:
    async def main() -> bytes:
        async with answering(reply()) as server:
            await send(server.url, b"x" * 10_000_000)
            return server.requests[0].body

    assert run(main()) == b"x" * 10_000_000


@pytest.mark.parametrize("headers", [{"X-A": "a\r\nX-B: b"}, {"X-A\n": "a"}])
def test_no_header_may_hold_another_one(headers: dict[str, str]) -> None:
    with pytest.raises(AssertionError):
        asyncio.run(exchange(read_target("http://127.0.0.1:1/"), "POST", headers, b"", BODY_BYTES_MAX))


# --- replies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        reply(b'{"a": 1}', "X-A: b"),
        [bytes([byte]) for byte in reply(b'{"a": 1}', "X-A: b")],
        (
            b'HTTP/1.1 200 OK\r\nx-a: b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n4;ext=1\r\n: 1}\r\n0\r\n'
            b"X-T: t\r\n\r\n"
        ),
        b'HTTP/1.0 200 OK\r\nX-A: b\r\n\r\n{"a": 1}',
        b"HTTP/1.1 103 Early Hints\r\nX-A: c\r\nLink: d\r\n\r\n" + reply(b'{"a": 1}', "X-A: b"),
        [b"HTTP/1.1 100 Continue\r\n\r\n", reply(b'{"a": 1}', "X-A: b")],
        reply(b'{"a": 1}', "X-A: c", "x-A: b"),
        reply(b'{"a": 1}', "X-A: b") + b"\r\n\r\n",
        reply(b'{"a": 1}', "X-A: b") + b"garbage",
        reply(b'{"a": 1}', "X-A: b", "Connection: close") + b"garbage",
        reply(b'{"a": 1}', "X-A: b") + reply(b"another", "X-A: c", status="500 Oops"),
    ],
)
def test_a_complete_reply_is_returned_and_nothing_behind_it(run: Run, answer: Answer) -> None:
    got = run(answered(answer))
    assert (got.status, got.headers[b"x-a"], got.body) == (200, b"b", b'{"a": 1}')
    assert b"link" not in got.headers


@pytest.mark.parametrize("status", [200, 201, 301, 400, 404, 429, 500, 599])
def test_every_status_is_a_reply(run: Run, status: int) -> None:
    got = run(answered(reply(b"no", "Location: http://127.0.0.1:1/", status=f"{status} Words")))
    assert (got.status, got.body) == (status, b"no")


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"]
)
def test_some_replies_have_no_body_whatever_their_headers_say(run: Run, answer: bytes) -> None:
    assert run(answered(answer)).body == b""


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 O",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 99999 Words\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"SSH-2.0\r\n\r\n",
        b"\x16\x03\x01\x00\xff" * 20,
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_complete_reply_is_one_kind_of_error_with_a_reason(run: Run, answer: bytes) -> None:
    with pytest.raises(ExchangeFailed, match=r".") as caught:
        run(answered(answer))
    assert type(caught.value) is ExchangeFailed


def test_another_protocol_is_not_spoken(run: Run) -> None:
    switched = run(answered(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc"))
    assert (switched.status, switched.body) == (101, b"")
    assert run(answered(reply(b"{}", "Upgrade: h2c", "Connection: Upgrade"))).body == b"{}"


def test_nobody_listens(run: Run) -> None:
    with pytest.raises(ExchangeFailed, match=r"(?i)connect"):
        run(exchange(read_target("http://127.0.0.1:1/"), "POST", {}, b"", BODY_BYTES_MAX))


# --- bounds -------------------------------------------------------------------------------------


def chunked(body: bytes) -> bytes:
    """A reply in chunks of one byte."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


def with_head_of(size_bytes: int) -> bytes:
    """A reply whose head has this length."""
    shorter = reply(b"{}", "X: ")
    return reply(b"{}", "X: " + "x" * (size_bytes + len(b"{}") - len(shorter)))


def in_parts(answer: bytes, size_bytes: int) -> Answer:
    return [answer[start : start + size_bytes] for start in range(0, len(answer), size_bytes)]


EMPTY_LINES = ("x:",) * (HEADERS_MAX - 1)
"""Headers that, with a length, are all that a head may have."""
EARLY_HINTS = b"HTTP/1.1 103 E\r\n\r\n"
EARLY_HINTS_MAX = (HEAD_BYTES_MAX - len(reply())) // len(EARLY_HINTS)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * BODY_BYTES_MAX),
        b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * BODY_BYTES_MAX,
        chunked(b"x" * BODY_BYTES_MAX),
        with_head_of(HEAD_BYTES_MAX),
        reply(b"", *EMPTY_LINES),
        EARLY_HINTS * EARLY_HINTS_MAX + reply(),
        CHUNKED + b"0\r\n" + b"x:\r\n" * (HEADERS_MAX - 1) + b"\r\n",
        CHUNKED + b"1;" + b"x" * (HEAD_BYTES_MAX // 2) + b"\r\na\r\n0\r\n\r\n",
        CHUNKED + (b"9;" + b"x" * 100 + b"\r\n123456789\r\n") * 100 + b"0\r\n\r\n",
    ],
)
def test_the_largest_reply(run: Run, answer: Answer) -> None:
    assert run(answered(answer)).status == 200


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (reply(b"x" * (BODY_BYTES_MAX + 1)), 200),
        (reply(b"x" * (BODY_BYTES_MAX + 1), status="503 Oops"), 503),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (BODY_BYTES_MAX + 1), 200),
        (chunked(b"x" * (BODY_BYTES_MAX + 1)), 200),
        (CHUNKED + b"1;" + b"x" * 4 * HEAD_BYTES_MAX, 200),
        (CHUNKED + (b"1;" + b"x" * 100 + b"\r\na\r\n") * BODY_BYTES_MAX, 200),
        (CHUNKED + b"0\r\n" + b"x:\r\n" * HEADERS_MAX + b"\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 4 * HEAD_BYTES_MAX, None),
        (b"HTTP/1.1 200 " + b"O" * 4 * HEAD_BYTES_MAX, None),
        (with_head_of(HEAD_BYTES_MAX + 1), None),
        (reply(b"", "x:", *EMPTY_LINES), 200),
        (EARLY_HINTS * (EARLY_HINTS_MAX + 1) + reply(), None),
        (EARLY_HINTS * HEAD_BYTES_MAX, None),
    ],
)
def test_larger_replies_are_refused_with_their_status(run: Run, answer: Answer, status: int | None) -> None:
    with pytest.raises(ReplyTooLarge) as caught:
        run(answered(answer))
    assert caught.value.status == status


def test_data_makes_up_for_framing_that_came_before_but_not_for_later_framing(run: Run) -> None:
    """Otherwise a long body would allow for endless extensions of its last chunk."""
    data = CHUNKED + b"%x\r\n%b\r\n" % (5 * PIECE_BYTES, b"x" * 5 * PIECE_BYTES)
    framing = b"1;" + b"x" * (2 * HEAD_BYTES_MAX)
    assert len(framing) < FRAME_BYTES_FREE * len(data)

    async def main() -> None:
        async with answering(data + framing + b"\r\na\r\n0\r\n\r\n") as server:
            await exchange(read_target(server.url), "POST", {}, b"", 64 * 1024)

    with pytest.raises(ReplyTooLarge):
        run(main())


@pytest.mark.parametrize(
    "begin",
    [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
)
def test_an_endless_reply_ends_and_is_never_in_memory(run: Run, begin: bytes) -> None:
    """The answer has 250 MB: a client that kept it would be seen."""
    piece = b"400\r\n" + b"X-Y: z\r\n" * 128 + b"\r\n" if b"chunked" in begin else b"X-Y: z\r\n" * 128
    tracemalloc.start()
    try:
        with pytest.raises(ReplyTooLarge):
            run(answered([begin, *[piece] * 250_000]))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


# --- turns --------------------------------------------------------------------------------------


class Steps:
    """Records what is decrypted or parsed from one turn of the loop to the next; one exchange may go on in each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes_by_turn: list[list[int]] = [[]]
        monkeypatch.setattr(httptools, "HttpResponseParser", self._parser_of)
        monkeypatch.setattr(turns, "PIECES_MAX", 1)

    def _parser_of(self, reply: object, make: Callable[[object], Any] = httptools.HttpResponseParser) -> Any:
        parser = make(reply)

        def feed_data(data: bytes) -> None:
            self.sizes_by_turn[-1].append(len(data))
            parser.feed_data(data)

        return SimpleNamespace(feed_data=feed_data, get_status_code=parser.get_status_code)

    @property
    def are_in_turn(self) -> bool:
        """True if never more than one exchange went on in a turn: those of two turns may lie between two counts."""
        return max(map(len, self.sizes_by_turn)) <= 2

    async def of(self, exchanges: Awaitable[Any]) -> Any:
        """The result of exchanges, during which the turns of the loop are counted."""
        counting = asyncio.ensure_future(self._count_turns())
        try:
            return await exchanges
        finally:
            counting.cancel()

    async def _count_turns(self) -> None:
        while True:
            self.sizes_by_turn.append([])
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"1\r\na\r\n" * 7_000 + b"0\r\n\r\n",
        reply(b"x" * 40_000, *EMPTY_LINES),
        CHUNKED + b"9;" + b"x" * 15_000 + b"\r\n123456789\r\n0\r\n\r\n",
    ],
)
def test_replies_that_come_together_are_parsed_in_pieces_in_turn(
    run: Run, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty alarms with five URLs each, all answered in one moment with 60 KB of short headers, took 0.8 s at once."""
    steps = Steps(monkeypatch)

    async def main() -> None:
        async with answering(answer) as server:
            target = read_target(server.url)
            exchanges = [exchange(target, "POST", {}, b"", 64 * 1024) for _ in range(8)]
            for one in await steps.of(asyncio.gather(*exchanges)):
                assert one.status == 200

    run(main())
    assert steps.are_in_turn
    assert sum(map(sum, steps.sizes_by_turn)) == 8 * len(answer)
    assert max(map(max, filter(None, steps.sizes_by_turn))) <= (PIECE_BYTES if CHUNKED in answer else 64 * 1024)


def test_records_of_tls_are_decrypted_in_turn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of one byte takes as long as a long one, and 2,800 come in one read."""
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))
    steps = Steps(monkeypatch)
    answer = reply(b"x" * 500)
    read = ssl.SSLObject.read

    def noted(one: ssl.SSLObject, size_bytes: int = 1024, *buffer: Any) -> Any:
        if not one.server_side:
            steps.sizes_by_turn[-1].append(size_bytes)
        return read(one, size_bytes, *buffer)

    monkeypatch.setattr(ssl.SSLObject, "read", noted)

    async def main() -> None:
        async with answering([bytes([byte]) for byte in answer], is_tls=True) as server:
            for one in await steps.of(asyncio.gather(*(send(server.url) for _ in range(8)))):
                assert one.body == b"x" * 500

    run(main())
    assert steps.are_in_turn


def test_who_gives_up_leaves_its_turn_to_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(monkeypatch)

    async def main() -> None:
        async with answering(chunked(b"x" * BODY_BYTES_MAX)) as server:
            exchanges = [asyncio.ensure_future(send(server.url)) for _ in range(4)]
            await until(lambda: any(steps.sizes_by_turn))
            for one in exchanges[:-1]:
                one.cancel()
            assert (await exchanges[-1]).body == b"x" * BODY_BYTES_MAX
            await asyncio.wait(exchanges)

    run(main())
    assert not turns._short, "what a loop had is kept"


# --- time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [None, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"])
def test_the_caller_limits_the_time_and_the_connection_closes(run: Run, answers: str | None) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):  # if the client closes before it has read the answer
                writer.write((answers or "").encode())
                while await reader.read(100):
                    pass
            is_closed.set()
            writer.transport.abort()

        is_closed = asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await send(f"http://127.0.0.1:{port}")
            await is_closed.wait()

    run(main())


def test_a_server_that_reads_nothing_does_not_hold_up_its_own_answer(run: Run) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(reply(b"full", status="413 Too Large"))
            await writer.drain()
            await is_done.wait()
            writer.transport.abort()

        is_done = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1)
        port = server.sockets[0].getsockname()[1]
        assert (await send(f"http://127.0.0.1:{port}", b"x" * 20_000_000)).status == 413
        is_done.set()
        server.close()
        await server.wait_closed()

    run(main())


def test_nothing_is_left_open(run: Run) -> None:
    async def main() -> None:
        async with answering(reply(), b"", b"garbage\r\n\r\n", reply(b"x" * 2000), reply()) as server:
            for _ in range(5):
                try:
                    await send(server.url)
                except ExchangeFailed:
                    continue
            await until(lambda: not server.open_connections)
        assert asyncio.all_tasks() <= {asyncio.current_task()}

    run(main())


@pytest.mark.parametrize("answer", [reply(b"{}"), reply(b"x" * 2000), b"garbage\r\n\r\n"])
def test_an_exchange_leaves_no_cycle_of_its_own(run: Run, answer: bytes) -> None:
    async def main() -> None:
        async with answering(answer) as server:
            with contextlib.suppress(ExchangeFailed):
                await send(server.url)
            gc.collect()
            gc.disable()
            try:
                with contextlib.suppress(ExchangeFailed):
                    await send(server.url)
                await asyncio.sleep(0)  # what has woken this task leads to the error
                left = [one for one in gc.get_objects() if type(one).__name__ == "_Reply"]
            finally:
                gc.enable()
            assert not left

    run(main())


# --- TLS ----------------------------------------------------------------------------------------


def test_a_trusted_server_is_asked_over_tls(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))

    async def main() -> None:
        async with answering(reply(b"hidden"), is_tls=True) as server:
            assert (await send(server.url)).body == b"hidden"

    run(main())


@pytest.mark.parametrize("is_trusted", [True, False])
def test_handshakes_and_what_is_trusted_take_no_time_of_the_loop(
    run: Run, is_trusted: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A step of a handshake takes some ms, to read the machine's authorities some 30, once for all targets."""
    threads: list[int] = []
    contexts: list[ssl.SSLContext] = []
    create, do_handshake, write = ssl.create_default_context, ssl.SSLObject.do_handshake, ssl.SSLObject.write

    def created() -> ssl.SSLContext:
        threads.append(threading.get_ident())
        contexts.append(create())
        return contexts[-1]

    def of_client(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(one: ssl.SSLObject, *arguments: Any) -> Any:
            if not one.server_side:
                assert one.context.check_hostname
                threads.append(threading.get_ident())
            return method(one, *arguments)

        return noted

    async def main() -> None:
        async with answering(reply(), is_tls=True) as server:
            monkeypatch.setattr(ssl, "create_default_context", created)
            monkeypatch.setattr(ssl.SSLObject, "do_handshake", of_client(do_handshake))
            monkeypatch.setattr(ssl.SSLObject, "write", of_client(write))
            for _ in range(3):
                with contextlib.nullcontext() if is_trusted else pytest.raises(ExchangeFailed):
                    await send(server.url)

    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    shutil.copy(TLS / "localhost.pem", tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / ("ca.pem" if is_trusted else "none.pem")))
    run(main())
    assert len(contexts) == 1
    assert contexts[0].options & ssl.OP_NO_RENEGOTIATION
    assert threads
    assert threading.get_ident() not in threads


def test_an_endpoint_that_holds_back_its_hello_holds_up_no_other(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))

    async def main() -> None:
        async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError):
                while await reader.read(100_000):
                    pass
            writer.transport.abort()

        async with (
            await asyncio.start_server(hold, "127.0.0.1", 0) as holder,
            answering(reply(), is_tls=True) as server,
        ):
            url = f"https://127.0.0.1:{holder.sockets[0].getsockname()[1]}"
            held = [asyncio.ensure_future(send(url)) for _ in range(20)]
            assert (await send(server.url)).status == 200
            assert not any(one.done() for one in held)
            for one in held:
                one.cancel()
            await asyncio.wait(held)

    run(main())


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 20_000, reply(b"x" * 20_000), [b"HTTP/1.0 200 OK\r\n\r\n", b"x" * 20_000]],
)
def test_what_comes_over_tls_is_whole(run: Run, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply without a length ends when the server ends TLS, before it has closed the connection."""
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))

    async def main() -> None:
        async with answering(answer, is_tls=True) as server:
            got = await exchange(read_target(server.url), "POST", {}, b"y" * 3_000_000, 64 * 1024)
            assert (got.status, got.body) == (200, b"x" * 20_000)
            assert server.requests[0].body == b"y" * 3_000_000

    run(main())


@pytest.mark.parametrize("more_bytes", [0, 1])
def test_the_longest_head_is_the_same_whatever_its_parts_are(
    run: Run, more_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part is a record of TLS, and parsed for itself."""
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))

    async def main() -> None:
        async with answering(in_parts(with_head_of(HEAD_BYTES_MAX + more_bytes), 3_000), is_tls=True) as server:
            with pytest.raises(ReplyTooLarge) if more_bytes else contextlib.nullcontext():
                await send(server.url)

    run(main())


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}"])
def test_tls_that_ends_early_is_an_error(run: Run, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))

    async def main() -> None:
        async with answering(answer, is_tls=True) as server:
            with pytest.raises(ExchangeFailed, match="closed early"):
                await send(server.url)

    run(main())


def test_an_untrusted_server_gets_no_request(run: Run) -> None:
    async def main() -> None:
        async with answering(reply(), is_tls=True) as server:
            with pytest.raises(ExchangeFailed, match=r"(?i)certificate"):
                await send(server.url)
            assert not server.requests

    run(main())


@pytest.mark.parametrize(("answer", "reason"), [(reply(), r"\[SSL"), (b"", "ConnectionResetError")])
def test_a_server_that_does_not_speak_tls(run: Run, answer: bytes, reason: str) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ExchangeFailed, match=reason):
            await send(f"https://127.0.0.1:{port}")
        server.close()
        await server.wait_closed()

    run(main())


# --- URLs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://host", HttpTarget("host", 80, "host", "/", is_tls=False)),
        ("http://host:8080/a/b?c=d", HttpTarget("host", 8080, "host:8080", "/a/b?c=d", is_tls=False)),
        ("HTTP://HOST?a", HttpTarget("host", 80, "HOST", "/?a", is_tls=False)),
        ("http://[::1]:8080/a#b", HttpTarget("::1", 8080, "[::1]:8080", "/a", is_tls=False)),
    ],
)
def test_a_url_is_taken_apart(url: str, target: HttpTarget) -> None:
    assert read_target(url) == target


def test_messages_do_not_show_the_query() -> None:
    assert read_target("http://host:8080/a/b?token=c").url == "http://host:8080/a/b"
    assert read_target("https://[::1]").url == "https://[::1]/"


def test_https_has_a_port_of_its_own() -> None:
    target = read_target("https://host/")
    assert (target.port, target.is_tls) == (443, True)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host",
        "localhost:8000",
        "ftp://host/",
        "file:///etc/passwd",
        "http://",
        "http:///a",
        "http://host:x/",
        "http://host:0/",
        "http://host:65536/",
        "http://user@host/",
        "http://:secret@host/",
        "http://host/a b",
        "http://host/\r\nX: 1",
        "http://host\t/",
        "http://é/",
        "http://[::1",
        f"http://{'a' * 64}/",
        "http://a..b/",
    ],
)
def test_other_texts_are_refused(url: str) -> None:
    with pytest.raises(UrlUnusable, match="is no URL of the form"):
        read_target(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:hunter2@localhost:4566", "http://…@localhost:4566"),
        ("https://user:hunter2/@b@localhost/x", "https://…@localhost/x"),
        ("user:hunter2@localhost", "…@localhost"),
        ("http://:hunter2\n@localhost", "http://…@localhost"),
    ],
)
def test_a_password_is_not_told(url: str, shown: str) -> None:
    with pytest.raises(UrlUnusable) as refused:
        read_target(url)
    assert str(refused.value).startswith(f"{shown!r} is no URL of the form")
