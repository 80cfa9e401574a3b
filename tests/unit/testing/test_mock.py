"""Clients that know nothing of Hashrange: caught while a block runs, and as before after it."""

import os
import socket
import threading
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.endpoint import Endpoint
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.httpsession import URLLib3Session
from botocore.stub import Stubber

from hashrange.testing import mock_dynamodb, server
from tests.unit.testing.music import create

REGION = "eu-west-1"
KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}


class SentAway(Exception):
    """A request would have gone to the network."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbid requests and new connections; the databases' own loops have their sockets."""

    def refuse(*_: Any, **__: Any) -> None:
        raise SentAway

    monkeypatch.setattr(URLLib3Session, "send", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the credentials and Region of the machine, and the default session of other tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


def tables(client: Any) -> list[str]:
    found: list[str] = client.list_tables()["TableNames"]
    return found


# --- which clients ------------------------------------------------------------------------------


def test_clients_of_every_kind_are_caught_without_credentials_and_region() -> None:
    with mock_dynamodb() as database:
        create(boto3.client("dynamodb"))
        boto3.resource("dynamodb").Table("music").put_item(Item={"pk": "a"})
        session = boto3.Session()
        assert [table.name for table in session.resource("dynamodb").tables.all()] == ["music"]
        assert session.client("dynamodb").scan(TableName="music")["Items"] == [{"pk": {"S": "a"}}]
        assert tables(botocore.session.Session().create_client("dynamodb")) == ["music"]
        streams = boto3.client("dynamodbstreams").list_streams()["Streams"]
        assert [stream["TableName"] for stream in streams] == ["music"]
        assert tables(database.client()) == ["music"]


@pytest.mark.parametrize(
    ("options", "elsewhere"),
    [({}, NoCredentialsError), (KEYS, SentAway), (KEYS | {"endpoint_url": "http://localhost:1"}, SentAway)],
    ids=["bare", "keys", "endpoint"],
)
def test_a_client_that_was_made_before_is_caught_only_in_the_block(
    options: dict[str, str], elsewhere: type[Exception]
) -> None:
    client = boto3.client("dynamodb", region_name=REGION, **options)
    table = boto3.resource("dynamodb", region_name=REGION, **options).Table("music")
    for _ in range(2):
        with mock_dynamodb():
            create(client)
            table.put_item(Item={"pk": "a"})
            assert client.scan(TableName="music")["Count"] == 1
    with pytest.raises(elsewhere):
        tables(client)


def test_a_client_that_was_made_in_the_block_is_not_caught_after_it() -> None:
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        assert tables(client) == []
    with pytest.raises(SentAway):
        tables(client)


def test_the_database_that_is_given_answers_and_stays() -> None:
    with server() as database:
        create(database.client())
        for _ in range(2):
            with mock_dynamodb(database=database) as given:
                assert given is database
                assert tables(boto3.client("dynamodb")) == ["music"]
        assert tables(database.client()) == ["music"]


def test_a_databases_own_client_stays_with_it() -> None:
    with mock_dynamodb() as outer, server() as other:
        create(other.client())
        assert (tables(outer.client()), tables(boto3.client("dynamodb"))) == ([], [])
        assert tables(other.client()) == ["music"]


def test_the_inner_block_answers_with_the_database_that_it_is_given() -> None:
    client = boto3.client("dynamodb", region_name=REGION)
    with mock_dynamodb(), server() as inner:
        create(client, "outer")
        with mock_dynamodb(database=inner):
            assert tables(client) == []
            create(client, "inner")
        assert tables(client) == ["outer"]


def test_blocks_may_end_in_any_order() -> None:
    client = boto3.client("dynamodb", region_name=REGION, **KEYS)
    with server() as one, server() as other:
        first, second = mock_dynamodb(database=one), mock_dynamodb(database=other)
        first.__enter__()
        create(client, "first")
        second.__enter__()
        create(client, "second")
        first.__exit__(None, None, None)
        found = tables(client)
        second.__exit__(None, None, None)
    assert found == ["second"]
    with pytest.raises(SentAway):
        tables(client)


def test_requests_of_all_threads_are_caught() -> None:
    client = boto3.client("dynamodb", region_name=REGION, **KEYS)
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            own = boto3.Session().client("dynamodb", region_name=REGION, **KEYS)
            for number in range(10):
                for one in (client, own):
                    one.update_item(
                        TableName="music",
                        Key={"pk": {"S": f"{writer} {number}"}},
                        UpdateExpression="ADD written :one",
                        ExpressionAttributeValues={":one": {"N": "1"}},
                    )
        except BaseException as error:
            failures.append(error)

    with mock_dynamodb():
        create(client)
        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        items = client.scan(TableName="music")["Items"]
        assert [item["written"]["N"] for item in items] == ["2"] * 40


# --- what stays botocore's ----------------------------------------------------------------------


def test_errors_waiters_and_pages_are_those_of_botocore() -> None:
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        with pytest.raises(client.exceptions.ResourceNotFoundException, match="Requested resource not found"):
            client.get_item(TableName="nothing", Key={"pk": {"S": "a"}})
        for name in ("one", "two", "three"):
            create(client, name)
            client.get_waiter("table_exists").wait(TableName=name)
        pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
        assert [page["TableNames"] for page in pages if page["TableNames"]] == [["one"], ["three"], ["two"]]
        reply = client.list_tables()["ResponseMetadata"]
        assert (reply["HTTPStatusCode"], reply["RetryAttempts"]) == (200, 0)


def test_stubbed_replies_and_handlers_of_the_tested_code_are_heard() -> None:
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        with Stubber(client) as stubber:
            stubber.add_client_error("list_tables", "ThrottlingException")
            with pytest.raises(ClientError, match="ThrottlingException"):
                tables(client)
        sent: list[str] = []
        client.meta.events.register("before-send", lambda request, **_: sent.append(request.url))
        assert tables(client) == []
        assert len(sent) == 1


def test_botocore_is_as_before_after_an_error_too() -> None:
    before = Endpoint.make_request
    with pytest.raises(ZeroDivisionError), mock_dynamodb():
        assert Endpoint.make_request is not before
        1 / 0  # noqa: B018
    assert Endpoint.make_request is before
    assert "AWS_ACCESS_KEY_ID" not in os.environ


def test_other_code_may_put_its_method_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Endpoint.make_request
    traced: list[str] = []
    try:
        with mock_dynamodb():
            ours = Endpoint.make_request

            def trace(endpoint: Any, model: Any, request: Any) -> Any:
                traced.append(model.name)
                return ours(endpoint, model, request)

            Endpoint.make_request = trace
        client = boto3.client("dynamodb", region_name=REGION, **KEYS)
        with pytest.raises(SentAway):
            tables(client)
        with mock_dynamodb():
            assert tables(client) == []
        assert Endpoint.make_request is trace
        assert traced == ["ListTables", "ListTables"]
    finally:
        Endpoint.make_request = before


# --- credentials and Region ---------------------------------------------------------------------


def test_the_environment_is_restored() -> None:
    before = dict(os.environ)
    with mock_dynamodb():
        assert {name for name in os.environ if name not in before} == {
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_DEFAULT_REGION",
        }
        os.environ["UNRELATED"] = "stays"
        boto3.client("dynamodb")
    assert dict(os.environ) == before | {"UNRELATED": "stays"}
    del os.environ["UNRELATED"]
    assert boto3.Session().get_credentials() is None
    assert boto3.DEFAULT_SESSION is None


def test_what_is_configured_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "111122223333")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    config = tmp_path / "config"
    config.write_text(f"[default]\nregion = {REGION}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    boto3.setup_default_session()
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        create(client)
        arn = client.describe_table(TableName="music")["Table"]["TableArn"]
        assert arn == f"arn:aws:dynamodb:{REGION}:111122223333:table/music"
        session = boto3.DEFAULT_SESSION
    assert boto3.DEFAULT_SESSION is session


def test_a_region_that_only_other_sdks_read_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", REGION)
    with mock_dynamodb():
        assert boto3.client("dynamodb").meta.region_name == REGION


def test_an_empty_key_is_none_and_stays_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "")
    with mock_dynamodb():
        assert tables(boto3.client("dynamodb")) == []
    assert os.environ["AWS_ACCESS_KEY_ID"] == ""


def test_a_default_session_is_only_for_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = []
    for _ in range(2):
        with mock_dynamodb():
            create(boto3.client("dynamodb"))
            sessions.append(boto3.DEFAULT_SESSION)
        assert boto3.DEFAULT_SESSION is None
    assert sessions[0] is not sessions[1]
    with mock_dynamodb():
        boto3.setup_default_session(region_name=REGION)
    assert boto3.DEFAULT_SESSION is None
    for name, value in {"AWS_ACCESS_KEY_ID": "mine", "AWS_DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    with mock_dynamodb():
        boto3.setup_default_session()
        own = boto3.DEFAULT_SESSION
    assert boto3.DEFAULT_SESSION is own


def test_sessions_share_what_they_have_read_of_services() -> None:
    loaders = []
    for _ in range(2):
        with server() as database:
            database.client()
            loaders.append(database._session._loader)
    assert loaders[0] is loaders[1]
    with mock_dynamodb():
        assert boto3.DEFAULT_SESSION._loader is loaders[0]
