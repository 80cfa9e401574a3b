"""`--others`: requests of services that are not served here go to another emulator as they came,
and its replies come back.
"""

import hashlib
import http.client
import socket
import struct
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.server.protocols.unserved import handing_on
from hashrange.server.receive_budget import ReceiveBudget
from hashrange.settings import Settings, SettingUnusable
from hashrange.testing import server
from tests.support.name_server import name_server
from tests.support.waiting import wait_until
from tests.unit.init.folders import USERS

OBJECT = bytes(range(256)) * 40


class LongQueueServer(ThreadingHTTPServer):
    """A server that lets as many clients come at once as a test has; otherwise five may."""

    request_queue_size = 128


class Emulator:
    """A server on the loopback that keeps what it gets, and has one object of S3, one secret and one queue."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str, dict[str, str], bytes]] = []
        self.may_answer = Event()
        self.may_answer.set()
        self.has_come = Event()
        """Set with the first request."""
        self.answer_with: bytes | None = None
        """Raw bytes in place of a reply, after which the connection ends."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.received.append((self.command, self.path, dict(self.headers.items()), body))
                owner.has_come.set()
                owner.may_answer.wait()
                if owner.answer_with is not None:
                    self.wfile.write(owner.answer_with)
                    self.close_connection = True
                    return
                owner.reply(self)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_OPTIONS = handle_any

            def log_message(self, *_: object) -> None:
                pass

        self._server = LongQueueServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def reply(self, handler: BaseHTTPRequestHandler) -> None:
        target = handler.headers.get("X-Amz-Target", "")
        if target.startswith("secretsmanager"):
            self._send(handler, 200, b'{"SecretString": "hunter2"}', "application/x-amz-json-1.1")
        elif handler.command == "DELETE":
            self._send(handler, 204, b"", "text/xml")
        elif handler.command == "PUT":
            self._send(handler, 200, b"", "text/xml", ETag='"etag"')
        elif handler.path.startswith("/photos/a"):
            self._send(handler, 200, OBJECT, "image/png", **{"x-amz-meta-name": "caf\u00e9", "ETag": '"e"'})
        else:
            self._send(handler, 404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>", "text/xml")

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str, **headers: str) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        if status != 204:
            handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    emulator = Emulator()
    yield emulator
    emulator.close()


@pytest.fixture
def endpoint(emulator: Emulator) -> Iterator[str]:
    with server(Settings(data_dir=None, port=0, others=emulator.url)) as database:
        yield database.endpoint


def client_of(service: str, endpoint: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )


def asked(
    endpoint: str, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_a_request_goes_on_as_it_came(endpoint: str, emulator: Emulator) -> None:
    s3 = client_of("s3", endpoint)
    s3.put_object(Bucket="photos", Key="a b", Body=OBJECT, Metadata={"name": "x"})
    method, path, headers, body = emulator.received[0]
    assert (method, path) == ("PUT", "/photos/a%20b")
    assert headers["host"] == endpoint.removeprefix("http://")  # the signature covers it
    assert headers["x-amz-meta-name"] == "x"
    assert "AWS4-HMAC-SHA256" in headers["authorization"]
    assert hashlib.sha256(body).digest() == hashlib.sha256(OBJECT).digest() or OBJECT in body


def test_a_whole_url_goes_on_as_its_path(endpoint: str, emulator: Emulator) -> None:
    for url in ("http://photos.localhost/a?x=1", "http://photos.localhost?x=1"):
        asked(endpoint, "GET", url, {"Authorization": "AWS any:signature"})
    assert [path for _, path, _, _ in emulator.received] == ["/a?x=1", "/?x=1"]


def test_no_page_of_the_other_emulator_is_a_page_of_this_server(endpoint: str, emulator: Emulator) -> None:
    """A link of any site may open an object of S3 in a tab.
    Were its scripts of this origin, they might use everything.
    """
    page = b"<script>fetch('/_hashrange/v1/reset', {method: 'POST'})</script>"
    for more in (b"", b"Content-Security-Policy: default-src *\r\n"):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%bContent-Length: %d\r\n\r\n" % (more, len(page))
        emulator.answer_with = head + page
        connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
        opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        connection.request("GET", "/photos/evil.html", headers=opened)
        reply = connection.getresponse()
        policies = [value for name, value in reply.getheaders() if name.lower() == "content-security-policy"]
        assert (reply.status, reply.read(), policies[-1]) == (200, page, "sandbox")
        connection.close()


def test_a_reply_comes_back_as_it_was(endpoint: str, emulator: Emulator) -> None:
    s3 = client_of("s3", endpoint)
    got = s3.get_object(Bucket="photos", Key="a")
    assert got["Body"].read() == OBJECT
    assert (got["ContentType"], got["ETag"]) == ("image/png", '"e"')
    head = s3.head_object(Bucket="photos", Key="a")
    assert (head["ContentLength"], head["ETag"]) == (len(OBJECT), '"e"')
    assert s3.delete_object(Bucket="photos", Key="a")["ResponseMetadata"]["HTTPStatusCode"] == 204
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket="photos", Key="missing")
    assert refused.value.response["Error"]["Code"] == "NoSuchKey"
    secret = client_of("secretsmanager", endpoint).get_secret_value(SecretId="pass")
    assert secret["SecretString"] == "hunter2"


