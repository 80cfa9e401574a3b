"""How a test's database is reached and watched: on a port, from asyncio, by its clients' settings;
and the capacity that it counts.
"""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing.database import CREDENTIALS, Database, server
from tests.support.raw_client import RawClient
from tests.unit.testing.music import create


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as database:
        yield database


def test_other_programs_reach_it_on_a_port(database: Database) -> None:
    endpoint = database.endpoint
    assert endpoint.startswith("http://127.0.0.1:")
    assert database.endpoint == endpoint
    create(database.client())
    outside = boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)
    outside.put_item(TableName="music", Item={"pk": {"S": "a"}})
    assert database.client().get_item(TableName="music", Key={"pk": {"S": "a"}})["Item"] == {"pk": {"S": "a"}}
    database.reset()
    assert outside.list_tables()["TableNames"] == []
    with database.fork() as fork:
        assert fork.endpoint != endpoint
        create(fork.client())
        assert outside.list_tables()["TableNames"] == []
    port = int(endpoint.rpartition(":")[2])
    client = RawClient("127.0.0.1", port)
    client("ListTables", {})
    database.close()
    with pytest.raises(ConnectionError):
        RawClient("127.0.0.1", port)("ListTables", {})


def test_a_chosen_port_and_the_admin_api(database: Database) -> None:
    port = int(database.endpoint.rpartition(":")[2])
    database.close()
    with server(Settings(data_dir=None, admin=True), port=port) as other:
        assert other.endpoint == f"http://127.0.0.1:{port}"
        client = RawClient("127.0.0.1", port)
        create(other.client())
        assert client.send("POST", "/_hashrange/v1/reset", {}, b"").status == 200
        assert other.client().list_tables()["TableNames"] == []


def test_a_profile_that_is_not_configured_does_not_matter(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[default]\nmax_attempts = 7\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "elsewhere")
    client = database.client()
    assert client.list_tables()["TableNames"] == []
    assert client.meta.config.retries["total_max_attempts"] == 7
    assert list(database.resource().tables.all()) == []


def test_it_starts_and_ends_within_asyncio() -> None:
    async def use() -> list[str]:
        async with server() as database:
            create(database.client())
            return list(database.client().list_tables()["TableNames"])

    assert asyncio.run(use()) == ["music"]


def test_capacity_is_counted_by_table_and_index(database: Database) -> None:
    client = database.client()
    create(
        client,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "by")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_by",
                "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    with database.capacity() as used:
        told = client.put_item(
            TableName="music",
            Item={"pk": {"S": "a"}, "by": {"S": "b"}, "text": {"S": "x" * 2000}},
            ReturnConsumedCapacity="TOTAL",
        )["ConsumedCapacity"]
        client.get_item(TableName="music", Key={"pk": {"S": "a"}})
        with database.capacity() as inner:
            client.get_item(TableName="music", Key={"pk": {"S": "a"}}, ConsistentRead=True)
            client.query(
                TableName="music",
                IndexName="by_by",
                KeyConditionExpression="#by = :b",
                ExpressionAttributeNames={"#by": "by"},
                ExpressionAttributeValues={":b": {"S": "b"}},
            )
        with pytest.raises(ClientError):
            client.put_item(TableName="music", Item={"pk": {"S": "a"}}, ConditionExpression="attribute_not_exists(pk)")
    client.get_item(TableName="music", Key={"pk": {"S": "a"}})
    assert (inner.read, inner.write) == (1.5, 0)
    assert (used.read, used.write) == (2.0, told["CapacityUnits"] + 2)
    assert used.tables["music"].write == used.write
    assert (used.indexes["music", "by_by"].read, used.indexes["music", "by_by"].write) == (0.5, 2)
    assert repr(used.tables["other"]) == "Units(read=0, write=0)"
    assert not {"_succeed", "_refuse"} & set(vars(database._process.service))


def test_batches_and_transactions_are_counted_too(database: Database) -> None:
    client = database.client()
    create(client)
    puts = [{"Put": {"TableName": "music", "Item": {"pk": {"S": key}}}} for key in "ab"]
    with database.capacity() as used:
        client.transact_write_items(TransactItems=puts)
        client.batch_get_item(RequestItems={"music": {"Keys": [{"pk": {"S": key}} for key in "ab"]}})
        client.execute_statement(Statement="SELECT * FROM music WHERE pk = 'a'")
    assert (used.read, used.write) == (1.5, 4)


def test_requests_signed_in_frozen_time_are_answered(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that freeze time replace the functions that botocore and the in-process database ask for it."""
    frozen = datetime(2031, 5, 5, tzinfo=UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: frozen.replace(tzinfo=None))
    monkeypatch.setattr(time, "time", frozen.timestamp)
    assert database.client().list_tables()["TableNames"] == []
    assert database.clock.now() < frozen.timestamp()


def test_clients_of_many_threads_are_made_one_after_the_other(database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(lambda _: database.client(), range(16)))
    assert {tuple(client.list_tables()["TableNames"]) for client in clients} == {()}
