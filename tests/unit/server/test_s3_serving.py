"""The server's own S3 among all that a server does: downloads, faults, other emulators, stops, and the access log."""

import io
import logging
import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from hashrange import testing
from hashrange.faults.fault import Fault, Faults
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.s3.whole_files import OpenFile
from hashrange.settings import Settings, SettingUnusable
from tests.support.raw_client import read_reply, request_head
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, SECRET_KEY
from tests.support.stores import make_store
from tests.support.waiting import wait_until
from tests.unit.server.s3_servers import BUCKET, S3Server, s3_server

LONG = bytes(range(256)) * 4096 * 10


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    """A server with a long object."""
    with s3_server(tmp_path / "s3") as found:
        found.client.put_object(Bucket=BUCKET, Key="long", Body=LONG)
        yield found


def begin_download(server: S3Server, connection: socket.socket, key: str = "long") -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    connection.sendall(request_head("GET", f"/{BUCKET}/{key}", server.signed("GET", f"/{BUCKET}/{key}")))


def busy(server: S3Server) -> list[Any]:
    """Connections that are being sent a file."""
    open_ones = list(server.running.server.connections.open)
    return [one for one in open_ones if getattr(one, "file_reply", None) is not None]


def unsent_bytes(server: S3Server) -> int:
    """Memory of the first download."""
    (connection,) = busy(server)
    found: int = server.running.call(connection.count_unsent_bytes)
    return found


def test_a_download_that_nobody_reads_takes_no_memory_and_ends_when_its_client_leaves(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []
    close = OpenFile.close

    def counted(self: OpenFile) -> None:
        closed.append(id(self))
        close(self)

    with server.connect() as connection:
        begin_download(server, connection)
        wait_until(lambda: busy(server) and unsent_bytes(server) > 0)
        assert unsent_bytes(server) <= 1024 * 1024
        assert server.client.get_object(Bucket=BUCKET, Key="long", Range="bytes=0-3")["Body"].read() == LONG[:4]
        monkeypatch.setattr(OpenFile, "close", counted)
    wait_until(lambda: not busy(server))
    wait_until(lambda: closed)


def test_requests_that_wait_behind_a_download_are_answered_in_order(server: S3Server) -> None:
    with server.connect() as connection, connection.makefile("rb") as incoming:
        head = request_head("GET", f"/{BUCKET}/long", server.signed("GET", f"/{BUCKET}/long"))
        connection.sendall(head * 3 + request_head("GET", "/", {"Host": f"127.0.0.1:{server.port}"}))
        assert [read_reply("GET", incoming).body == LONG for _ in range(3)] == [True] * 3
        assert read_reply("GET", incoming).body.startswith(b"healthy")


def test_a_replaced_object_is_read_to_its_end_and_a_cut_file_never_looks_whole(server: S3Server) -> None:
    with server.connect() as connection, connection.makefile("rb") as incoming:
        begin_download(server, connection)
        wait_until(lambda: busy(server))
        server.client.put_object(Bucket=BUCKET, Key="long", Body=b"short")
        assert read_reply("GET", incoming).body == LONG
    server.client.put_object(Bucket=BUCKET, Key="long", Body=LONG)
    with server.connect() as connection:
        begin_download(server, connection)
        wait_until(lambda: busy(server))
        with open(server.root / BUCKET / "long", "r+b") as file:
            file.truncate(1000)
        received = b""
        try:
            while piece := connection.recv(1024 * 1024):
                received += piece
        except ConnectionResetError:
            pass
    assert len(received) < len(LONG)


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("PUT", b"x"), ("POST", b"x")])
def test_names_that_lead_here_from_elsewhere_are_refused(server: S3Server, method: str, body: bytes) -> None:
    """A page's own name may lead to the loopback; nobody checks the signature here."""
    reply = server.ask(method, f"/{BUCKET}/long", body, Host="evil.example")
    assert (reply.status, b"--allowed-hosts" in reply.body) == (403, True)
    assert (server.root / BUCKET / "long").read_bytes() == LONG


def test_heads_and_closed_connections(server: S3Server) -> None:
    signed = server.signed("HEAD", f"/{BUCKET}/long", Connection="close")
    head = server.raw.send("HEAD", f"/{BUCKET}/long", signed, b"")
    assert (head.status, head.headers["content-length"], head.body) == (200, str(len(LONG)), b"")
    signed = server.signed("GET", f"/{BUCKET}/long", Connection="close", Accept_Encoding="gzip")
    reply = server.raw.send("GET", f"/{BUCKET}/long", signed, b"")
    assert (reply.body == LONG, reply.headers["connection"]) == (True, "close")
    assert "content-encoding" not in reply.headers
    assert reply.headers["content-security-policy"] == "sandbox"
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(kind="error", operation="PutObject", count=1), "InternalError"),
        (Fault(kind="error", operation="PutObject", count=1, when="after"), "InternalError"),
        (Fault(kind="throttle", operation="GetObject", count=1), "SlowDown"),
        (Fault(kind="error", operation="GetObject", count=1, when="after"), "InternalError"),
    ],
)
def test_faults_that_name_an_operation(server: S3Server, fault: Fault, expected: str) -> None:
    server.running.call(set_faults, server, fault)
    with pytest.raises(ClientError) as caught:
        if fault.operation == "PutObject":
            server.client.put_object(Bucket=BUCKET, Key="new", Body=b"new")
        else:
            server.client.get_object(Bucket=BUCKET, Key="long")
    assert caught.value.response["Error"]["Code"] == expected
    has_been_done = fault.when == "after" and fault.operation == "PutObject"
    found = server.client.list_objects_v2(Bucket=BUCKET, Prefix="new")
    assert found["KeyCount"] == int(has_been_done)
    assert server.client.get_object(Bucket=BUCKET, Key="long")["Body"].read() == LONG
    wait_until(lambda: server.unfinished() == [])


