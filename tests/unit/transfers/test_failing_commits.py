"""A commit that fails, as on a full disk, whichever it is: what was refused leaves nothing, and what was accepted goes
on and ends as if nothing had been.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.errors import StorageError
from hashrange.operations.transfers.bulk_records import BULK_JOB
from hashrange.operations.transfers.export_records import EXPORT_JOB
from hashrange.operations.transfers.import_records import IMPORT_JOB
from hashrange.settings import Settings
from hashrange.store.embedded.commits import Commits
from hashrange.store.row_copies import row_copies_of
from hashrange.testing import Database, server
from hashrange.transfers import bulk_work, export_work, import_work, reading
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ARN, BUCKET, TABLE, create, lines_of, switch_on

COUNT = 12
COMMITS_MAX = 60
"""No work here has more commits."""
ITEMS = {str(number): {"id": {"S": str(number)}, "n": {"N": str(number)}} for number in range(COUNT)}
LINES = b"".join(json.dumps({"Item": item}).encode() + b"\n" for item in ITEMS.values())
Begin = Callable[[Any], str]


def begin_export(client: Any) -> str:
    return str(client.export_table_to_point_in_time(TableArn=ARN, S3Bucket=BUCKET)["ExportDescription"]["ExportArn"])


def begin_import(client: Any) -> str:
    described = client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters={
            "TableName": "copy",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )["ImportTableDescription"]
    return str(described["ImportArn"])


def begin_bulk_put(client: Any) -> str:
    begun = client.start_bulk_put_items(
        TableName=TABLE,
        InputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": BUCKET, "S3KeyPrefix": "reports", "OutputType": ["ERROR"]},
    )
    return str(begun["BulkOperationDescription"]["BulkOperationArn"])


def status(client: Any, arn: str) -> str:
    """How an export, import or bulk put is."""
    if "/export/" in arn:
        return str(client.describe_export(ExportArn=arn)["ExportDescription"]["ExportStatus"])
    if "/import/" in arn:
        return str(client.describe_import(ImportArn=arn)["ImportTableDescription"]["ImportStatus"])
    return str(client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]["BulkOperationStatus"])


class FailingCommits:
    """Lets one commit fail, behind this many."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.has_failed = False

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Commits fail so."""
        commit = Commits._commit

        def counted(commits: Commits, make: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                self.has_failed = True
                raise StorageError("the disk is full")
            return commit(commits, make)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Commits, "_commit", counted)
            yield


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that has several commits."""
    monkeypatch.setattr(export_work, "READ_BYTES", 150)
    monkeypatch.setattr(export_work, "FILE_BYTES", 250)
    monkeypatch.setattr(import_work, "BATCH_ITEMS", 3)
    monkeypatch.setattr(bulk_work, "BATCH_ITEMS", 3)
    monkeypatch.setattr(reading, "WRITES_BETWEEN_PLACES", 2)


def work(database: Database, client: Any, begin: Begin, commits: int) -> tuple[bool, str]:
    """Whether a commit has failed, and the ARN of what has ended well."""
    failing, runner = FailingCommits(commits), database._process.service.features.runner
    with failing.patched():
        try:
            arn = begin(client)
        except ClientError as refused:
            assert refused.response["Error"]["Code"] == "InternalServerError"
            arn = ""

        def has_ended() -> bool:
            if failing.has_failed:  # so that nobody waits for the next try
                database._process.run(lambda: runner.wake_jobs(EXPORT_JOB, IMPORT_JOB, BULK_JOB))
            return status(client, arn) != "IN_PROGRESS"

        if arn:
            wait_until(has_ended)
    arn = arn or begin(client)
    wait_until(lambda: status(client, arn) != "IN_PROGRESS")
    assert status(client, arn) == "COMPLETED"
    return failing.has_failed, arn


def items_of(client: Any, name: str) -> dict[str, Any]:
    """All items of a table by their ids."""
    return {item["id"]["S"]: item for item in client.scan(TableName=name)["Items"]}


def require_nothing_half_made(database: Database, client: Any) -> None:
    """No copy of rows and no table is left that nobody asks for."""
    store = database._process.service.store
    wait_until(lambda: not row_copies_of(store).owners() and not store.catalog.importing())


def objects_in(folder: Path) -> MemoryObjects:
    """The objects of a bucket's folder."""
    found = MemoryObjects(BUCKET)
    files = [path for path in folder.rglob("*") if path.is_file()]
    found[BUCKET].update({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
    return found


@pytest.mark.parametrize("begin", [begin_export, begin_import, begin_bulk_put])
def test_a_commit_that_fails(begin: Begin, tmp_path: Path) -> None:
    bucket = tmp_path / BUCKET
    (bucket / "in").mkdir(parents=True)
    (bucket / "in" / "1").write_bytes(LINES)
    for commits in range(COMMITS_MAX):
        with server(Settings(data_dir=None, port=0, s3_folder=str(tmp_path))) as database:
            client: Any = database.client()
            create(client)
            if begin is begin_export:
                switch_on(database)
                for item in ITEMS.values():
                    client.put_item(TableName=TABLE, Item=item)
            has_failed, arn = work(database, client, begin, commits)
            assert items_of(client, "copy" if begin is begin_import else TABLE) == ITEMS
            if begin is begin_export:
                told = client.describe_export(ExportArn=arn)["ExportDescription"]
                assert {one["Item"]["id"]["S"] for one in lines_of(objects_in(bucket), told)} == set(ITEMS)
                assert told["ItemCount"] == COUNT
            require_nothing_half_made(database, client)
        if not has_failed:
            assert commits > 2
            return
    raise AssertionError("it has more commits")
