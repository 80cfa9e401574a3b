"""Clients that send what they like to Lambda's API: each request gets a reply in time,
and no client keeps others from theirs.
"""

import json
import selectors
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError

from hashrange.limits import LAMBDA_REQUEST_BYTES_MAX
from tests.support.function_servers import PYTHON, ROLE, FunctionServer
from tests.support.signing import sign
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

INVOCATIONS = 1000
FUNCTIONS_PATH = "/2015-03-31/functions"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FunctionServer]:
    """A server with a function."""
    server = FunctionServer(tmp_path_factory.mktemp("server"))
    server.create("echo", "def handler(event, context): return event")
    yield server
    server.stop()
    assert server.environments() == []
    assert list(server.temporary.iterdir()) == []
    assert " ERROR " not in server.log()


def head_of(server: FunctionServer, path: str, length: int, body: bytes = b"") -> bytes:
    """The head of a signed POST with this Content-Length; the body's signature is not compared
    without a credentials file.
    """
    headers = {"Host": f"127.0.0.1:{server.port}", "Content-Length": str(length)}
    signed = sign(headers, body, seconds=time.time(), service="lambda", path=path)
    return (
        f"POST {path}"
        f" HTTP/1.1\r\n{''.join(f'{name}: {value}' + chr(13) + chr(10) for name, value in signed.items())}\r\n"
    ).encode()


def connect(server: FunctionServer) -> socket.socket:
    """A connection."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)


def test_uploads_that_do_not_end_hold_no_other_request_up(server: FunctionServer) -> None:
    """Memory is reserved for one at a time; the others wait, and requests of DynamoDB's API do not wait behind them."""
    server.make_table("large")
    beginning = b'{"FunctionName":"f","Code":{"ZipFile":"' + b"A" * 200_000
    uploads = [connect(server) for _ in range(10)]
    try:
        for one in uploads:
            one.sendall(head_of(server, FUNCTIONS_PATH, LAMBDA_REQUEST_BYTES_MAX) + beginning)
        item = {"pk": {"S": "a"}, "text": {"S": "x" * 300_000}}
        for _ in range(5):
            assert server.call("PutItem", {"TableName": "large", "Item": item}).status == 200
        assert server.invoke("echo", "x" * 300_000) == (None, "x" * 300_000)
    finally:
        for one in uploads:
            one.close()
    server.create("after", "def handler(event, context): return 2")
    assert server.invoke("after") == (None, 2)
    server.functions.delete_function(FunctionName="after")


def test_a_half_of_a_zip_creates_nothing(server: FunctionServer) -> None:
    members = {
        "FunctionName": "half",
        "Runtime": PYTHON,
        "Role": ROLE,
        "Handler": "app.handler",
        "Code": {"ZipFile": "A" * 400_000},
    }
    body = json.dumps(members).encode()
    for length in (1, 300, len(body) // 2, len(body) - 1):
        with connect(server) as one:
            one.sendall(head_of(server, FUNCTIONS_PATH, len(body)) + body[:length])
            one.shutdown(socket.SHUT_WR)
            while one.recv(65536):
                pass
    assert [one["FunctionName"] for one in server.functions.list_functions()["Functions"]] == ["echo"]


def test_a_thousand_invocations_at_once(server: FunctionServer) -> None:
    """As many run as the function may have; the others are refused, and can be sent again."""
    server.functions.put_function_concurrency(FunctionName="echo", ReservedConcurrentExecutions=3)
    path = f"{FUNCTIONS_PATH}/echo/invocations"
    request = head_of(server, path, 2, b"[]") + b"[]"
    statuses: Counter[bytes] = Counter()
    sockets = [connect(server) for _ in range(INVOCATIONS)]
    with selectors.DefaultSelector() as selector:
        for one in sockets:
            one.sendall(request)
            selector.register(one, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(PATIENCE_SECONDS)
            assert ready, f"{statuses} of {INVOCATIONS} were answered"
            for key, _ in ready:
                reply = key.fileobj.recv(65536)  # type: ignore[union-attr]
                statuses[reply[9:12]] += 1
                assert reply[9:12] == b"200" or b"TooManyRequestsException" in reply, reply
                selector.unregister(key.fileobj)
    for one in sockets:
        one.close()
    assert statuses[b"200"] >= 3
    assert len(server.environments()) <= 3
    server.functions.delete_function_concurrency(FunctionName="echo")
    assert server.invoke("echo", 1) == (None, 1)


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("echo", 200, None),
        ("echo:$LATEST", 200, None),
        (quote("arn:aws:lambda:us-east-1:000000000000:function:echo", safe=""), 200, None),
        ("echo:1", 404, "ResourceNotFoundException"),
        ("%2F", 400, "ValidationException"),
        ("..%2F..%2Fetc", 400, "ValidationException"),
        ("echo%00", 400, "ValidationException"),
        ("echo%0D%0AX-Evil:%201", 400, "ValidationException"),
        ("%FF", 400, "ValidationException"),
        ("%", 400, "ValidationException"),
        ("a" * 300, 400, "ValidationException"),
        (quote("arn:aws:lambda:eu-west-1:000000000000:function:echo", safe=""), 404, "ResourceNotFoundException"),
        (quote("arn:aws:lambda:us-east-1:111111111111:function:echo", safe=""), 403, "AccessDeniedException"),
        ("", 404, "UnknownOperationException"),
        ("echo/invocations", 404, "UnknownOperationException"),
        ("..", 400, "ValidationException"),
    ],
)
def test_names_in_paths(server: FunctionServer, name: str, status: int, code: str | None) -> None:
    path = f"{FUNCTIONS_PATH}/{name}/invocations"
    headers = {"Host": f"127.0.0.1:{server.port}"}
    signed = sign(headers, b"1", seconds=time.time(), service="lambda", path=path)
    reply = server.call.send("POST", path, signed, b"1")
    assert (reply.status, reply.headers.get("x-amzn-errortype")) == (status, code), reply.body
    assert "x-evil" not in reply.headers


CREDENTIALS = """
[[credential]]
access_key = "AKIDELSEWHERE"
secret_key = "elsewhere"
regions = ["eu-west-1"]
[[credential]]
access_key = "AKIDEXPIRED"
secret_key = "expired"
expires = 2020-01-01T00:00:00Z
[[credential]]
access_key = "AKIDTOKEN"
secret_key = "with-token"
session_token = "token"
"""
OWN_CALL = """
import boto3
tables = boto3.client("dynamodb")

def handler(event, context):
    return tables.list_tables()["TableNames"]
"""


def test_a_handler_is_let_in_where_signatures_are_checked(tmp_path: Path) -> None:
    """It signs with a key of its account that is valid in its Region."""
    credentials = tmp_path / "credentials.toml"
    credentials.write_text(CREDENTIALS)
    server = FunctionServer(tmp_path, "--credentials", str(credentials))
    try:
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            server.functions.list_functions()
        server.functions = server.client(
            "lambda", aws_access_key_id="AKIDTOKEN", aws_secret_access_key="with-token", aws_session_token="token"
        )
        server.create("calls", OWN_CALL, MemorySize=512)
        assert server.invoke("calls") == (None, [])
        wait_until(server.environments)
    finally:
        server.stop()
