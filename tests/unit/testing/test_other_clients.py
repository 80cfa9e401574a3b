"""Clients of other services than DynamoDB in the same process: what they see is what they see over a socket."""

import io
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import CREDENTIALS, Database
from tests.unit.testing.music import create

HANDLER = (
    "def handle(event, context):\n    print(event)\n    if event == 'fail':\n        raise ValueError('so')\n"
    "    return event\n"
)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, functions=True)) as database:
        yield database


def test_a_function_is_invoked_and_its_errors_have_their_names(database: Database) -> None:
    functions = database.client("lambda")
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as file:
        file.writestr("code.py", HANDLER)
    functions.create_function(
        FunctionName="echo",
        Runtime="python3.11",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="code.handle",
        Code={"ZipFile": code.getvalue()},
    )
    reply = functions.invoke(FunctionName="echo", Payload=b'{"a": 1}', LogType="Tail")
    assert reply["Payload"].read() == b'{"a": 1}'
    assert reply["LogResult"]
    assert reply["ResponseMetadata"]["RequestId"]
    assert functions.invoke(FunctionName="echo", Payload=b'"fail"')["FunctionError"] == "Unhandled"
    with pytest.raises(functions.exceptions.ResourceNotFoundException) as caught:
        functions.get_function(FunctionName="missing")
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_metrics_are_read_in_the_process_and_over_a_socket(database: Database) -> None:
    create(database.client(), "measured")
    database.client().get_item(TableName="measured", Key={"pk": {"S": "1"}})
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    asked = {
        "Namespace": "AWS/DynamoDB",
        "MetricName": "ConsumedReadCapacityUnits",
        "Dimensions": [{"Name": "TableName", "Value": "measured"}],
        "StartTime": now - timedelta(hours=1),
        "EndTime": now + timedelta(minutes=1),
        "Period": 3600,
        "Statistics": ["Sum"],
    }
    remote = boto3.client("cloudwatch", endpoint_url=database.endpoint, **CREDENTIALS)
    for client in (database.client("cloudwatch"), remote):
        assert [point["Sum"] for point in client.get_metric_statistics(**asked)["Datapoints"]] == [0.5]
        with pytest.raises(ClientError) as caught:
            client.put_metric_data(Namespace="AWS/DynamoDB", MetricData=[{"MetricName": "a", "Value": 1}])
        assert caught.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_targets_are_registered_in_the_process(database: Database) -> None:
    provisioned = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    create(database.client(), "scaled", BillingMode="PROVISIONED", ProvisionedThroughput=provisioned)
    scaling = database.client("application-autoscaling")
    place = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/scaled",
        "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
    }
    scaling.register_scalable_target(**place, MinCapacity=5, MaxCapacity=9)
    table = database.client().describe_table(TableName="scaled")["Table"]
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    place["ResourceId"] = "table/missing"
    with pytest.raises(scaling.exceptions.ValidationException):
        scaling.register_scalable_target(**place, MinCapacity=5, MaxCapacity=9)