def test_replies_are_not_compressed_here(endpoint: str) -> None:
    """A client that accepts gzip gets the object's own bytes, with its own length."""
    status, body = asked(endpoint, "GET", "/photos/a", {"Accept-Encoding": "gzip"})
    assert (status, body) == (200, OBJECT)


def test_what_is_served_here_stays_here(endpoint: str, emulator: Emulator) -> None:
    assert client_of("dynamodb", endpoint).list_tables()["TableNames"] == []
    assert client_of("dynamodbstreams", endpoint).list_streams()["Streams"] == []
    assert client_of("cloudwatch", endpoint).list_metrics(Namespace="none")["Metrics"] == []
    assert client_of("application-autoscaling", endpoint).describe_scalable_targets(ServiceNamespace="dynamodb")
    assert client_of("dax", endpoint).describe_clusters()["Clusters"] == []
    assert asked(endpoint, "GET", "/")[0] == 200
    assert asked(endpoint, "GET", "/metrics")[0] == 200
    assert emulator.received == []


def test_lambda_goes_on_while_no_functions_are_switched_on(emulator: Emulator) -> None:
    emulator.answer_with = (
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"Functions": []}'
    )
    for functions, count in ((False, 1), (True, 0)):
        emulator.received.clear()
        with server(Settings(data_dir=None, port=0, others=emulator.url, functions=functions)) as database:
            client_of("lambda", database.endpoint).list_functions()
        assert len(emulator.received) == count


def test_requests_without_a_signature_that_have_a_path(endpoint: str, emulator: Emulator) -> None:
    assert asked(endpoint, "GET", "/photos/a") == (200, OBJECT)
    assert [method for method, *_ in emulator.received] == ["GET"]


def test_pages_of_allowed_origins_get_the_emulators_own_answers(emulator: Emulator) -> None:
    settings = Settings(data_dir=None, port=0, others=emulator.url, allowed_origins="http://a.example")
    with server(settings) as database:
        assert asked(database.endpoint, "OPTIONS", "/photos/missing", {"Origin": "http://a.example"})[0] == 404
        assert asked(database.endpoint, "OPTIONS", "/photos/missing", {"Origin": "http://b.example"})[0] == 403
        assert asked(database.endpoint, "GET", "/photos/a", {"Origin": "http://b.example"})[0] == 403
        assert asked(database.endpoint, "GET", "/photos/a", {"Origin": "http://a.example"}) == (200, OBJECT)
    assert [method for method, *_ in emulator.received] == ["OPTIONS", "GET"]


