"""A server with one table, whose service the test can reach."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.support import signing
from tests.support.clocks import VirtualClock
from tests.support.servers import ThreadServer
from tests.support.stores import STORES

READ_UNITS = 1_000
ITEMS, ITEM_BYTES = 40, 8_000


def client_of(running: ThreadServer) -> Any:
    """A client, to be closed."""
    return boto3.client(
        "dynamodb",
        endpoint_url=running.endpoint,
        region_name=signing.REGION,
        aws_access_key_id=signing.ACCESS_KEY,
        aws_secret_access_key=signing.SECRET_KEY,
    )


def create_table(client: Any, name: str) -> None:
    """Make a table with the partition key `pk`."""
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": READ_UNITS, "WriteCapacityUnits": 10},
    )


@pytest.fixture
def running() -> Iterator[ThreadServer]:
    """A server with the table `orders`, of 40 items of 2 units each; its time stands still."""
    clock = VirtualClock(SystemClock().wall_time())
    running = ThreadServer(
        STORES["embedded"], ALL_OPERATIONS, clock, Settings(data_dir=None, port=0, throughput="enforced")
    )
    client = client_of(running)
    create_table(client, "orders")
    for number in range(ITEMS):
        text = "x" * (ITEM_BYTES - len(f"pktext{number}"))
        client.put_item(TableName="orders", Item={"pk": {"S": f"{number}"}, "text": {"S": text}})
    client.close()
    yield running
    running.stop()
