"""A mapping that waits because its function may not run tries again as soon as the function's
reserved concurrency changes.
"""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing.database import server
from tests.support.waiting import wait_until

WRITING = """
import boto3
client = boto3.client("dynamodb")
def handle(event, context):
    client.put_item(TableName="handled", Item={"id": {"S": str(len(event["Records"]))}})
"""


def make_table(client: Any, name: str, **others: Any) -> Any:
    return client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **others,
    )["TableDescription"]


@pytest.mark.parametrize(
    "allow",
    [
        lambda functions: functions.put_function_concurrency(FunctionName="writing", ReservedConcurrentExecutions=1),
        lambda functions: functions.delete_function_concurrency(FunctionName="writing"),
    ],
    ids=["PutFunctionConcurrency", "DeleteFunctionConcurrency"],
)
def test_a_throttled_mapping_is_tried_again_when_its_function_may_run(allow: Callable[[Any], None]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", WRITING)
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        client, functions = database.client(), database.client("lambda")
        make_table(client, "handled")
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        arn = make_table(client, "orders", StreamSpecification=stream)["LatestStreamArn"]
        functions.create_function(
            FunctionName="writing",
            Runtime="python3.12",
            Role="arn:aws:iam::000000000000:role/handler",
            Handler="app.handle",
            Code={"ZipFile": packed.getvalue()},
            Timeout=60,
        )
        functions.put_function_concurrency(FunctionName="writing", ReservedConcurrentExecutions=0)
        functions.create_event_source_mapping(
            FunctionName="writing:$LATEST", EventSourceArn=arn, StartingPosition="TRIM_HORIZON"
        )
        database.clock.freeze()
        client.put_item(TableName="orders", Item={"id": {"S": "1"}})
        database.clock.advance(100)
        assert client.scan(TableName="handled")["Count"] == 0
        allow(functions)
        wait_until(lambda: client.scan(TableName="handled")["Count"] == 1)
