"""Who may connect, how slow and how rude a client may be, and what survives a restart."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import cbor2
import pytest
from botocore.exceptions import ClientError

from hashrange.clock import MovableClock, SystemClock
from hashrange.faults.fault import Fault
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.server.connections import HEAD_SECONDS_MAX
from hashrange.server.dax.connection import REQUEST_SECONDS_MAX
from hashrange.settings import Settings
from hashrange.sts.session import AssumedRole, RoleSession, session_keys
from hashrange.testing import Database, server
from hashrange.wire.dax.reading import NUMBERED_KEYS_MAX
from tests.support.dax_client import HANDSHAKE, DaxClient, DaxError, authorization, request_bytes
from tests.support.name_server import name_server
from tests.support.servers import ThreadServer
from tests.support.stores import make_store
from tests.support.waiting import wait_until

TLS = Path(__file__).parents[2] / "data" / "tls"
CREDENTIALS_FILE = """
[[credential]]
access_key = "AKIDEXAMPLE"
secret_key = "secret"
session_token = "token"
account = "111122223333"
regions = ["eu-west-1"]
"""
AUTHENTICATION = [4, 23, 31, 33]


def refusal(endpoint: str, authorize: bytes) -> DaxError:
    with DaxClient(endpoint, authorize=authorize) as client, pytest.raises(DaxError) as caught:
        client.call("endpoints")
    assert caught.value.codes == AUTHENTICATION
    return caught.value


@pytest.mark.parametrize(
    ("authorize", "code"),
    [
        (b"", "MissingAuthenticationTokenException"),
        (authorization(date="20200101T000000Z"), "InvalidSignatureException"),
        (authorization(date="2020"), "IncompleteSignatureException"),
        (authorization(service="dynamodb"), "InvalidSignatureException"),
        (authorization(region="not a region"), "InvalidSignatureException"),
        (request_bytes("authorizeConnection", None, None, None, None, None), "MissingAuthenticationTokenException"),
        (request_bytes("authorizeConnection", "a", "b", b"c", None, None), "IncompleteSignatureException"),
    ],
    ids=range(7),
)
def test_a_client_must_say_who_it_is(database: Database, authorize: bytes, code: str) -> None:
    assert refusal(str(database.dax_endpoint), authorize).info[1] == code


@contextmanager
def served(**settings: Any) -> Iterator[str]:
    """The DAX endpoint of a server with the secrets of its settings."""
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=Settings(data_dir=None, port=0, dax_port=0, **settings))
    try:
        yield str(running.server.dax_endpoint)
    finally:
        running.stop()


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[str]:
    """A server that lets one access key in."""
    file = tmp_path / "credentials.toml"
    file.write_text(CREDENTIALS_FILE)
    with served(credentials=str(file)) as endpoint:
        yield endpoint


def test_signatures_are_verified_if_there_are_credentials(strict: str) -> None:
    with DaxClient(strict, authorize=authorization(token="token")) as client:
        assert len(client.call("endpoints")) == 1
    for changes, code in (
        ({"access_key": "AKIDOTHER"}, "UnrecognizedClientException"),
        ({"secret": "wrong"}, "InvalidSignatureException"),
        ({"signature": "0" * 64}, "InvalidSignatureException"),
        ({"signature": "ü"}, "InvalidSignatureException"),
        ({"token": None}, "UnrecognizedClientException"),
        ({"region": "us-east-1"}, "InvalidSignatureException"),
    ):
        assert refusal(strict, authorization(**({"token": "token"} | changes))).info[1] == code


def test_the_keys_of_a_session_are_let_in_until_it_ends(strict: str) -> None:
    role = AssumedRole("aws", "deploy", "AROAEXAMPLE", "anna", None)
    for expires_seconds, codes in ((4e9, []), (1.0, ["ExpiredTokenException"])):
        session = RoleSession("ASIA111122223333ABCD", "111122223333", "AKIDEXAMPLE", expires_seconds, role)
        access_key, secret, token = session_keys(session, "secret").values()
        keys = {"access_key": access_key, "secret": secret, "token": token}
        if not codes:
            with DaxClient(strict, authorize=authorization(**keys)) as client:
                assert len(client.call("endpoints")) == 1
        refused: tuple[dict[str, Any], ...] = (
            {},
            {"secret": "wrong"},
            {"token": None},
            {"token": token[:-1]},
            {"region": "us-east-1"},
        )
        found = [refusal(strict, authorization(**(keys | one))).info[1] for one in refused[0 if codes else 1 :]]
        assert found == [
            *codes,
            "InvalidSignatureException",
            "UnrecognizedClientException",
            "UnrecognizedClientException",
            "InvalidSignatureException",
        ]


def test_a_connection_ends_with_its_key(tmp_path: Path) -> None:
    """A session by service time, a key of the file by the machine's."""
    file = tmp_path / "credentials.toml"
    file.write_text(
        f'{CREDENTIALS_FILE}\n[[credential]]\naccess_key = "AKIDLATER"\nsecret_key = "later"\n'
        'account = "111122223333"\nexpires = "2100-01-01T00:00:00Z"\n'
    )
    ahead_seconds: list[float] = []

    class Ahead(SystemClock):
        def wall_time(self) -> float:
            return super().wall_time() + sum(ahead_seconds)

    clock = MovableClock(Ahead())
    settings = Settings(data_dir=None, port=0, dax_port=0, credentials=str(file))
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=settings, clock=clock)
    try:
        endpoint = str(running.server.dax_endpoint)
        role = AssumedRole("aws", "deploy", "AROAEXAMPLE", "anna", None)
        session = RoleSession("ASIA111122223333ABCD", "111122223333", "AKIDEXAMPLE", clock.service_time() + 900, role)
        access_key, secret, token = session_keys(session, "secret").values()
        with (
            DaxClient(endpoint, authorize=authorization(access_key, secret, token=token)) as of_session,
            DaxClient(endpoint, authorize=authorization("AKIDLATER", "later")) as of_key,
            DaxClient(endpoint, authorize=authorization(token="token")) as of_all_times,
        ):
            for client in (of_session, of_key, of_all_times):
                assert client.call("endpoints")
            clock.advance(1_000)
            ahead_seconds.append(3e9)
            for client in (of_session, of_key):
                with pytest.raises(DaxError, match="ExpiredTokenException") as caught:
                    client.call("endpoints")
                assert caught.value.codes == AUTHENTICATION
            assert of_all_times.call("endpoints")
            ahead_seconds.clear()
            of_session.socket.sendall(authorization("AKIDLATER", "later"))
            assert of_session.call("endpoints")
    finally:
        running.stop()


