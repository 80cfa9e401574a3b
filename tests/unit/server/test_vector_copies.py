"""Vector indexes in copies of a database, of a table and of a data folder: each holds the entries, and a search of it
finds what a search of the original finds.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, main
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.conformance.vectors import search_schema, vector, vector_index
from tests.support.waiting import wait_until

Printed = pytest.CaptureFixture[str]
BUCKET = "exports"
INDEXES = [
    vector_index("all"),
    vector_index("of-tenant", DistanceFunction="EUCLIDEAN", SearchSchema=search_schema("tenant")),
]
DEFINED = [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "tenant")]
KEY = [{"AttributeName": "id", "KeyType": "HASH"}]
CREATION: dict[str, Any] = {
    "AttributeDefinitions": DEFINED,
    "KeySchema": KEY,
    "BillingMode": "PAY_PER_REQUEST",
    "VectorIndexes": INDEXES,
}
ITEMS = 12
"""Items with a vector; those with an odd number have a tenant. One more item has no vector."""
ENTRIES = {"all": 12, "of-tenant": 6}


@pytest.fixture(params=["memory", "disk"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database whose table has two vector indexes and items."""
    (tmp_path / "s3" / BUCKET).mkdir(parents=True)
    folder = None if request.param == "memory" else str(tmp_path / "data")
    with server(Settings(data_dir=folder, port=0, admin=True, s3_folder=str(tmp_path / "s3"))) as database:
        fill(database.client())
        yield database


def fill(client: Any) -> None:
    client.create_table(TableName="documents", **CREATION)
    for number in range(ITEMS):
        put(client, number)
    client.put_item(TableName="documents", Item={"id": {"S": "none"}, "tenant": {"S": "t"}})


def put(client: Any, number: int, name: str = "documents") -> None:
    item = {"id": {"S": f"d{number}"}, "embedding": vector(number + 1, 0.5, 1), "text": {"S": f"text {number}"}}
    client.put_item(TableName=name, Item=item | ({"tenant": {"S": "t"}} if number % 2 else {}))


def found(client: Any, name: str = "documents") -> dict[str, list[tuple[str, float]]]:
    """Index → ids and scores that a search of it finds; fails if the index has another number of entries."""
    wanted = {"TableName": name, "SearchVector": vector(1, 0.5, 1)["L"], "TopK": 100}
    tenant = {"SearchConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"S": "t"}}}
    results = {
        "all": client.search_vectors(IndexName="all", **wanted)["SearchResults"],
        "of-tenant": client.search_vectors(IndexName="of-tenant", **wanted, **tenant)["SearchResults"],
    }
    described = client.describe_table(TableName=name)["Table"]["VectorIndexes"]
    assert {one["IndexName"]: one["ItemCount"] for one in described} == {one: len(results[one]) for one in results}
    return {name: [(one["Item"]["id"]["S"], one["Score"]) for one in of_index] for name, of_index in results.items()}


def size_of(client: Any, name: str = "documents") -> int:
    """TableSizeBytes, which counts vectors that indexes hold by their dimensions."""
    return int(client.describe_table(TableName=name)["Table"]["TableSizeBytes"])


def is_followed(client: Any, name: str = "documents") -> bool:
    """True if the indexes of a copy follow further writes."""
    put(client, 101, name)
    client.delete_item(TableName=name, Key={"id": {"S": "d1"}})
    after = found(client, name)
    return all("d101" in ids and "d1" not in ids for ids in ([key for key, _ in one] for one in after.values()))


def test_what_a_search_finds(database: Database) -> None:
    client = database.client()
    results = found(client)
    assert {name: len(of_index) for name, of_index in results.items()} == ENTRIES
    assert results["all"][0] == ("d0", 0.0)
    assert [key for key, _ in results["of-tenant"]] == [f"d{number}" for number in range(1, ITEMS, 2)]
    assert is_followed(client)


def test_forks(database: Database) -> None:
    client = database.client()
    before = found(client)
    with database.fork() as fork:
        of_fork = fork.client()
        assert found(of_fork) == before
        assert is_followed(of_fork)
        assert found(client) == before


def test_a_reset_and_a_restored_snapshot(database: Database, tmp_path: Path) -> None:
    client = database.client()
    before = found(client)
    snapshot = database.snapshot()
    snapshot.save(tmp_path / "saved")
    put(client, 100)
    assert found(client) != before
    database.restore(snapshot)
    assert found(client) == before
    assert is_followed(client)
    database.reset()
    assert client.list_tables()["TableNames"] == []
    fill(client)
    assert found(client) == before
    with server(Settings(data_dir=None, port=0, snapshot=str(tmp_path / "saved"))) as other:
        assert found(other.client()) == before
        assert is_followed(other.client())


def test_restored_tables(database: Database) -> None:
    client = database.client()
    on = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="documents", PointInTimeRecoverySpecification=on)
    before = found(client)
    arn = client.create_backup(TableName="documents", BackupName="nightly")["BackupDetails"]["BackupArn"]
    database.clock.advance(10)
    client.restore_table_from_backup(TargetTableName="of-backup", BackupArn=arn)
    client.restore_table_to_point_in_time(
        SourceTableName="documents", TargetTableName="of-moment", UseLatestRestorableTime=True
    )
    for name in ("of-backup", "of-moment"):
        client.get_waiter("table_exists").wait(TableName=name)
        assert found(client, name) == before
        assert size_of(client, name) == size_of(client)
        assert is_followed(client, name)
    assert found(client) == before


def test_exported_and_imported_tables(database: Database) -> None:
    client = database.client()
    on = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="documents", PointInTimeRecoverySpecification=on)
    database.clock.advance(10)
    table_arn = client.describe_table(TableName="documents")["Table"]["TableArn"]
    begun = client.export_table_to_point_in_time(TableArn=table_arn, S3Bucket=BUCKET)["ExportDescription"]
    arn = begun["ExportArn"]
    wait_until(lambda: client.describe_export(ExportArn=arn)["ExportDescription"]["ExportStatus"] == "COMPLETED")
    prefix = client.describe_export(ExportArn=arn)["ExportDescription"]["ExportManifest"].rpartition("/")[0]
    imported = client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": f"{prefix}/data/"},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters={"TableName": "imported", **CREATION},
    )["ImportTableDescription"]
    arn = imported["ImportArn"]
    wait_until(lambda: client.describe_import(ImportArn=arn)["ImportTableDescription"]["ImportStatus"] == "COMPLETED")
    assert found(client, "imported") == found(client)
    assert size_of(client, "imported") == size_of(client)
    assert is_followed(client, "imported")


def test_commands_over_data_folders(tmp_path: Path, capsys: Printed) -> None:
    data_dir, copies, restored = [str(tmp_path / name) for name in ("data", "copies", "restored")]
    with server(Settings(data_dir=data_dir, port=0, admin=True)) as database:
        fill(database.client())
        before, size = found(database.client()), size_of(database.client())
        assert main(["backup", database.endpoint, copies]) == DONE
        assert is_followed(database.client())
    assert main(["restore", copies, restored]) == DONE
    capsys.readouterr()
    rows = 1 + ITEMS + sum(ENTRIES.values())
    for command in ("check", "inspect"):
        assert main([command, restored]) == DONE
        told = capsys.readouterr().out
        assert re.search(rf"\b{rows} rows\b", told), told
    with server(Settings(data_dir=restored, port=0)) as database:
        assert found(database.client()) == before
        assert size_of(database.client()) == size
        assert is_followed(database.client())
    for folder in (data_dir, restored):
        assert main(["check", folder]) == DONE
