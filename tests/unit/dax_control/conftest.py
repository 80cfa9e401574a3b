"""A database that listens, and whose clusters change at once, with a client of DAX's API."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient

ROLE = "arn:aws:iam::000000000000:role/dax"
REGION = "eu-west-1"


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as database:
        assert database.endpoint
        yield database


@pytest.fixture
def dax(database: Database) -> Any:
    """A client of DAX's API."""
    return database.client("dax", region_name=REGION)


def create(dax: Any, name: str = "shop", nodes: int = 1, **members: Any) -> Any:
    """Create a cluster; returns it as it is then."""
    given = {"NodeType": "dax.t3.small", "IamRoleArn": ROLE} | members
    dax.create_cluster(ClusterName=name, ReplicationFactor=nodes, **given)
    return described(dax, name)


def described(dax: Any, name: str = "shop") -> Any:
    """A cluster as DescribeClusters shows it."""
    return dax.describe_clusters(ClusterNames=[name])["Clusters"][0]


def node_url(cluster: Any, number: int = 0) -> str:
    """Where a node of a described cluster listens."""
    endpoint = cluster["Nodes"][number]["Endpoint"]
    return f"dax://{endpoint['Address']}:{endpoint['Port']}"


def code_of(call: Any, **members: Any) -> str:
    """The code of the error that a call raises."""
    with pytest.raises(ClientError) as caught:
        call(**members)
    return str(caught.value.response["Error"]["Code"])


def messages(dax: Any, **members: Any) -> list[str]:
    """What has happened, oldest first."""
    return [event["Message"] for event in dax.describe_events(**members)["Events"]]


def make_table(database: Database, year: int = 1958) -> Any:
    """A table with one item, and the client that made it."""
    client = database.client(region_name=REGION)
    client.create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "year": {"N": str(year)}})
    return client


def year_at(url: str) -> int:
    """The year of Nina's item, as a node at this URL answers."""
    with DaxClient(url) as client:
        return int(client.item_of(client.call("getItem", b"music", b"Nina", None)[0])["year"])