CHANGES: dict[str, dict[str, Any]] = {
    "update_cluster": {"Description": "mine"},
    "reboot_node": {"NodeId": "default-a"},
    "increase_replication_factor": {"NewReplicationFactor": 2},
    "decrease_replication_factor": {"NewReplicationFactor": 1},
    "delete_cluster": {},
    "tag_resource": {"Tags": [{"Key": "team", "Value": "a"}]},
    "untag_resource": {"TagKeys": ["team"]},
}


@contextmanager
def dax_api(**settings: Any) -> Iterator[Any]:
    """A client of DAX's API, at a server with the cluster of all accounts."""
    running = ThreadServer(make_store, ALL_OPERATIONS, settings=Settings(data_dir=None, port=0, dax_port=0, **settings))
    try:
        yield boto3.client(
            "dax",
            endpoint_url=f"http://127.0.0.1:{running.port}",
            region_name="eu-west-1",
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="secret",
            aws_session_token="token",
        )
    finally:
        running.stop()


def test_nobody_changes_the_cluster_of_all_accounts_where_these_are_told_apart(tmp_path: Path) -> None:
    """It is seen and used by all of them."""
    file = tmp_path / "credentials.toml"
    file.write_text(CREDENTIALS_FILE)
    with dax_api(credentials=str(file)) as client:
        (before,) = client.describe_clusters()["Clusters"]
        for change, members in CHANGES.items():
            named = {"ResourceName": before["ClusterArn"]} if "resource" in change else {"ClusterName": "default"}
            with pytest.raises(ClientError, match="only its settings change it") as caught:
                getattr(client, change)(**named, **members)
            assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
        assert client.describe_clusters()["Clusters"] == [before]
        assert client.list_tags(ResourceName=before["ClusterArn"])["Tags"] == []


