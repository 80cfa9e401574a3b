"""A server's `clock/advance` answers though a function triggers itself, and says which; so does `clock.advance` of a test's database."""

import io
import json
import zipfile
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from hashrange.jobs.job import NeverRests
from hashrange.settings import Settings
from hashrange.testing.database import server
from hashrange.triggers import chains

WRITING = """
import boto3
client = boto3.client("dynamodb")
def handle(event, context):
    add = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    client.update_item(TableName="orders", Key={"id": {"S": "1"}}, **add)
"""


def test_an_advance_says_which_function_triggers_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "TRIGGER_CHAIN_LINKS_MAX", 5)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", WRITING)
    with server(Settings(data_dir=None, port=0, functions=True, admin=True)) as database:
        table = database.client().create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )["TableDescription"]
        functions = database.client("lambda")
        functions.create_function(
            FunctionName="writing",
            Runtime="python3.12",
            Role="arn:aws:iam::000000000000:role/handler",
            Handler="app.handle",
            Code={"ZipFile": packed.getvalue()},
            Timeout=60,
        )
        functions.create_event_source_mapping(
            FunctionName="writing", EventSourceArn=table["LatestStreamArn"], StartingPosition="TRIM_HORIZON"
        )
        database.clock.freeze()
        began_seconds = database.clock.now()
        database.client().put_item(TableName="orders", Item={"id": {"S": "1"}})
        advance = Request(database.endpoint + "/_hashrange/v1/clock/advance", json.dumps({"seconds": 60}).encode())
        with pytest.raises(HTTPError) as refused:
            urlopen(advance)
        with refused.value as reply:
            assert reply.code == 409
            assert "function:writing is triggered by its own writes to the table orders" in json.load(reply)["error"]
        with pytest.raises(NeverRests):
            database.clock.advance(60)
        assert database.clock.now() - began_seconds == pytest.approx(120, abs=0.001)
        functions.delete_function(FunctionName="writing")
        database.clock.advance(60)
