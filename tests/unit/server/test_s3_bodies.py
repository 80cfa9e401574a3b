"""Bodies of uploads go to the disk as they come: whole or not at all, in any framing, from any client."""

import hashlib
import random
import threading
import time
import zlib
from base64 import b64encode
from collections.abc import Iterator

import pytest

from hashrange.limits import BODY_BYTES_MAX
from hashrange.s3.received_body import ReceivedBody
from hashrange.server import connections
from hashrange.server.protocols.s3 import body_stream
from hashrange.server.receive_budget import ReceiveBudget
from tests.support.raw_client import Reply, read_reply, request_head
from tests.support.signing import ACCESS_KEY, SECRET_KEY, sign
from tests.support.waiting import wait_until
from tests.unit.server.s3_servers import BUCKET, UNSIGNED_TRAILER, S3Server, s3_server

PIECES = [bytes([number]) * 64 * 1024 for number in range(5)] + [b"end"]
CONTENT = b"".join(PIECES)
CRC32 = b64encode(zlib.crc32(CONTENT).to_bytes(4, "big"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server that checks signatures."""
    folder = tmp_path_factory.mktemp("s3")
    credentials = folder / "credentials.toml"
    credentials.write_text(f'[[credential]]\naccess_key = "{ACCESS_KEY}"\nsecret_key = "{SECRET_KEY}"\n')
    with s3_server(folder / "buckets", credentials=str(credentials)) as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_stays(server: S3Server) -> Iterator[None]:
    """No test leaves a file that is being written."""
    yield
    wait_until(lambda: server.unfinished() == [])


def content_of(server: S3Server, key: str = "key") -> bytes:
    reply = server.ask("GET", f"/{BUCKET}/{key}")
    return reply.body if reply.status == 200 else b""


def code_of(reply: Reply) -> str:
    return reply.body.partition(b"<Code>")[2].partition(b"</Code>")[0].decode()


def unsigned_chunks(*pieces: bytes, trailer: bytes = b"") -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return chunks + b"0\r\n" + (trailer + b"\r\n" if trailer else b"") + b"\r\n"


def test_signed_chunks(server: S3Server) -> None:
    assert server.put_chunks("signed", PIECES).status == 200
    assert content_of(server, "signed") == CONTENT
    trailer = b"x-amz-checksum-crc32:" + CRC32
    assert server.put_chunks("with-trailer", PIECES, trailer=trailer).status == 200
    assert content_of(server, "with-trailer") == CONTENT


@pytest.mark.parametrize("spoilt", [b"end", b"\x03" * 100, b"x-amz-trailer-signature:", CRC32])
def test_spoilt_signed_chunks_leave_what_was_there(server: S3Server, spoilt: bytes) -> None:
    server.ask("PUT", f"/{BUCKET}/spoilt", b"before")
    reply = server.put_chunks("spoilt", PIECES, trailer=b"x-amz-checksum-crc32:" + CRC32, spoilt=spoilt)
    assert (reply.status, code_of(reply)) in ((403, "SignatureDoesNotMatch"), (400, "IncompleteBody"))
    assert content_of(server, "spoilt") == b"before"


@pytest.mark.parametrize("spoilt", [b"end", b"\x03" * 100])
def test_the_signature_of_each_chunk_counts(server: S3Server, spoilt: bytes) -> None:
    """No trailer and no checksum would tell that content was changed."""
    reply = server.put_chunks("spoilt", PIECES, spoilt=spoilt)
    assert (reply.status, code_of(reply)) == (403, "SignatureDoesNotMatch")


@pytest.mark.parametrize(
    ("body", "length", "expected"),
    [
        (unsigned_chunks(*PIECES, trailer=b"x-amz-checksum-crc32:" + CRC32), len(CONTENT), "200"),
        (unsigned_chunks(*PIECES), len(CONTENT), "BadDigest"),
        (unsigned_chunks(*PIECES, trailer=b"x-amz-checksum-crc32:AAAAAA=="), len(CONTENT), "BadDigest"),
        (unsigned_chunks(*PIECES, trailer=b"x-amz-checksum-crc32:" + CRC32), len(CONTENT) + 1, "IncompleteBody"),
        (unsigned_chunks(*PIECES)[:-8], len(CONTENT), "IncompleteBody"),
        (b"zz\r\n", 0, "IncompleteBody"),
        (b"", 0, "IncompleteBody"),
        (b"5\r\nhello!\r\n0\r\n\r\n", 5, "IncompleteBody"),
        (b"5;" + b"x" * 2000, 5, "IncompleteBody"),
        (b"-5\r\nhello\r\n0\r\n\r\n", 5, "IncompleteBody"),
        (unsigned_chunks(*[b"x"] * 1500), 1500, "InvalidChunkSizeError"),
        (unsigned_chunks(trailer=b"\r\n".join(b"x-%d:1" % number for number in range(20))), 0, "IncompleteBody"),
        (unsigned_chunks() + b"more\r\n", 0, "IncompleteBody"),
    ],
)
def test_unsigned_chunks(server: S3Server, body: bytes, length: int, expected: str) -> None:
    server.ask("DELETE", f"/{BUCKET}/key")
    named = {"X-Amz-Decoded-Content-Length": str(length), "X-Amz-Trailer": "x-amz-checksum-crc32"}
    reply = server.ask("PUT", f"/{BUCKET}/key", body, UNSIGNED_TRAILER, **named)
    assert (code_of(reply) or str(reply.status)) == expected
    assert content_of(server) == (CONTENT if expected == "200" else b"")


def test_any_pieces_of_a_read_give_the_same_object(server: S3Server) -> None:
    rng = random.Random(3)
    body = unsigned_chunks(*PIECES, trailer=b"x-amz-checksum-crc32:" + CRC32)
    named = {"X-Amz-Decoded-Content-Length": str(len(CONTENT)), "X-Amz-Trailer": "x-amz-checksum-crc32"}
    named["Content-Length"] = str(len(body))
    head = request_head(
        "PUT", f"/{BUCKET}/pieces", server.signed("PUT", f"/{BUCKET}/pieces", UNSIGNED_TRAILER, **named)
    )
    with server.connect() as connection, connection.makefile("rb") as incoming:
        for _ in range(3):
            sent, place = head + body, 0
            while place < len(sent):
                size = rng.choice([1, 7, 100, 8192, 70_000])
                connection.sendall(sent[place : place + size])
                place += size
            assert read_reply("PUT", incoming).status == 200
    assert content_of(server, "pieces") == CONTENT


def test_a_body_in_chunks_of_http_needs_no_length(server: S3Server) -> None:
    headers = server.signed("PUT", f"/{BUCKET}/http-chunks", Transfer_Encoding="chunked")
    reply = server.raw.send("PUT", f"/{BUCKET}/http-chunks", headers, unsigned_chunks(*PIECES))
    assert reply.status == 200
    assert content_of(server, "http-chunks") == CONTENT


def test_a_hash_in_the_head_is_compared(server: S3Server) -> None:
    right = hashlib.sha256(CONTENT).hexdigest()
    assert server.ask("PUT", f"/{BUCKET}/key", CONTENT, right).status == 200
    reply = server.ask("PUT", f"/{BUCKET}/key", CONTENT[:-1] + b"!", right)
    assert (reply.status, code_of(reply)) == (400, "XAmzContentSHA256Mismatch")
    assert content_of(server) == CONTENT
    assert code_of(server.ask("PUT", f"/{BUCKET}/key", b"", "sha256")) == "InvalidArgument"


def test_a_body_may_be_longer_than_those_of_dynamodb_and_two_requests_share_a_connection(server: S3Server) -> None:
    content = bytes(1024) * (BODY_BYTES_MAX // 1024 + 1)
    assert server.ask("PUT", f"/{BUCKET}/long", content).status == 200
    assert content_of(server, "long") == content
    too_long = server.ask("POST", f"/{BUCKET}/long", content, query="uploads=")
    assert (too_long.status, code_of(too_long)) == (413, "EntityTooLarge")
    announced = server.signed("PUT", f"/{BUCKET}/long", Content_Length=str(6 * 1024**4))
    reply = server.raw.send("PUT", f"/{BUCKET}/long", announced, b"")
    assert (reply.status, code_of(reply)) == (400, "EntityTooLarge")


def test_a_sender_that_is_refused_is_told_before_the_body_comes(server: S3Server) -> None:
    """Nothing of the body is sent: the reply comes nevertheless, and no file is made."""
    good = server.signed("PUT", f"/{BUCKET}/key", Content_Length="1000000")
    skewed = sign(
        {"Host": good["Host"], "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}, b"", seconds=time.time() - 3600,
        service="s3", method="PUT", path=f"/{BUCKET}/key", payload_hash="UNSIGNED-PAYLOAD",
    )  # fmt: skip
    for headers, code in (
        (good | {"Authorization": good["Authorization"][:-4] + "0000"}, "SignatureDoesNotMatch"),
        (good | {"Authorization": good["Authorization"].replace(ACCESS_KEY, "AKIAUNKNOWN")}, "InvalidAccessKeyId"),
        (good | {"Authorization": "AWS AKID:c2lnbmF0dXJl"}, "InvalidRequest"),
        (skewed | {"Content-Length": "1000000"}, "RequestTimeTooSkewed"),
        (good | {"Origin": "https://evil.example"}, "AccessDenied"),
    ):
        with server.connect() as connection, connection.makefile("rb") as incoming:
            connection.sendall(request_head("PUT", f"/{BUCKET}/key", headers))
            reply = read_reply("PUT", incoming)
        assert (reply.status in {400, 403}, code_of(reply)) == (True, code)
        assert server.unfinished() == []


def test_a_client_that_waits_for_continue_gets_it(server: S3Server) -> None:
    headers = server.signed("PUT", f"/{BUCKET}/waits", Content_Length="5", Expect="100-continue")
    with server.connect() as connection, connection.makefile("rb") as incoming:
        connection.sendall(request_head("PUT", f"/{BUCKET}/waits", headers))
        assert incoming.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert incoming.readline() == b"\r\n"
        connection.sendall(b"hello")
        assert read_reply("PUT", incoming).status == 200
    assert content_of(server, "waits") == b"hello"


def test_a_client_that_leaves_in_the_middle_leaves_no_file(server: S3Server) -> None:
    server.ask("PUT", f"/{BUCKET}/left", b"before")
    headers = server.signed("PUT", f"/{BUCKET}/left", Content_Length="1000000")
    with server.connect() as connection:
        connection.sendall(request_head("PUT", f"/{BUCKET}/left", headers) + bytes(500_000))
        wait_until(lambda: server.unfinished() != [])
    wait_until(lambda: server.unfinished() == [])
    assert content_of(server, "left") == b"before"


def test_many_slow_senders_hold_no_memory_and_no_others(server: S3Server) -> None:
    """200 clients have sent 300 KB each of a body of 1 GB, together twice what may wait: a request of DynamoDB with a
    large body finds its memory, and an upload goes through.
    """
    headers = server.signed("PUT", f"/{BUCKET}/slow", Content_Length=str(1024**3))
    head = request_head("PUT", f"/{BUCKET}/slow", headers)
    senders = [server.connect() for _ in range(200)]
    try:
        for one in senders:
            one.sendall(head + bytes(300 * 1024))
        written = server.root / ".hashrange" / "receiving"
        wait_until(lambda: sum(one.stat().st_size for one in written.iterdir()) == 200 * 300 * 1024)
        budget: ReceiveBudget = server.running.server.connections.receive_budget
        assert not budget.is_wanted
        assert server.running.call(lambda: budget._beginnings_bytes) < 1024 * 1024
        assert server.ask("PUT", f"/{BUCKET}/quick", CONTENT).status == 200
    finally:
        for one in senders:
            one.close()


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Threads that write bodies are held until it is set."""
    made = threading.Event()
    take = ReceivedBody.take

    def held(self: ReceivedBody, data: bytes) -> None:
        made.wait(60)
        take(self, data)

    monkeypatch.setattr(ReceivedBody, "take", held)
    yield made
    made.set()


def test_a_client_that_leaves_while_the_disk_lags_is_forgotten(
    server: S3Server, release: threading.Event, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is not read is not seen to leave: it is let go when it has waited for too long."""
    headers = server.signed("PUT", f"/{BUCKET}/leaves", Content_Length=str(1024**3))
    all_waiting = server.running.server.front.protocols[1]._waiting  # type: ignore[attr-defined]
    clients = server.running.server.connections.open
    before = set(clients)
    with server.connect() as connection:
        connection.sendall(request_head("PUT", f"/{BUCKET}/leaves", headers) + bytes(1024 * 1024))
        wait_until(lambda: all_waiting.size_bytes > body_stream.OWN_BYTES_MAX)
        (left,) = clients - before
    monkeypatch.setattr(connections, "DISK_WAIT_SECONDS_MAX", 0.01)
    wait_until(lambda: left not in clients)
    release.set()
    wait_until(lambda: server.unfinished() == [] and not all_waiting.size_bytes)
    assert not [one for one in caplog.records if one.levelname == "ERROR"]
    assert content_of(server, "leaves") == b""


def test_a_client_is_not_read_while_the_disk_lags(server: S3Server, release: threading.Event) -> None:
    """The thread that writes is held: no more than a little of a long body is taken from the socket meanwhile."""
    content = bytes(8 * 1024 * 1024)
    headers = server.signed("PUT", f"/{BUCKET}/lags", Content_Length=str(len(content)))
    with server.connect() as connection, connection.makefile("rb") as incoming:
        sender = threading.Thread(
            target=connection.sendall, args=(request_head("PUT", f"/{BUCKET}/lags", headers) + content,)
        )
        sender.start()
        all_waiting = server.running.server.front.protocols[1]._waiting  # type: ignore[attr-defined]
        wait_until(lambda: all_waiting.size_bytes > body_stream.OWN_BYTES_MAX)
        assert server.ask("GET", "/").status == 200  # others are served
        assert all_waiting.size_bytes < body_stream.OWN_BYTES_MAX + 512 * 1024
        release.set()
        assert read_reply("PUT", incoming).status == 200
        sender.join()
    assert all_waiting.size_bytes == 0
    assert content_of(server, "lags") == content


@pytest.mark.parametrize("sent", [0, 5_000])
def test_a_sender_that_falls_silent_is_cut_off(server: S3Server, sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be let wait for longer otherwise, as others are whose bodies are in memory."""
    assert connections.STREAM_SILENT_SECONDS_MAX < connections.BODY_SECONDS_FREE + 1024**3 / (16 * 1024)
    monkeypatch.setattr(connections, "BODY_SECONDS_FREE", 3600.0)
    monkeypatch.setattr(connections, "STREAM_SILENT_SECONDS_MAX", 0.01)
    headers = server.signed("PUT", f"/{BUCKET}/silent", Content_Length=str(1024**3))
    with server.connect() as connection, connection.makefile("rb") as incoming:
        connection.sendall(request_head("PUT", f"/{BUCKET}/silent", headers) + bytes(sent))
        assert read_reply("PUT", incoming).status == 408
    wait_until(lambda: server.unfinished() == [])
    assert content_of(server, "silent") == b""


def test_a_full_disk_is_told(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashrange.s3.whole_files import NewFile

    def full(self: NewFile, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(NewFile, "write", full)
    reply = server.ask("PUT", f"/{BUCKET}/full", CONTENT)
    assert (reply.status, code_of(reply)) == (500, "InternalError")
    assert b"no room left" in reply.body
    monkeypatch.undo()
    assert content_of(server, "full") == b""


def test_entities_and_nonsense_are_no_xml(server: S3Server) -> None:
    begun = server.ask("POST", f"/{BUCKET}/xml", query="uploads=")
    upload_id = begun.body.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    bomb = b'<!DOCTYPE a [<!ENTITY b "c">]><CompleteMultipartUpload><Part>&b;</Part></CompleteMultipartUpload>'
    for body in (bomb, b"", b"<a", b"<a/>", b"\xff", b"<" * 1000, b"<CompleteMultipartUpload>" * 1000):
        reply = server.ask("POST", f"/{BUCKET}/xml", body, query=f"uploadId={upload_id}")
        assert (reply.status, code_of(reply)) == (400, "MalformedXML")
    assert server.ask("DELETE", f"/{BUCKET}/xml", query=f"uploadId={upload_id}").status == 204


def test_urls_that_are_no_keys(server: S3Server) -> None:
    assert code_of(server.ask("GET", f"/{BUCKET}/%FF%FE")) == "InvalidURI"
    assert code_of(server.ask("PUT", f"/{BUCKET}/%FF", b"x")) == "InvalidURI"
    assert code_of(server.ask("PATCH", f"/{BUCKET}/key")) == "MethodNotAllowed"
    assert code_of(server.ask("DELETE", "/")) == "NotImplemented"