def test_without_credentials_the_cluster_of_all_accounts_may_be_changed() -> None:
    with dax_api() as client:
        client.update_cluster(ClusterName="default", Description="mine")
        (cluster,) = client.describe_clusters()["Clusters"]
        assert cluster["Description"] == "mine"


def test_a_client_may_sign_again_and_is_out_if_that_is_refused(strict: str) -> None:
    with DaxClient(strict, authorize=authorization(token="token")) as client:
        client.call("endpoints")
        client.socket.sendall(authorization(token="token"))
        client.call("endpoints")
        client.socket.sendall(authorization(token="other"))
        with pytest.raises(DaxError):
            client.call("endpoints")
        client.socket.sendall(authorization(token="token"))
        client.call("endpoints")


def test_the_log_says_where_the_table_of_a_client_of_another_region_is(
    database: Database, direct: Any, caplog: pytest.LogCaptureFixture
) -> None:
    del direct
    with (
        DaxClient(str(database.dax_endpoint), authorize=authorization(region="us-east-1")) as client,
        pytest.raises(DaxError),
    ):
        client.call("defineKeySchema", b"music")
    (line,) = caplog.messages
    assert line.startswith("table music does not exist in account 000000000000, Region us-east-1, but in account")
    assert "Region eu-west-1;" in line


def test_each_client_sees_the_tables_of_its_account_and_region(database: Database, direct: Any) -> None:
    del direct
    with DaxClient(str(database.dax_endpoint), authorize=authorization(region="us-east-1")) as client:
        with pytest.raises(DaxError, match="ResourceNotFound"):
            client.call("defineKeySchema", b"music")
        client.socket.sendall(authorization(region="eu-west-1"))
        assert client.call("defineKeySchema", b"music")


def test_replies_in_frames(database: Database) -> None:
    """The client for Java asks for them: the length of the frame, with its head of eight bytes,
    and a flag for the last one.
    """
    host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(HANDSHAKE[:8] + b"\x01" + HANDSHAKE[9:] + authorization() + request_bytes("endpoints"))
        stream = connection.makefile("rb")
        head = stream.read(8)
        assert head[4:] == b"\x01\x00\x00\x00"
        reply = stream.read(int.from_bytes(head[:4], "big") - 8)
        stream.close()
    assert reply[:1] == b"\x80"
    assert cbor2.loads(reply[1:])[0][3] == int(port)


def test_tls() -> None:
    with served(tls_cert=str(TLS / "localhost.pem"), tls_key=str(TLS / "localhost.key")) as endpoint:
        assert endpoint.startswith("daxs://")
        context = ssl.create_default_context(cafile=str(TLS / "localhost.pem"))
        host, port = endpoint.partition("//")[2].rsplit(":", 1)
        plain = socket.create_connection((host, int(port)), timeout=30)
        connection = context.wrap_socket(plain, server_hostname="localhost")
        with DaxClient(endpoint, connection=connection) as client:
            assert len(client.call("endpoints")) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        HANDSHAKE + b"\xff",
        HANDSHAKE + cbor2.dumps(1) + cbor2.dumps(17),
        HANDSHAKE + b"\x81" * 100_000,
        HANDSHAKE + authorization() + request_bytes("getItem", b"music", b"key", None) + b"\x02" + bytes(100),
        HANDSHAKE + authorization() + request_bytes("scan", b"music", dict.fromkeys(range(NUMBERED_KEYS_MAX + 1))),
        bytes(100_000),
    ],
    ids=range(7),
)
def test_rude_clients_are_disconnected_and_others_are_not(database: Database, data: bytes) -> None:
    endpoint = str(database.dax_endpoint)
    host, port = endpoint.partition("//")[2].rsplit(":", 1)
    with DaxClient(endpoint) as client, socket.create_connection((host, int(port)), timeout=30) as rude:
        rude.sendall(data)
        assert received_until_the_end(rude) is not None
        assert client.call("endpoints")


