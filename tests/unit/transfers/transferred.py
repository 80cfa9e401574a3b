"""A database with an S3 in memory, whose tables can be exported and imported."""

import gzip
import json
from typing import Any

import msgspec
import pytest

from hashrange.operations.transfers import transfer_requests
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Recovery
from hashrange.testing.database import Database
from hashrange.transfers.feature import TRANSFERS
from tests.support.memory_objects import MemoryObjects
from tests.support.samples import finish
from tests.support.waiting import wait_until

BUCKET = "exports"
TABLE = "music"
ACCOUNT, REGION = "000000000000", "us-east-1"
ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{TABLE}"


def give_objects(database: Database, objects: MemoryObjects | None = None) -> MemoryObjects:
    """Let the database export and import, at once what it was killed or stopped in."""
    found = objects or MemoryObjects(BUCKET)
    features = database._process.service.features

    def give() -> None:
        features.part(TRANSFERS).s3 = lambda account: found
        features.runner.wake()

    database._process.run(give)
    return found


def need_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests for transfers be accepted although no setting names an S3."""
    monkeypatch.setattr(transfer_requests, "missing_s3", lambda settings: None)


def create(client: Any, name: str = TABLE, **members: Any) -> None:
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        **members,
    )


def opened(database: Database, name: str = TABLE) -> OpenTable:
    table = database._process.service.store.catalog.find(ACCOUNT, REGION, name)
    assert table is not None
    return table


def switch_on(database: Database, name: str = TABLE) -> None:
    """Switch point-in-time recovery of a table on."""
    schema = opened(database, name).schema
    service = database._process.service
    changed = msgspec.structs.replace(schema, recovery=Recovery(service.clock.service_time(), 35))
    assert finish(service.store.catalog.replace(schema, changed))


def ended(client: Any, arn: str) -> dict[str, Any]:
    """The description of an export once it has ended."""
    wait_until(lambda: client.describe_export(ExportArn=arn)["ExportDescription"]["ExportStatus"] != "IN_PROGRESS")
    described: dict[str, Any] = client.describe_export(ExportArn=arn)["ExportDescription"]
    return described


def exported(client: Any, **members: Any) -> dict[str, Any]:
    """The description of a new export once it has ended."""
    request = {"TableArn": ARN, "S3Bucket": BUCKET} | members
    begun = client.export_table_to_point_in_time(**request)["ExportDescription"]
    assert begun["ExportStatus"] == "IN_PROGRESS"
    return ended(client, begun["ExportArn"])


def lines_of(objects: MemoryObjects, description: dict[str, Any]) -> list[dict[str, Any]]:
    """All lines of an export's data files, as the manifest lists them."""
    bucket = objects[description["S3Bucket"]]
    summary = json.loads(bucket[description["ExportManifest"]])
    found = []
    for line in bucket[summary["manifestFilesS3Key"]].splitlines():
        found += gzip.decompress(bucket[json.loads(line)["dataFileS3Key"]]).splitlines()
    return [json.loads(line) for line in found]
