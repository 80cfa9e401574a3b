"""Nothing of a transfer stays in memory when it has ended: reference counts free it, for the garbage collector of a
server passes over it while clients are connected.
"""

import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.testing.database import Database
from hashrange.transfers.bulk_work import BulkWork
from hashrange.transfers.export_work import ExportWork
from hashrange.transfers.import_work import ImportWork
from hashrange.transfers.reading import ObjectsReading
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers import test_bulk_puts, test_imports
from tests.unit.transfers.transferred import BUCKET, TABLE, create, exported, switch_on

WORK = (ImportWork, ExportWork, BulkWork, ObjectsReading)


@pytest.fixture
def nothing_is_collected() -> Iterator[None]:
    """What is garbage in a cycle stays."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def work_left() -> list[type]:
    return [type(one) for one in gc.get_objects() if isinstance(one, WORK)]


def put_in_bulk(client: Any, bucket: str) -> str:
    members = test_bulk_puts.request()["InputS3Configuration"] | {"S3Bucket": bucket}
    arn = test_bulk_puts.begun(client, InputS3Configuration=members)
    return str(test_bulk_puts.ended(client, arn)["BulkOperationStatus"])


def import_table(client: Any, bucket: str) -> str:
    members = {"S3BucketSource": {"S3Bucket": bucket, "S3KeyPrefix": "in/"}}
    return str(test_imports.imported(client, test_imports.creation("imported"), **members)["ImportStatus"])


def export_table(client: Any, bucket: str) -> str:
    return str(exported(client, S3Bucket=bucket)["ExportStatus"])


@pytest.mark.usefixtures("nothing_is_collected")
@pytest.mark.parametrize("transfer", [import_table, export_table, put_in_bulk])
@pytest.mark.parametrize(("bucket", "status"), [(BUCKET, "COMPLETED"), ("a-missing-bucket", "FAILED")])
def test_nothing_is_left(
    client: Any,
    database: Database,
    objects: MemoryObjects,
    transfer: Callable[[Any, str], str],
    bucket: str,
    status: str,
) -> None:
    create(client)
    switch_on(database)
    client.put_item(TableName=TABLE, Item={"id": {"S": "a"}})
    lines = [{"Item": {"id": {"S": str(number)}}} for number in range(300)]
    objects[BUCKET]["in/a"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert transfer(client, bucket) == status
    wait_until(lambda: not work_left())