@pytest.mark.parametrize(
    "sent",
    [
        {
            "X-Amz-Target": "AmazonSQS.DeleteQueue",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": "AWS4-HMAC-SHA256 Credential=x/20261129/us-east-1/sqs/aws4_request,"
            " SignedHeaders=host, Signature=00",
        },
        {"X-Amz-Target": "AmazonSQS.DeleteQueue", "Content-Type": "application/x-amz-json-1.0"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
    ids=["signed", "target", "form"],
)
def test_a_page_of_another_site_sends_nothing_on(endpoint: str, emulator: Emulator, sent: dict[str, str]) -> None:
    """A page may use any method; what a browser asks by OPTIONS before a request names no service."""
    for method in ("OPTIONS", "POST", "PUT", "GET"):
        for page in ({"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}):
            body = "Action=DeleteQueue&QueueUrl=x"
            assert asked(endpoint, method, "/", sent | page, body)[0] in {403, 404}, (method, page)
    assert emulator.received == []
    granted = {"Origin": "http://a.test", "Access-Control-Request-Method": "POST"}
    assert asked(endpoint, "OPTIONS", "/", granted)[0] == 200
    assert emulator.received == []


def test_a_loop_is_refused() -> None:
    """An emulator that hands requests on to this server, as a server that is its own emulator does."""
    with server(Settings(data_dir=None, port=0)) as first:
        url = first.endpoint
        headers = {"X-Hashrange-Handed-On": "1"}
        with server(Settings(data_dir=None, port=0, others=url)) as database:
            status, body = asked(database.endpoint, "GET", "/photos/a", headers)
    assert status == 508
    assert b"come back here" in body


def test_an_emulator_that_is_not_there(emulator: Emulator, endpoint: str) -> None:
    emulator.close()
    with pytest.raises(ClientError) as refused:
        client_of("sqs", endpoint).list_queues()
    error = refused.value.response["Error"]
    assert error["Code"] == "BadGateway"
    assert f"requests of sqs on to {emulator.url}/ (--others), from which no reply came" in error["Message"]
    emulator._thread = Thread(target=int)
    emulator._thread.start()


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000,
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_broken_replies(emulator: Emulator, endpoint: str, bytes_sent: bytes) -> None:
    emulator.answer_with = bytes_sent
    with pytest.raises(ClientError, match="no reply came"):
        client_of("sns", endpoint).list_topics()
    assert client_of("dynamodb", endpoint).list_tables()["TableNames"] == []


@pytest.mark.parametrize(
    ("bytes_sent", "status", "lines", "body"),
    [
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, {"content-length": None}, b""),
        (b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", 304, {"etag": "x"}, b""),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            200,
            {"content-length": "1"},
            b"a",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            200,
            {"content-length": "2"},
            b"ab",
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nabc", 200, {"content-length": "3", "connection": "keep-alive"}, b"abc"),
        (
            b"HTTP/1.1 200 OK\r\nConnection: close, X-Own\r\nX-Own: 1\r\nX-Kept: 1\r\nContent-Length: 0\r\n\r\n",
            200,
            {"x-own": None, "x-kept": "1"},
            b"",
        ),
        (b"HTTP/1.1 299 Odd\r\nContent-Length: 0\r\nKeep-Alive: x\r\n\r\n", 299, {"keep-alive": None}, b""),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
            200,
            {"content-encoding": "gzip"},
            b"\x1f\x8b",
        ),
    ],
)
def test_odd_replies(
    emulator: Emulator, endpoint: str, bytes_sent: bytes, status: int, lines: dict[str, str | None], body: bytes
) -> None:
    emulator.answer_with = bytes_sent
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    try:
        for _ in range(2):  # the connection goes on
            connection.request("GET", "/photos/a")
            reply = connection.getresponse()
            assert (reply.status, reply.read()) == (status, body)
            assert {name: reply.headers[name] for name in lines} == lines
    finally:
        connection.close()


def test_what_belongs_to_a_connection_stays_there(endpoint: str, emulator: Emulator) -> None:
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    headers = {"Connection": "X-Own, keep-alive, host", "X-Own": "1", "X-Kept": "1", "Host": "photos.localhost"}
    connection.request("GET", "http://photos.localhost/photos/a?x=http://y/", headers=headers)
    assert connection.getresponse().read() == OBJECT
    connection.close()
    _, path, received, _ = emulator.received[0]
    assert path == "/photos/a?x=http://y/"
    assert (received.get("x-own"), received["x-kept"], received["host"]) == (None, "1", "photos.localhost")


def test_cookies_are_not_put_together(emulator: Emulator, endpoint: str) -> None:
    emulator.answer_with = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    connection.request("GET", "/photos/a")
    assert connection.getresponse().headers.get_all("Set-Cookie") == ["a=1", "b=2"]
    connection.close()


def test_replies_that_are_too_large(emulator: Emulator, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("REPLY_BYTES_MAX", "HELD_BYTES_MAX"):
        with monkeypatch.context() as patch:
            patch.setattr(handing_on, bound, len(OBJECT) - 1)
            status, body = asked(endpoint, "GET", "/photos/a")
            assert status == 502
            assert b"too large" in body
    assert asked(endpoint, "GET", "/photos/a") == (200, OBJECT)


def test_an_emulator_that_is_slow_holds_nobody_up(emulator: Emulator, endpoint: str) -> None:
    emulator.may_answer.clear()
    connections = [http.client.HTTPConnection(endpoint.removeprefix("http://")) for _ in range(30)]
    for connection in connections:
        connection.request("GET", "/photos/a")
    assert client_of("dynamodb", endpoint).list_tables()["TableNames"] == []
    connections.pop().close()  # this client leaves
    emulator.may_answer.set()
    assert [connection.getresponse().read() for connection in connections] == [OBJECT] * 29
    for connection in connections:
        connection.close()


def test_long_bodies_that_are_with_the_emulator_leave_room_for_others(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReceiveBudget.__init__, "__defaults__", (1_000_000,))
    monkeypatch.setattr(handing_on, "BODIES_BYTES_MAX", 1_500_000)
    emulator.may_answer.clear()
    with server(Settings(data_dir=None, port=0, others=emulator.url)) as database:
        connections = [http.client.HTTPConnection(database.endpoint.removeprefix("http://")) for _ in range(3)]
        for connection in connections[:2]:
            emulator.has_come.clear()
            connection.request("PUT", "/photos/a", b"x" * 700_000)
            assert emulator.has_come.wait(30)
        client = client_of("dynamodb", database.endpoint)
        client.create_table(**USERS)
        client.put_item(TableName="Users", Item={"id": {"S": "a"}, "text": {"S": "x" * 390_000}})
        connections[2].request("PUT", "/photos/a", b"x" * 700_000, {"Authorization": "AWS any:signature"})
        refused = connections[2].getresponse()
        assert (refused.status, b"<Code>ServiceUnavailable</Code>" in refused.read()) == (503, True)
        emulator.may_answer.set()
        assert [connection.getresponse().read() for connection in connections[:2]] == [b"", b""]
        connections[2].request("PUT", "/photos/a", b"x" * 700_000)
        assert connections[2].getresponse().status == 200
        for connection in connections:
            connection.close()


def test_only_so_many_requests_are_with_the_emulator(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handing_on, "TOGETHER_MAX", 2)
    with server(Settings(data_dir=None, port=0, others=emulator.url)) as database:
        connections = [http.client.HTTPConnection(database.endpoint.removeprefix("http://")) for _ in range(6)]
        for connection in connections:
            connection.request("GET", "/photos/a")
        assert [connection.getresponse().read() for connection in connections] == [OBJECT] * 6
        for connection in connections:
            connection.close()


def test_a_client_that_leaves_makes_room_for_the_next(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is with the emulator, which does not answer, and two wait. The clients of the first two leave."""
    monkeypatch.setattr(handing_on, "TOGETHER_MAX", 1)
    emulator.may_answer.clear()
    with server(Settings(data_dir=None, port=0, others=emulator.url)) as database:
        connections = [http.client.HTTPConnection(database.endpoint.removeprefix("http://")) for _ in range(3)]
        for number, connection in enumerate(connections):
            connection.request("GET", f"/photos/{number}")
            assert client_of("dynamodb", database.endpoint).list_tables()["TableNames"] == []  # so it has arrived
        assert emulator.has_come.wait(30)
        emulator.has_come.clear()
        for connection in connections[1::-1]:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()  # with a reset, which tells the server at once that nobody reads
        assert emulator.has_come.wait(30)
        assert [path for _, path, _, _ in emulator.received] == ["/photos/0", "/photos/2"]
        emulator.may_answer.set()
        assert connections[2].getresponse().status == 404
        connections[2].close()


def test_a_server_that_ends_waits_for_no_emulator(emulator: Emulator) -> None:
    emulator.may_answer.clear()
    with server(Settings(data_dir=None, port=0, others=emulator.url)) as database:
        connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"))
        connection.request("GET", "/photos/a")
        assert client_of("dynamodb", database.endpoint).list_tables()["TableNames"] == []
    reply = connection.getresponse()
    assert (reply.status, b"Hashrange ends" in reply.read()) == (502, True)
    connection.close()


def test_a_server_that_ends_waits_for_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with name_server(monkeypatch) as names:
        with server(Settings(data_dir=None, port=0, others="http://emulator.slow.test")) as database:
            connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"))
            connection.request("GET", "/photos/a")
            wait_until(lambda: names.asked)
        assert not names.ended
        reply = connection.getresponse()
        assert (reply.status, b"Hashrange ends" in reply.read()) == (502, True)
        connection.close()


def test_bytes_that_are_no_ascii_go_on(endpoint: str, emulator: Emulator) -> None:
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    connection.putrequest("GET", "/photos/a")
    connection.putheader("x-amz-meta-name", "caf\u00e9".encode())
    connection.endheaders()
    reply = connection.getresponse()
    assert reply.read() == OBJECT
    assert emulator.received[0][2]["x-amz-meta-name"].encode("latin-1").decode() == "caf\u00e9"
    assert reply.headers["x-amz-meta-name"] == "caf\u00e9"
    connection.close()


@pytest.mark.parametrize("url", ["localhost:4566", "ftp://localhost", "", "http://", "http://a b"])
def test_a_text_that_is_no_url(url: str) -> None:
    with pytest.raises(SettingUnusable, match="--others"), server(Settings(data_dir=None, port=0, others=url)):
        pass
