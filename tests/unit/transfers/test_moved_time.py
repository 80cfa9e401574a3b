"""Who moves service time waits for transfers, as far as S3 answers; and what stops lets the S3 go."""

import json
from typing import Any

import pytest

from hashrange.s3.endpoint import S3Endpoint
from hashrange.settings import Settings
from hashrange.store.row_copies import row_copies_of
from hashrange.testing import server
from hashrange.testing.database import Database
from hashrange.transfers import flows
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ARN, BUCKET, TABLE, create, switch_on


@pytest.fixture
def exporting(database: Database, client: Any) -> Database:
    """A database with a table that can be exported."""
    create(client)
    switch_on(database)
    client.put_item(TableName=TABLE, Item={"id": {"S": "1"}})
    return database


def export_status(client: Any) -> str:
    (summary,) = client.list_exports()["ExportSummaries"]
    return str(summary["ExportStatus"])


def test_an_advance_waits_for_exports_and_imports(exporting: Database, client: Any, objects: MemoryObjects) -> None:
    for number in range(30):
        objects[BUCKET][f"in/{number}"] = json.dumps({"Item": {"id": {"S": str(number)}}}).encode()
    client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)
    imported = client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters={
            "TableName": "copy",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )["ImportTableDescription"]["ImportArn"]
    exporting.clock.advance(0)
    assert export_status(client) == "COMPLETED"
    assert client.describe_import(ImportArn=imported)["ImportTableDescription"]["ImportStatus"] == "COMPLETED"


def test_an_advance_does_not_wait_for_a_silent_s3(
    exporting: Database, client: Any, objects: MemoryObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "SILENT_SECONDS_MAX", 0.01)
    objects.hold("/data/")
    client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)
    wait_until(lambda: objects.holds_some)
    exporting.clock.advance(1)
    assert export_status(client) == "IN_PROGRESS"
    objects.release()
    wait_until(lambda: export_status(client) == "COMPLETED")


def test_the_end_of_a_server_closes_its_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[S3Endpoint] = []
    close = S3Endpoint.close

    async def noting(endpoint: S3Endpoint) -> None:
        closed.append(endpoint)
        await close(endpoint)

    monkeypatch.setattr(S3Endpoint, "close", noting)
    with server(Settings(data_dir=None, port=0, s3_endpoint="http://127.0.0.1:9")) as database:
        create(database.client())
        switch_on(database)
        database.client().export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)
        wait_until(lambda: "export" in str(row_copies_of(database._process.service.store).owners()))
        assert not closed
    assert len(closed) == 1
