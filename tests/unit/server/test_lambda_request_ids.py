"""The request id that a handler sees is that of the reply to its Invoke, as in the service."""

import base64
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import boto3
import pytest

from hashrange.settings import Settings
from hashrange.testing.database import server
from tests.support.waiting import wait_until

CODE = """
import boto3
def handler(event, context):
    if event:
        boto3.client("dynamodb").put_item(TableName="ids", Item={"id": {"S": context.aws_request_id}})
    return context.aws_request_id
"""


class Clients:
    """Clients of a server with the function `f` and the table `ids`."""

    def __init__(self, endpoint: str) -> None:
        self.functions, self.tables = (
            boto3.client(
                name,
                endpoint_url=endpoint,
                region_name="us-east-1",
                aws_access_key_id="test",
                aws_secret_access_key="test",
            )
            for name in ("lambda", "dynamodb")
        )
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("app.py", CODE)
        self.functions.create_function(
            FunctionName="f",
            Runtime="python3.12",
            Role="arn:aws:iam::000000000000:role/handler",
            Handler="app.handler",
            Code={"ZipFile": packed.getvalue()},
            Timeout=60,
        )
        self.tables.create_table(
            TableName="ids",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def invoke(self, **members: Any) -> Any:
        return self.functions.invoke(FunctionName="f", **members)


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        made = Clients(database.endpoint)
        yield made
        made.functions.close()
        made.tables.close()


def test_of_a_synchronous_invocation(clients: Clients) -> None:
    seen = set()
    for _ in range(3):
        reply = clients.invoke(LogType="Tail")
        request_id = reply["ResponseMetadata"]["RequestId"]
        assert json.load(reply["Payload"]) == request_id
        assert str(UUID(request_id)) == request_id
        assert f"START RequestId: {request_id} " in base64.b64decode(reply["LogResult"]).decode()
        seen.add(request_id)
    assert len(seen) == 3


def test_of_an_asynchronous_invocation(clients: Clients) -> None:
    reply = clients.invoke(InvocationType="Event", Payload=b"1")
    request_id = reply["ResponseMetadata"]["RequestId"]
    wait_until(lambda: clients.tables.scan(TableName="ids")["Items"] == [{"id": {"S": request_id}}])


def test_every_reply_has_one_request_id(clients: Clients) -> None:
    for reply in (clients.invoke(), clients.invoke(InvocationType="DryRun"), clients.functions.list_functions()):
        assert "," not in reply["ResponseMetadata"]["HTTPHeaders"]["x-amzn-requestid"]
