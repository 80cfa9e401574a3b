"""A database in the test's own process: used through botocore without a socket, and called with plain values."""

import socket
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.session
import msgspec
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.handlers import BUILTIN_HANDLERS

from hashrange.errors import ApiError, ResourceNotFoundException, StorageError, UnknownOperationException
from hashrange.settings import Settings
from hashrange.testing.botocore_transport import Transport, new_session
from hashrange.testing.in_process import InProcess
from tests.support.in_process import in_process

ACCOUNT, REGION = "000000000000", "us-east-1"
TABLE = {
    "TableName": "music",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}
KEY = {"pk": {"S": "a"}}
ITEM = {**KEY, "blob": {"B": "AAEC"}, "numbers": {"NS": ["1", "2"]}}
CREDENTIALS = {"region_name": REGION, "aws_access_key_id": "local", "aws_secret_access_key": "local"}


@pytest.fixture(scope="module")
def database() -> Iterator[InProcess]:
    with in_process() as database:
        call(database, "CreateTable", TABLE)
        yield database


@pytest.fixture(autouse=True)
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbid new connections; the database's own loop already has its sockets."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def call(database: InProcess, operation: str, members: dict[str, Any]) -> dict[str, Any]:
    return database.call(ACCOUNT, REGION, operation, members)


def client_of(database: InProcess, service: str = "dynamodb", **config: Any) -> Any:
    client = boto3.client(service, **CREDENTIALS, config=Config(retries={"total_max_attempts": 1}, **config))
    Transport(database).attach(client)
    return client


def handlers_of(session: Any, event: str) -> list[Any]:
    """The handlers that a botocore session calls at an event, in their order."""
    emitter = session.get_component("event_emitter")
    return list(emitter._emitter._handlers.prefix_search(emitter._alias_event_name(event)))


def do_nothing(**_: Any) -> None:
    """A handler."""


@pytest.fixture
def added() -> Iterator[None]:
    """A handler that a library adds to botocore's, as moto does."""
    BUILTIN_HANDLERS.append(("before-send", do_nothing))
    yield
    BUILTIN_HANDLERS.remove(("before-send", do_nothing))


def check_handlers() -> None:
    """Fail unless a new session calls all handlers that a session of botocore calls, in the same order."""
    made, plain = new_session()._session, botocore.session.Session()
    for event in {spec[0] for spec in BUILTIN_HANDLERS}:
        expected = handlers_of(plain, event)
        assert [one for one in handlers_of(made, event) if one in expected] == expected


def test_a_new_session_has_botocores_handlers() -> None:
    check_handlers()


@pytest.mark.usefixtures("added")
def test_a_new_session_has_the_handlers_that_others_have_added() -> None:
    check_handlers()


def test_a_new_session_has_its_handlers_for_itself() -> None:
    new_session()._session.register("before-send", do_nothing)
    assert do_nothing not in handlers_of(new_session()._session, "before-send")


def test_settings_of_a_server_do_no_harm() -> None:
    with in_process(Settings(data_dir=None, access_log=True)) as database:
        assert client_of(database).list_tables()["TableNames"] == []


# --- through botocore ---------------------------------------------------------------------------


def test_a_client_writes_and_reads(database: InProcess) -> None:
    client = client_of(database)
    item = {"pk": {"S": "client"}, "blob": {"B": b"\x00\x01"}, "text": {"S": "ä" * 100_000}}
    client.put_item(TableName="music", Item=item)
    reply = client.get_item(TableName="music", Key={"pk": {"S": "client"}}, ConsistentRead=True)
    assert reply["Item"] == item
    assert reply["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert len(reply["ResponseMetadata"]["RequestId"]) == 52


def test_a_refusal_is_the_exception_that_sdks_know(database: InProcess) -> None:
    client = client_of(database)
    with pytest.raises(client.exceptions.ResourceNotFoundException, match="Requested resource not found"):
        client.get_item(TableName="nothing", Key=KEY)


def test_faults_that_the_sdk_lets_through_reach_the_database(database: InProcess) -> None:
    client = client_of(database, parameter_validation=False)
    with pytest.raises(ClientError, match="must not be null") as caught:
        client.get_item(TableName="music")
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_a_session_makes_clients_and_resources_that_ask_here(database: InProcess) -> None:
    session = boto3.Session(**CREDENTIALS)
    Transport(database).attach(session)
    table = session.resource("dynamodb").Table("music")
    table.put_item(Item={"pk": "session", "n": 5})
    assert table.get_item(Key={"pk": "session"}, ConsistentRead=True)["Item"]["n"] == 5
    streams = session.client("dynamodbstreams")
    assert [stream["TableName"] for stream in streams.list_streams()["Streams"]] == ["music"]


def test_a_session_of_botocore_does_too(database: InProcess) -> None:
    session = botocore.session.Session()
    Transport(database).attach(session)
    client = session.create_client("dynamodb", **CREDENTIALS)
    assert "music" in client.list_tables()["TableNames"]


def test_regions_and_databases_are_apart(database: InProcess) -> None:
    client = boto3.client("dynamodb", **{**CREDENTIALS, "region_name": "eu-west-1"})
    Transport(database).attach(client)
    assert client.list_tables()["TableNames"] == []
    with in_process() as other:
        assert client_of(other).list_tables()["TableNames"] == []


# --- called with values ---------------------------------------------------------------------------


def test_values_in_values_out(database: InProcess) -> None:
    assert call(database, "PutItem", {"TableName": "music", "Item": ITEM}) == {}
    reply = call(database, "GetItem", {"TableName": "music", "Key": KEY, "ReturnConsumedCapacity": "TOTAL"})
    assert reply == {"Item": ITEM, "ConsumedCapacity": {"TableName": "music", "CapacityUnits": 0.5}}
    page = call(database, "Query", {
        "TableName": "music", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}},
    })  # fmt: skip
    assert page == {"Items": [ITEM], "Count": 1, "ScannedCount": 1}