def received_until_the_end(connection: socket.socket) -> bytes:
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def test_requests_that_are_not_complete_have_bounded_memory(
    database: Database, dax: DaxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = database._process._server.dax._begun.known  # type: ignore[union-attr]
    monkeypatch.setattr(begun, "limit_bytes", 200_000)
    head = HANDSHAKE + authorization() + cbor2.dumps(1) + cbor2.dumps(-2106490455) + cbor2.dumps(b"music")
    host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as greedy:
        greedy.sendall(head + b"\x5a\x00\xff\xff\xff" + bytes(300_000))
        received_until_the_end(greedy)
    assert dax.call("endpoints")
    assert database._process.run(lambda: begun.size_bytes) == 0


def test_strangers_hold_no_memory_of_known_clients(
    database: Database, dax: DaxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = database._process._server.dax._begun  # type: ignore[union-attr]
    monkeypatch.setattr(begun.strangers, "limit_bytes", 20_000)
    host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
    unfinished = HANDSHAKE + cbor2.dumps(1) + cbor2.dumps(1489122155) + b"\x79\x3f\xff" + bytes(15_000)
    with ExitStack() as strangers:
        for _ in range(3):
            stranger = strangers.enter_context(socket.create_connection((host, int(port)), timeout=30))
            stranger.sendall(unfinished)
        database._process.run(lambda: None)
        with DaxClient(str(database.dax_endpoint)) as known:
            known.call(
                "putItem",
                b"music",
                cbor2.dumps("Nina") + b"\xc1\x1c\x00\x00",
                known.item_bytes(text="x" * 300_000),
                None,
            )
        assert database._process.run(lambda: begun.strangers.size_bytes) <= 20_000


def test_slow_clients_are_disconnected(database: Database, dax: DaxClient) -> None:
    host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
    process = database._process
    running = next(iter(process._server.dax._running.values()))  # type: ignore[union-attr]
    with socket.create_connection((host, int(port)), timeout=30) as slow, DaxClient(str(database.dax_endpoint)) as half:
        half.socket.sendall(cbor2.dumps(1))
        half.socket.sendall(cbor2.dumps(263244906))
        dax.call("endpoints")
        while process.run(
            lambda: (len(running.connections), max(one._own_begun_bytes for one in running.connections))
        ) < (
            3,
            6,
        ):
            dax.call("endpoints")
        now_seconds = process.run(running._clients.monotonic)

        def sweep(after_seconds: float) -> None:
            for one in list(running.connections):
                one.end_if_late(now_seconds + after_seconds)

        for after_seconds in (0.0, HEAD_SECONDS_MAX, REQUEST_SECONDS_MAX + 1):
            process.run(sweep, after_seconds)
        assert received_until_the_end(slow) == b""
        with pytest.raises(EOFError):
            half.receive("getItem")
        assert dax.call("endpoints")


def test_a_client_that_reads_nothing_is_not_read_from(database: Database, dax: DaxClient) -> None:
    key = cbor2.dumps("Nina") + b"\xc1\x1c\x00\x00"
    dax.call("putItem", b"music", key, dax.item_bytes(text="x" * 300_000), None)
    host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=0.5) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.sendall(HANDSHAKE + authorization())
        request = request_bytes("getItem", b"music", key, None) * 1_000
        with pytest.raises(TimeoutError):
            for _ in range(1_000):
                deaf.sendall(request)
        process = database._process
        running = next(iter(process._server.dax._running.values()))  # type: ignore[union-attr]
        held = process.run(
            lambda: max(
                one._transport.get_write_buffer_size()  # type: ignore[union-attr]
                for one in running.connections
            )
        )
        assert held < 64 * 300_000 + 10 * 1024 * 1024
        assert dax.call("endpoints")


def test_attribute_lists_survive_a_restart_and_caches_do_not(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"), port=0, dax_port=0)
    with server(settings) as database:
        create(database)
        with DaxClient(str(database.dax_endpoint)) as client:
            client.call("putItem", b"films", b"a", client.item_bytes(x=1, y=2), None)
            list_id = client.call("defineAttributeListId", ["x", "y"])
    with server(settings) as database, DaxClient(str(database.dax_endpoint)) as client:
        assert client.call("defineAttributeList", list_id) == ["x", "y"]
        assert client.call("defineAttributeListId", ["z"]) != list_id
        reply = client.call("getItem", b"films", b"a", {3: 1})
        assert client.item_of(reply[0]) == {"x": 1, "y": 2}
        assert client.item_of(client.call("getItem", b"films", b"a", {3: 1})[0]) == {"x": 1, "y": 2}


def test_a_server_that_has_forgotten_a_list_gives_its_id_to_no_other_one() -> None:
    """A client keeps ids as long as it runs, so a write with an id of an earlier server in memory must
    not get another list's names.
    """
    settings = Settings(data_dir=None, port=0, dax_port=0)
    with server(settings) as database, DaxClient(str(database.dax_endpoint)) as client:
        item = client.item_bytes(a=1, b=2)
    with server(settings) as database:
        create(database)
        with DaxClient(str(database.dax_endpoint)) as client:
            client.call("putItem", b"films", b"other", client.item_bytes(x=1, y=2), None)
            with pytest.raises(DaxError, match="an unknown attribute list"):
                client.call("putItem", b"films", b"old", item, None)
            assert client.item_bytes(a=1, b=2) == item, "the id follows from the names"
            client.call("putItem", b"films", b"old", item, None)


def create(database: Database) -> None:
    database.client(region_name="eu-west-1").create_table(
        TableName="films",
        KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


@pytest.mark.parametrize(
    ("advertised", "host", "port"), [("localhost", "localhost", None), ("127.0.0.1:9000", "127.0.0.1", 9000)]
)
def test_clients_are_told_the_advertised_place(advertised: str, host: str, port: int | None) -> None:
    with server(Settings(data_dir=None, port=0, dax_port=0, dax_advertise=advertised)) as database:
        with DaxClient(str(database.dax_endpoint)) as client:
            (endpoint,) = client.call("endpoints")
        own_port = int(str(database.dax_endpoint).rpartition(":")[2])
        assert (endpoint[1], endpoint[2], endpoint[3]) == (host, b"\x7f\x00\x00\x01", port or own_port)


def test_an_advertised_name_that_is_found_slowly_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=None, port=0, dax_port=0, dax_advertise="dax.slow.test")
    with (
        name_server(monkeypatch) as names,
        server(settings) as database,
        DaxClient(str(database.dax_endpoint)) as client,
        DaxClient(str(database.dax_endpoint)) as other,
    ):
        client.send("endpoints")
        wait_until(lambda: names.asked)
        create(database)
        assert other.call("defineKeySchema", b"films")
        names.addresses = ["127.0.0.9"]
        names.may_answer.set()
        (endpoint,) = client.receive("endpoints")
        assert [endpoint[1], endpoint[2]] == ["dax.slow.test", b"\x7f\x00\x00\x09"]


def test_a_crowd_of_strangers_leaves_connections_for_clients_of_http() -> None:
    """They took all descriptors of the process."""
    with server(Settings(data_dir=None, port=0, dax_port=0, max_connections=12)) as database, ExitStack() as strangers:
        host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
        crowd = [strangers.enter_context(socket.create_connection((host, int(port)), timeout=30)) for _ in range(20)]
        for one in crowd[8:]:  # a quarter is for HTTP, and the node listens at one socket
            assert received_until_the_end(one) == b""
        with DaxClient(str(database.dax_endpoint), connection=crowd[1]) as client:
            assert client.call("endpoints")
        for _ in range(3):
            other = strangers.enter_context(
                socket.create_connection((host, urlsplit(database.endpoint).port), timeout=30)
            )
            other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert other.recv(65_536).startswith(b"HTTP/1.1 200")
        crowd[0].close()
        count = database._process._server.connections.count_dax  # type: ignore[union-attr]
        wait_until(lambda: database._process.run(count) < 9)
        with DaxClient(str(database.dax_endpoint)) as client:
            assert client.call("endpoints")


def test_a_late_reply_is_let_go_when_its_client_leaves(database: Database, dax: DaxClient) -> None:
    item = dax.item_bytes(text="x")
    database.faults.use(Fault("slow", seconds=4321, operation="PutItem"))
    faulted = database._process.service.faulted
    dax.send("putItem", b"music", cbor2.dumps("Nina") + b"\xc1\x1c\x00\x00", item, None)
    wait_until(lambda: faulted._late)
    dax.close()
    wait_until(lambda: not faulted._late)
