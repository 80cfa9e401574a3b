"""Changes of a table reach kinesis-local: enabled with boto3, written across a restart of the server,
and read from Kinesis with boto3.
"""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from tests.clients.programs import node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.support.waiting import wait_until

FOLDER = HERE / "kinesis_local"
ACCOUNT, REGION = "123456789012", "eu-west-1"
TABLE, STREAM = "orders", "changes"
ITEMS = 40

pytestmark = pytest.mark.packaging


class KinesisLocal:
    """The emulator in a process of its own, and a boto3 client of it."""

    def __init__(self) -> None:
        program = node(FOLDER)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        ports = {"KINESIS_MOCK_PLAIN_PORT": str(port), "KINESIS_MOCK_TLS_PORT": "0", "LOG_LEVEL": "ERROR"}
        self.process = subprocess.Popen(
            [program, "main.js"],
            cwd=FOLDER / "node_modules" / "kinesis-local",
            env={**os.environ, **ports, "CREATE_STREAM_DURATION": "10ms"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.endpoint = f"http://127.0.0.1:{port}"
        self.client = client("kinesis", self.endpoint)

    def start(self) -> None:
        """Wait until it answers, and create the data stream, with two shards."""

        def answers() -> bool:
            assert self.process.poll() is None
            try:
                self.client.list_streams()
            except BotoCoreError:
                return False
            return True

        wait_until(answers)
        self.client.create_stream(StreamName=STREAM, ShardCount=2)
        wait_until(lambda: self.summary()["StreamStatus"] == "ACTIVE")

    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.describe_stream_summary(StreamName=STREAM)["StreamDescriptionSummary"]
        return found

    def records(self) -> list[list[dict[str, Any]]]:
        """The records of each shard, in order: partition key and decoded data."""
        found = []
        for shard in self.client.list_shards(StreamName=STREAM)["Shards"]:
            place = {"StreamName": STREAM, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.client.get_shard_iterator(**place)["ShardIterator"]
            page = self.client.get_records(ShardIterator=iterator, Limit=10_000)
            assert page["MillisBehindLatest"] == 0
            found.append([json.loads(one["Data"]) | {"key": one["PartitionKey"]} for one in page["Records"]])
        return found

    def stop(self) -> None:
        self.client.close()
        self.process.kill()  # it keeps nothing, and takes its time to end by itself
        self.process.communicate(timeout=30)


def client(service: str, endpoint: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture(scope="module")
def kinesis() -> Iterator[KinesisLocal]:
    running = KinesisLocal()
    try:
        running.start()
        yield running
    finally:
        running.stop()


def item(number: int, value: int) -> dict[str, Any]:
    return {"id": {"S": f"item {number}"}, "v": {"N": str(value)}}


def test_changes_reach_kinesis(kinesis: KinesisLocal, tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", "--kinesis-endpoint", kinesis.endpoint)
    tables = client("dynamodb", server.endpoint)
    try:
        tables.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        arn = kinesis.summary()["StreamARN"]
        tables.enable_kinesis_streaming_destination(
            TableName=TABLE,
            StreamArn=arn,
            EnableKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"},
        )
        waiter = tables.get_waiter("kinesis_streaming_destination_active")
        waiter.wait(TableName=TABLE, WaiterConfig={"Delay": 0.02, "MaxAttempts": 1000})
        for number in range(ITEMS):
            tables.put_item(TableName=TABLE, Item=item(number, 1))
        server.restart()
        for number in range(ITEMS):
            tables.update_item(
                TableName=TABLE,
                Key={"id": {"S": f"item {number}"}},
                UpdateExpression="SET v = :v",
                ExpressionAttributeValues={":v": {"N": "2"}},
            )
        tables.delete_item(TableName=TABLE, Key={"id": {"S": "item 0"}})
        tables.disable_kinesis_streaming_destination(TableName=TABLE, StreamArn=arn)
        tables.put_item(TableName=TABLE, Item=item(1, 3))
        wait_until(lambda: any(one["eventName"] == "REMOVE" for shard in kinesis.records() for one in shard))
        wait_until(
            lambda: len(changes_of(kinesis)) == ITEMS and all(len(one) >= 2 for one in changes_of(kinesis).values())
        )
    finally:
        tables.close()
        server.stop()
    check(kinesis)


def changes_of(kinesis: KinesisLocal) -> dict[str, list[dict[str, Any]]]:
    """Item → its changes in order, each once."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for shard in kinesis.records():
        for one in shard:
            found.setdefault(one["dynamodb"]["Keys"]["id"]["S"], {}).setdefault(one["eventID"], one)
    return {name: list(changes.values()) for name, changes in found.items()}


def check(kinesis: KinesisLocal) -> None:
    """Every change came, those of an item in order and in one shard; both shards got some."""
    shards = kinesis.records()
    assert all(shards)
    keys = [{one["key"] for one in shard} for shard in shards]
    assert not keys[0] & keys[1]
    changes = changes_of(kinesis)
    assert changes.keys() == {f"item {number}" for number in range(ITEMS)}
    for name, found in changes.items():
        number = int(name.partition(" ")[2])
        events = ["INSERT", "MODIFY", "REMOVE"] if number == 0 else ["INSERT", "MODIFY"]
        assert [one["eventName"] for one in found] == events
        images = [(one["dynamodb"].get("OldImage"), one["dynamodb"].get("NewImage")) for one in found]
        first, second = item(number, 1), item(number, 2)
        assert images == [(None, first), (first, second), (second, None)][: len(events)]
        times = [one["dynamodb"]["ApproximateCreationDateTime"] for one in found]
        assert times == sorted(times)
        for one in found:
            assert (one["awsRegion"], one["tableName"], one["eventSource"]) == (REGION, TABLE, "aws:dynamodb")
            assert one["dynamodb"]["ApproximateCreationDateTimePrecision"] == "MICROSECOND"


def test_a_data_stream_that_kinesis_has_not_fails_the_destination(kinesis: KinesisLocal) -> None:
    server = ServerProcess(None, "--kinesis-endpoint", kinesis.endpoint)
    tables = client("dynamodb", server.endpoint)
    try:
        tables.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        arn = kinesis.summary()["StreamARN"] + "-missing"
        tables.enable_kinesis_streaming_destination(TableName=TABLE, StreamArn=arn)

        def destination() -> dict[str, Any]:
            (found,) = tables.describe_kinesis_streaming_destination(TableName=TABLE)["KinesisDataStreamDestinations"]
            return dict(found)

        wait_until(lambda: destination()["DestinationStatus"] != "ENABLING")
        assert destination()["DestinationStatus"] == "ENABLE_FAILED"
        assert "permission" in destination()["DestinationStatusDescription"]
    finally:
        tables.close()
        server.stop()
