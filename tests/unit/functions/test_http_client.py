"""One exchange: whatever a server answers, there is a complete reply within bounds, or one kind of error."""

import asyncio
import contextlib
import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from hashrange.functions.http_client import (
    ExchangeFailed,
    HttpTarget,
    RemoteReply,
    ReplyTooLarge,
    UrlUnusable,
    exchange,
    read_target,
)
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.functions.answering import TLS, Answer, Answering, answering, reply
from tests.unit.functions.world import LOOPS

BODY_BYTES_MAX = 1000
HEAD_BYTES_MAX = 64 * 1024
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


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * BODY_BYTES_MAX),
        b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * BODY_BYTES_MAX,
        chunked(b"x" * BODY_BYTES_MAX),
        reply(b"x" * BODY_BYTES_MAX, "X: " + "x" * (HEAD_BYTES_MAX - 100)),
    ],
)
def test_the_largest_reply(run: Run, answer: bytes) -> None:
    assert run(answered(answer)).body == b"x" * BODY_BYTES_MAX


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (reply(b"x" * (BODY_BYTES_MAX + 1)), 200),
        (reply(b"x" * (BODY_BYTES_MAX + 1), status="503 Oops"), 503),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (BODY_BYTES_MAX + 1), 200),
        (chunked(b"x" * (BODY_BYTES_MAX + 1)), 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 4 * HEAD_BYTES_MAX, 200),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 4 * HEAD_BYTES_MAX, None),
        (b"HTTP/1.1 200 " + b"O" * 4 * HEAD_BYTES_MAX, None),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * HEAD_BYTES_MAX, None),
    ],
)
def test_larger_replies_are_refused_with_their_status(run: Run, answer: bytes, status: int | None) -> None:
    with pytest.raises(ReplyTooLarge) as caught:
        run(answered(answer))
    assert caught.value.status == status


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


def test_an_exchange_leaves_no_cycle_of_its_own(run: Run) -> None:
    async def main() -> None:
        async with answering(reply(b"{}")) as server:
            await send(server.url)
            gc.collect()
            gc.disable()
            try:
                await send(server.url)
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


def test_targets_share_what_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read the machine's authorities takes some 30 ms, in which nobody else is answered."""
    usual = read_target("https://a.example").tls
    assert usual is not None
    assert read_target("https://b.example:444/x").tls is usual
    assert read_target("http://a.example").tls is None
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))
    assert read_target("https://a.example").tls is not usual


def test_an_untrusted_server_gets_no_request(run: Run) -> None:
    async def main() -> None:
        async with answering(reply(), is_tls=True) as server:
            with pytest.raises(ExchangeFailed, match=r"(?i)certificate"):
                await send(server.url)
            assert not server.requests

    run(main())


def test_a_server_that_does_not_speak_tls(run: Run) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(reply())
            await writer.drain()
            writer.transport.abort()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ExchangeFailed, match=r"."):
            await send(f"https://127.0.0.1:{port}")
        server.close()
        await server.wait_closed()

    run(main())


# --- URLs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://host", HttpTarget("host", 80, "host", "/", None)),
        ("http://host:8080/a/b?c=d", HttpTarget("host", 8080, "host:8080", "/a/b?c=d", None)),
        ("HTTP://HOST?a", HttpTarget("host", 80, "HOST", "/?a", None)),
        ("http://[::1]:8080/a#b", HttpTarget("::1", 8080, "[::1]:8080", "/a", None)),
    ],
)
def test_a_url_is_taken_apart(url: str, target: HttpTarget) -> None:
    assert read_target(url) == target


def test_messages_do_not_show_the_query() -> None:
    assert read_target("http://host:8080/a/b?token=c").url == "http://host:8080/a/b"
    assert read_target("https://[::1]").url == "https://[::1]/"


def test_https_has_a_port_and_a_context_that_checks_names() -> None:
    target = read_target("https://host/")
    assert target.port == 443
    assert target.tls is not None
    assert target.tls.check_hostname


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
