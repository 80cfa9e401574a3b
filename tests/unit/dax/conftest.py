"""A database with a DAX cluster, a table, and connections to both."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, dax_port=0)) as database:
        yield database


@pytest.fixture
def direct(database: Database) -> Any:
    """A client that asks DynamoDB, with the table `music`."""
    client = database.client(region_name="eu-west-1")
    client.create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "number", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "artist", "AttributeType": "S"},
            {"AttributeName": "number", "AttributeType": "N"},
            {"AttributeName": "genre", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "genres",
                "KeySchema": [{"AttributeName": "genre", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    return client


@pytest.fixture
def dax(database: Database, direct: Any) -> Iterator[DaxClient]:
    """A client of the cluster."""
    del direct
    assert database.dax_endpoint is not None
    with DaxClient(database.dax_endpoint) as client:
        yield client