def test_bytes_stand_for_base64(database: InProcess) -> None:
    item = {"pk": {"S": "bytes"}, "b": {"B": b"\x00\x01\x02"}}
    call(database, "PutItem", {"TableName": "music", "Item": item})
    reply = call(database, "GetItem", {"TableName": "music", "Key": {"pk": {"S": "bytes"}}, "ConsistentRead": True})
    assert reply["Item"]["b"] == {"B": "AAEC"}


def test_an_unknown_operation_and_a_missing_table_are_refused(database: InProcess) -> None:
    with pytest.raises(UnknownOperationException):
        call(database, "GetItems", {})
    with pytest.raises(ResourceNotFoundException):
        call(database, "GetItem", {"TableName": "nothing", "Key": KEY})


FAULTY: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {}),
    ("GetItem", {"TableName": "music"}),
    ("GetItem", {"TableName": "m", "Key": KEY}),
    ("GetItem", {"TableName": 5, "Key": KEY}),
    ("GetItem", {"TableName": "music", "Key": {"pk": {"S": 5}}}),
    ("GetItem", {"TableName": "music", "Key": {"pk": {"N": "x"}}}),
    ("GetItem", {"TableName": "music", "Key": {"pk": {"S": "a", "N": "1"}}}),
    ("GetItem", {"TableName": "music", "Key": {"pk": {}}}),
    ("GetItem", {"TableName": "music", "Key": {"other": {"S": "a"}}}),
    ("GetItem", {"TableName": "music", "Key": KEY, "ConsistentRead": "maybe"}),
    ("PutItem", {"TableName": "music", "Item": {"pk": {"S": ""}}}),
    ("PutItem", {"TableName": "music", "Item": ITEM, "ReturnValues": "ALL"}),
    ("PutItem", {"TableName": "music", "Item": {**KEY, "s": {"SS": ["a", "a"]}}}),
    ("Query", {"TableName": "music", "Limit": 0}),
    ("Query", {"TableName": "music", "KeyConditionExpression": "pk ="}),
    ("BatchGetItem", {"RequestItems": {}}),
    ("BatchWriteItem", {"RequestItems": {"music": [{}]}}),
    ("TransactWriteItems", {"TransactItems": []}),
    ("CreateTable", {"TableName": "x"}),
    ("DescribeTable", {}),
    ("ExecuteStatement", {"Statement": "SELECT"}),
]


@pytest.mark.parametrize(("operation", "members"), FAULTY)
def test_values_and_json_have_the_same_faults(database: InProcess, operation: str, members: dict[str, Any]) -> None:
    """Errors have the same type and message, whether found before the operation or by the operation itself."""
    client = client_of(database, parameter_validation=False)
    body = msgspec.json.encode(members)
    client.meta.events.register("before-call.dynamodb", lambda params, **_: params.update(body=body))
    with pytest.raises(ClientError) as told:
        client._make_api_call(operation, {"RequestItems": {}} if "RequestItems" in members else {})
    with pytest.raises(ApiError) as caught:
        call(database, operation, members)
    error = told.value.response["Error"]
    assert caught.value.wire_type.endswith("#" + error["Code"])
    assert (caught.value.message or "") in error["Message"]


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), {"S": "\ud800"}, "deep"])
def test_values_that_no_json_can_be_are_refused(database: InProcess, value: Any) -> None:
    if value == "deep":
        value = {}
        for _ in range(5_000):
            value = {"M": {"a": value}}
    with pytest.raises(ApiError):
        call(database, "PutItem", {"TableName": "music", "Item": {**KEY, "v": value}})


# --- starting and closing -------------------------------------------------------------------------


def test_what_is_in_a_folder_is_there_again(tmp_path: Any) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"))
    with in_process(settings) as first:
        call(first, "CreateTable", TABLE)
        call(first, "PutItem", {"TableName": "music", "Item": ITEM})
    with in_process(settings) as second:
        assert call(second, "GetItem", {"TableName": "music", "Key": KEY})["Item"] == ITEM
        with pytest.raises(StorageError):
            in_process(settings).start()


def test_it_may_be_closed_twice() -> None:
    database = in_process().start()
    database.close()
    database.close()
