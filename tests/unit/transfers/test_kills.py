"""A server that is killed in the middle of a transfer, and one that goes on with its folder."""

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.store.embedded.check import check_store
from hashrange.store.row_copies import row_copies_of
from hashrange.testing import Database, server
from hashrange.transfers import export_work, import_work, reading
from tests.support.kills import copy_as_killed
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ARN, BUCKET, TABLE, create, ended, give_objects, lines_of, switch_on

COUNT = 120


@pytest.fixture
def objects() -> MemoryObjects:
    return MemoryObjects(BUCKET)


@pytest.fixture
def database(tmp_path: Path, objects: MemoryObjects) -> Iterator[Database]:
    with server(Settings(data_dir=str(tmp_path / "first"), port=0)) as opened:
        give_objects(opened, objects)
        yield opened


def faults_in(folder: Path) -> list[str]:
    """The faults of a store, except that recovery keeps changes that no stream shows."""
    return [fault for fault in check_store(str(folder)).faults if "belongs to no shard of a stream" not in fault]


@contextmanager
def killed(first: Path, objects: MemoryObjects) -> Iterator[Any]:
    """A client of a server that goes on as the first one would, if it were killed now."""
    second = first.with_name("second")
    copy_as_killed(first, second)
    assert faults_in(second) == []
    with ExitStack() as stack:
        database = stack.enter_context(server(Settings(data_dir=str(second), port=0)))
        give_objects(database, objects)
        yield database.client()
    assert faults_in(second) == []


def another(objects: MemoryObjects) -> MemoryObjects:
    """The same buckets, without what a killed server is waiting for."""
    same = MemoryObjects(BUCKET)
    same.buckets = {name: dict(content) for name, content in objects.buckets.items()}
    return same


@pytest.mark.parametrize(
    ("part", "after"), [("_started", 0), ("/data/", 0), ("/data/", 3), ("manifest", 1), ("summary.json", 0)]
)
def test_an_export_goes_on(
    database: Database,
    objects: MemoryObjects,
    tmp_path: Path,
    part: str,
    after: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export_work, "READ_BYTES", 300)
    monkeypatch.setattr(export_work, "FILE_BYTES", 1000)
    client = database.client()
    create(client)
    switch_on(database)
    for number in range(COUNT):
        client.put_item(TableName=TABLE, Item={"id": {"S": str(number)}, "v": {"N": "1"}})
    objects.hold(part, after)
    arn = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    wait_until(lambda: objects.holds_some)
    for number in range(COUNT + 20):
        client.put_item(TableName=TABLE, Item={"id": {"S": str(number)}, "v": {"N": "2"}})
    with killed(tmp_path / "first", same := another(objects)) as later:
        told = ended(later, arn)
        assert (told["ExportStatus"], told["ItemCount"]) == ("COMPLETED", COUNT)
        lines = lines_of(same, told)
        assert sorted(int(line["Item"]["id"]["S"]) for line in lines) == list(range(COUNT))
        assert {line["Item"]["v"]["N"] for line in lines} == {"1"}
        listed = same[BUCKET][told["ExportManifest"].replace("summary", "files")]
        data_keys = {json.loads(line)["dataFileS3Key"] for line in listed.splitlines()}
        assert {key for key in same[BUCKET] if "/data/" in key} == data_keys
        assert later.scan(TableName=TABLE, Select="COUNT")["Count"] == COUNT + 20


def import_request(name: str = TABLE) -> dict[str, Any]:
    return {
        "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {
            "TableName": name,
            "AttributeDefinitions": [
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "n", "AttributeType": "N"},
            ],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-n",
                    "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    }


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_import_goes_on(
    database: Database, objects: MemoryObjects, tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_work, "BATCH_ITEMS", 4)
    monkeypatch.setattr(reading, "WRITES_BETWEEN_PLACES", 3)
    objects.chunk_bytes = 500
    for number in range(3):
        items = ({"id": {"S": str(one)}, "n": {"N": str(number)}} for one in range(20 * number, 20 * number + 40))
        objects[BUCKET][f"in/{number}"] = b"".join(json.dumps({"Item": item}).encode() + b"\n" for item in items)
    objects.hold("in/", after)
    arn = database.client().import_table(**import_request())["ImportTableDescription"]["ImportArn"]
    wait_until(lambda: objects.holds_some)
    with killed(tmp_path / "first", another(objects)) as later:
        wait_until(
            lambda: later.describe_import(ImportArn=arn)["ImportTableDescription"]["ImportStatus"] != "IN_PROGRESS"
        )
        told = later.describe_import(ImportArn=arn)["ImportTableDescription"]
        assert (told["ImportStatus"], told["ImportedItemCount"]) == ("COMPLETED", COUNT)
        found = {item["id"]["S"]: item["n"]["N"] for item in later.scan(TableName=TABLE)["Items"]}
        assert found == {str(one): str(min(one // 20, 2)) for one in range(80)}
        entries = {item["id"]["S"]: item["n"]["N"] for item in later.scan(TableName=TABLE, IndexName="by-n")["Items"]}
        assert entries == found
        assert later.describe_table(TableName=TABLE)["Table"]["ItemCount"] == 80


def test_a_bulk_put_that_has_failed_writes_its_reports(
    database: Database, objects: MemoryObjects, tmp_path: Path
) -> None:
    create(database.client())
    objects[BUCKET].update({"in/1": b'{"Item":{}}\n', "in/2": b""})
    objects.lost.add("in/2")
    objects.hold("/error/")
    begun = database.client().start_bulk_put_items(
        TableName=TABLE,
        InputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": BUCKET, "OutputType": ["ERROR"]},
    )
    arn = begun["BulkOperationDescription"]["BulkOperationArn"]
    wait_until(lambda: objects.holds_some)
    with killed(tmp_path / "first", same := another(objects)) as later:

        def described() -> Any:
            return later.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]

        wait_until(lambda: described()["BulkOperationStatus"] != "IN_PROGRESS")
        assert (described()["FailureCode"], described()["ProcessedItemCount"]) == ("S3NoSuchKey", 1)
        (report,) = [content for key, content in same[BUCKET].items() if "/error/" in key]
        assert len(gzip.decompress(report).splitlines()) == 1


def test_a_reset_in_the_middle_ends_all(database: Database, objects: MemoryObjects) -> None:
    client = database.client()
    create(client)
    switch_on(database)
    client.put_item(TableName=TABLE, Item={"id": {"S": "1"}})
    objects[BUCKET]["in/1"] = b'{"Item":{"id":{"S":"1"}}}\n'
    objects.hold("/")
    client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)
    client.import_table(**import_request("other"))
    wait_until(lambda: objects.held == 2)
    database.reset()
    store = database._process.service.store
    wait_until(lambda: not store.catalog.importing() and not row_copies_of(store).owners())
    assert client.list_exports()["ExportSummaries"] == client.list_imports()["ImportSummaryList"] == []
    objects.release()
    create(client)
    switch_on(database)
    told = ended(
        client, client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    )
    assert told["ItemCount"] == 0


def test_a_stop_in_the_middle_leaves_no_task(database: Database, objects: MemoryObjects, tmp_path: Path) -> None:
    client = database.client()
    create(client)
    switch_on(database)
    client.put_item(TableName=TABLE, Item={"id": {"S": "1"}})
    objects.hold("/data/")
    arn = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"]
    wait_until(lambda: objects.holds_some)
    database.close()
    with server(Settings(data_dir=str(tmp_path / "first"), port=0)) as again:
        give_objects(again, another(objects))
        assert ended(again.client(), arn)["ItemCount"] == 1
