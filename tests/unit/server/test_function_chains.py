"""A server's `clock/advance` answers though a function triggers or invokes itself, and says which;
so does `clock.advance` of a test's database.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from hashrange.jobs import chains
from hashrange.jobs.job import NeverRests
from hashrange.settings import Settings
from hashrange.testing.database import Database, server

WRITING = """
import boto3
client = boto3.client("dynamodb")
def handle(event, context):
    add = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    client.update_item(TableName="orders", Key={"id": {"S": "1"}}, **add)
"""
INVOKING = """
import boto3, os
client = boto3.client("lambda")
def handle(event, context):
    client.invoke(FunctionName=os.environ["INVOKED"], InvocationType="Event")
"""


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A server whose time stands still, in which few links make a chain."""
    monkeypatch.setattr(chains, "TRIGGER_CHAIN_LINKS_MAX", 5)
    with server(Settings(data_dir=None, port=0, functions=True, admin=True)) as served:
        served.clock.freeze()
        yield served


def make_stream(database: Database) -> str:
    """The ARN of the stream of the table `orders`."""
    table = database.client().create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )["TableDescription"]
    return str(table["LatestStreamArn"])


def make_function(functions: Any, name: str, code: str, **variables: str) -> None:
    """Create a function with this app.py."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", code)
    functions.create_function(
        FunctionName=name,
        Runtime="python3.12",
        Role="arn:aws:iam::000000000000:role/handler",
        Handler="app.handle",
        Code={"ZipFile": packed.getvalue()},
        Environment={"Variables": variables},
        Timeout=60,
    )


def refusal_of_advance(database: Database) -> str:
    """The error of an advance by 60 s over HTTP."""
    advance = Request(database.endpoint + "/_hashrange/v1/clock/advance", json.dumps({"seconds": 60}).encode())
    with pytest.raises(HTTPError) as refused:
        urlopen(advance)
    with refused.value as reply:
        assert reply.code == 409
        return str(json.load(reply)["error"])


def test_an_advance_says_which_function_triggers_itself(database: Database) -> None:
    functions = database.client("lambda")
    stream_arn = make_stream(database)
    make_function(functions, "writing", WRITING)
    functions.create_event_source_mapping(
        FunctionName="writing", EventSourceArn=stream_arn, StartingPosition="TRIM_HORIZON"
    )
    began_seconds = database.clock.now()
    database.client().put_item(TableName="orders", Item={"id": {"S": "1"}})
    assert "function:writing is triggered by its own writes to the table orders" in refusal_of_advance(database)
    with pytest.raises(NeverRests):
        database.clock.advance(60)
    assert database.clock.now() - began_seconds == pytest.approx(120, abs=0.001)
    functions.delete_function(FunctionName="writing")
    database.clock.advance(60)


def test_an_advance_says_which_function_invokes_itself_asynchronously(database: Database) -> None:
    functions = database.client("lambda")
    make_function(functions, "again", INVOKING, INVOKED="again")
    began_seconds = database.clock.now()
    functions.invoke(FunctionName="again", InvocationType="Event")
    assert "function:again invokes itself asynchronously" in refusal_of_advance(database)
    with pytest.raises(NeverRests):
        database.clock.advance(60)
    assert database.clock.now() - began_seconds == pytest.approx(120, abs=0.001)
    functions.delete_function(FunctionName="again")
    database.clock.advance(60)


def test_an_advance_ends_though_a_chain_passes_through_a_stream_and_an_asynchronous_invocation(
    database: Database,
) -> None:
    """The job for each of them rests after each link."""
    functions = database.client("lambda")
    stream_arn = make_stream(database)
    make_function(functions, "writing", WRITING)
    make_function(functions, "invoking", INVOKING, INVOKED="writing")
    functions.create_event_source_mapping(
        FunctionName="invoking", EventSourceArn=stream_arn, StartingPosition="TRIM_HORIZON"
    )
    database.client().put_item(TableName="orders", Item={"id": {"S": "1"}})
    for _ in range(2):
        with pytest.raises(NeverRests):
            database.clock.advance(60)
    functions.delete_function(FunctionName="writing")
    database.clock.advance(3600)