@pytest.mark.parametrize("kind", ["drop", "half-reply"])
def test_a_download_may_be_cut(server: S3Server, kind: Any) -> None:
    server.running.call(set_faults, server, Fault(kind=kind, operation="GetObject", count=1))
    with pytest.raises((ConnectionClosedError, ReadTimeoutError)):
        server.client.get_object(Bucket=BUCKET, Key="long")
    assert server.client.get_object(Bucket=BUCKET, Key="long")["Body"].read() == LONG


def test_a_slow_reply_comes_whole(server: S3Server) -> None:
    server.running.call(set_faults, server, Fault(kind="slow", operation="GetObject", seconds=0.01, count=1))
    assert server.client.get_object(Bucket=BUCKET, Key="long")["Body"].read() == LONG


def set_faults(server: S3Server, fault: Fault) -> None:
    from hashrange.service.fault_feature import FAULTS

    server.running.service.features.part(FAULTS).use(Faults((fault,)))


def test_the_folder_answers_before_another_emulator(tmp_path: Path) -> None:
    with s3_server(tmp_path / "s3", others="http://127.0.0.1:9/") as found:
        found.client.put_object(Bucket=BUCKET, Key="key", Body=b"here")
        assert (tmp_path / "s3" / BUCKET / "key").read_bytes() == b"here"
        queue = boto3.client(
            "sqs", endpoint_url=f"http://127.0.0.1:{found.port}", region_name="us-east-1",
            aws_access_key_id="a", aws_secret_access_key="b", config=found.client.meta.config,
        )  # fmt: skip
        with pytest.raises(ClientError) as caught:
            queue.list_queues()
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 502


ARCHIVES = """
import boto3, os
def handler(event, context):
    boto3.client("s3").put_object(Bucket="photos", Key="archive/1.json", Body=b"{}", StorageClass="GLACIER")
"""


def test_a_function_archives_without_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Handlers run under this process's Python, which has boto3.
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    with s3_server(tmp_path / "s3", functions=True) as found:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr("app.py", ARCHIVES)
        functions = boto3.client(
            "lambda", endpoint_url=found.running.endpoint, region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
        )  # fmt: skip
        functions.create_function(
            FunctionName="archive", Role="arn:aws:iam::000000000000:role/any", Handler="app.handler", Timeout=30,
            Runtime=f"python3.{sys.version_info.minor}", Code={"ZipFile": packed.getvalue()},
        )  # fmt: skip
        reply = functions.invoke(FunctionName="archive")
        assert "FunctionError" not in reply, reply["Payload"].read()
        assert found.client.get_object(Bucket=BUCKET, Key="archive/1.json")["StorageClass"] == "GLACIER"


def test_without_a_folder_s3_is_not_served() -> None:
    running = ThreadServer(make_store, ALL_OPERATIONS)
    client = boto3.client(
        "s3", endpoint_url=running.endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    with pytest.raises(ClientError, match=r"does not serve s3\. Start it with --s3-folder DIR, "):
        client.put_object(Bucket=BUCKET, Key="key", Body=b"x")
    running.stop()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"s3_folder": "{}", "s3_endpoint": "http://localhost:9000"}, "Give one of them"),
        ({"s3_endpoint": "localhost:9000"}, "must be a URL"),
        ({"s3_folder": "/proc/no/such"}, "must be a folder that this user may write"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, str], sentence: str) -> None:
    named = {name: value.format(tmp_path) for name, value in settings.items()}
    with pytest.raises(SettingUnusable, match=sentence):
        ThreadServer(make_store, ALL_OPERATIONS, settings=Settings(port=0, data_dir=None, **named))  # type: ignore[arg-type]


def test_the_access_log_tells_the_length_of_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with s3_server(tmp_path / "s3", access_log=True) as found, caplog.at_level(logging.INFO, "hashrange.access"):
        found.client.put_object(Bucket=BUCKET, Key="key", Body=b"12345")
        found.client.get_object(Bucket=BUCKET, Key="key")["Body"].read()
        with pytest.raises(ClientError):
            found.client.get_object(Bucket=BUCKET, Key="none")
        wait_until(lambda: any("NoSuchKey" in line for line in caplog.messages))
    lines = [line for line in caplog.messages if f"/{BUCKET}/" in line]
    assert [" ".join(line.split()[1:6]) for line in lines[:2]] == [
        f"PUT /{BUCKET}/key - 200 0", f"GET /{BUCKET}/key - 200 5"
    ]  # fmt: skip
    assert lines[2].endswith("NoSuchKey")


def test_a_database_inside_a_program_serves_it_at_its_endpoint(tmp_path: Path) -> None:
    with testing.server(Settings(port=0, data_dir=None, s3_folder=str(tmp_path / "s3"))) as database:
        client = boto3.client(
            "s3", endpoint_url=database.endpoint, region_name="us-east-1",
            aws_access_key_id="a", aws_secret_access_key="b",
        )  # fmt: skip
        client.create_bucket(Bucket=BUCKET)
        client.put_object(Bucket=BUCKET, Key="key", Body=b"x" * 1_000_000)
        assert client.get_object(Bucket=BUCKET, Key="key")["Body"].read() == b"x" * 1_000_000
