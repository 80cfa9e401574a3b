"""Backups, restores, exports, imports and bulk puts on a file system that is really full: each is refused, fails, or
waits for room; requests go on being answered; nothing is half made; and with room again all that was accepted ends
whole, and what was refused succeeds.
"""

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hashrange.store.embedded.check import check_store
from tests.crash.small_disks import fill, give_room
from tests.crash.test_server_kills import ServerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

BUCKET = "exports"
REPORTS = {"S3Bucket": BUCKET, "S3KeyPrefix": "reports", "OutputType": ["ERROR"]}
LEFT_BYTES = 300_000
"""Room for what is begun, and for some of the rows that it copies."""
KINDS = ("backup", "restore", "recovery", "export", "import", "bulk")
COUNT, TEXT_BYTES = 30, 20_000
DEFINITION = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
RANDOM = Random(3)
ITEMS = {str(number): RANDOM.randbytes(TEXT_BYTES // 2).hex() for number in range(COUNT)}
"""Key → text, which no compression makes shorter than half."""


class Application:
    """Asks a server, and keeps what it has been told is in progress."""

    def __init__(self, call: RawClient) -> None:
        self.call = call
        self.accepted: dict[str, str] = {}
        """What is in progress → its ARN, or the name of its table."""

    def ask(self, operation: str, **members: Any) -> Any:
        """The reply, which must be 200."""
        reply = self.call(operation, members)
        assert reply.status == 200, (operation, reply.body)
        return reply.json()

    def make(self, table: str) -> None:
        """Make a table with all items and recovery."""
        self.ask("CreateTable", TableName=table, **DEFINITION)
        recovery = {"PointInTimeRecoveryEnabled": True}
        self.ask("UpdateContinuousBackups", TableName=table, PointInTimeRecoverySpecification=recovery)
        for key, text in ITEMS.items():
            self.ask("PutItem", TableName=table, Item={"pk": {"S": key}, "text": {"S": text}})

    def items(self, table: str) -> dict[str, str]:
        """Key → text of all items of a table."""
        found: dict[str, str] = {}
        request: dict[str, Any] = {"TableName": table}
        while True:
            page = self.ask("Scan", **request)
            found |= {item["pk"]["S"]: item["text"]["S"] for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    # --- what is begun --------------------------------------------------------------------------

    def begin(self, what: str, round_: str, backup: str, data: str) -> None:
        """Attempt one thing that copies rows. `backup`: an ARN; `data`: the prefix of an export's data files."""
        source = {"S3Bucket": BUCKET, "S3KeyPrefix": data}
        lines = {"InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP"}
        target = f"{what}-{round_}"
        requests: dict[str, tuple[str, dict[str, Any], Callable[[Any], Any]]] = {
            "backup": (
                "CreateBackup",
                {"TableName": "orders", "BackupName": target},
                lambda reply: reply["BackupDetails"]["BackupArn"],
            ),
            "restore": (
                "RestoreTableFromBackup",
                {"TargetTableName": target, "BackupArn": backup},
                lambda reply: reply["TableDescription"]["TableName"],
            ),
            "recovery": (
                "RestoreTableToPointInTime",
                {"SourceTableName": "orders", "TargetTableName": target, "UseLatestRestorableTime": True},
                lambda reply: reply["TableDescription"]["TableName"],
            ),
            "export": (
                "ExportTableToPointInTime",
                {"TableArn": self.table_arn(), "S3Bucket": BUCKET, "S3Prefix": target},
                lambda reply: reply["ExportDescription"]["ExportArn"],
            ),
            "import": (
                "ImportTable",
                {"S3BucketSource": source, **lines, "TableCreationParameters": {"TableName": target, **DEFINITION}},
                lambda reply: reply["ImportTableDescription"]["ImportArn"],
            ),
            "bulk": (
                "StartBulkPutItems",
                {"TableName": "puts", "InputS3Configuration": source | lines, "OutputS3Configuration": REPORTS},
                lambda reply: reply["BulkOperationDescription"]["BulkOperationArn"],
            ),
        }
        operation, members, arn_of = requests[what]
        reply = self.call(operation, members)
        assert reply.status in {200, 500}, (operation, reply.body)
        if reply.status == 200:
            self.accepted[f"{what} {round_}"] = arn_of(reply.json())
        else:
            assert reply.json()["message"], operation

    def table_arn(self) -> str:
        """The ARN of the table of orders."""
        return str(self.ask("DescribeTable", TableName="orders")["Table"]["TableArn"])

    def status(self, what: str) -> str:
        """The status of what was accepted."""
        arn = self.accepted[what]
        match what.partition(" ")[0]:
            case "backup":
                described = self.ask("DescribeBackup", BackupArn=arn)["BackupDescription"]
                return str(described["BackupDetails"]["BackupStatus"])
            case "export":
                return str(self.ask("DescribeExport", ExportArn=arn)["ExportDescription"]["ExportStatus"])
            case "import":
                return str(self.ask("DescribeImport", ImportArn=arn)["ImportTableDescription"]["ImportStatus"])
            case "bulk":
                described = self.ask("DescribeBulkOperation", BulkOperationArn=arn)["BulkOperationDescription"]
                return str(described["BulkOperationStatus"])
            case _:
                return str(self.ask("DescribeTable", TableName=arn)["Table"]["TableStatus"])

    def has_ended(self, what: str) -> bool:
        """True unless it is in progress."""
        return self.status(what) not in {"CREATING", "IN_PROGRESS"}

    def wait_for_all(self) -> dict[str, str]:
        """How all that was accepted has ended."""
        for what in self.accepted:
            wait_until(lambda what=what: self.has_ended(what))  # type: ignore[misc] # its default is the loop's value
        return {what: self.status(what) for what in self.accepted}


def exported(application: Application) -> str:
    """The prefix of the data files of an export that is whole."""
    asked = {"TableArn": application.table_arn(), "S3Bucket": BUCKET}
    begun = application.ask("ExportTableToPointInTime", **asked)["ExportDescription"]
    application.accepted["export"] = begun["ExportArn"]
    assert application.wait_for_all()["export"] == "COMPLETED"
    told = application.ask("DescribeExport", ExportArn=begun["ExportArn"])["ExportDescription"]
    return str(told["ExportManifest"]).replace("manifest-summary.json", "data/")


def faults_in(folder: Path) -> list[str]:
    """The faults of a store, except that recovery keeps changes that no stream shows."""
    return [fault for fault in check_store(str(folder)).faults if "belongs to no shard of a stream" not in fault]


@pytest.fixture
def served() -> Iterator[list[ServerProcess]]:
    """The servers of a test, which are killed if they have not ended."""
    servers: list[ServerProcess] = []
    yield servers
    for server in servers:
        if server.process.poll() is None:
            server.kill()


def test_the_data_folder_is_full(mount: Path, tmp_path: Path, served: list[ServerProcess]) -> None:
    """In each round there is room for the beginning of what is begun first, and soon for nothing."""
    give_room(mount)
    (tmp_path / "s3" / BUCKET).mkdir(parents=True)
    server = ServerProcess(mount / "data", "--s3-folder", str(tmp_path / "s3"))
    served.append(server)
    application = Application(server.call)
    application.make("orders")
    application.ask("CreateTable", TableName="puts", **DEFINITION)
    backup = application.ask("CreateBackup", TableName="orders", BackupName="first")["BackupDetails"]["BackupArn"]
    data = exported(application)

    def is_full() -> bool:
        fill(mount, 0)  # again, because a store that is reopened may give room back
        return not put()

    def put() -> bool:
        item = {"pk": {"S": "more"}, "text": {"S": RANDOM.randbytes(20_000).hex()}}
        return server.call("PutItem", {"TableName": "puts", "Item": item}).status == 200

    for first in (0, 2, 4):
        fill(mount, LEFT_BYTES)
        for what in KINDS[first:] + KINDS[:first]:
            application.begin(what, f"full-{first}", backup, data)
        wait_until(is_full)
        assert application.items("orders") == ITEMS
        give_room(mount)
        wait_until(put)
        application.wait_for_all()
    for what in KINDS:
        application.begin(what, "roomy", backup, data)
    ends = application.wait_for_all()
    assert set(ends.values()) <= {"AVAILABLE", "ACTIVE", "COMPLETED"}
    assert len([what for what in ends if "roomy" in what]) == len(KINDS)
    require_whole(application)
    server.stop()
    assert faults_in(mount / "data") == []


def require_whole(application: Application) -> None:
    """All tables and backups there are have all items."""
    for number, summary in enumerate(application.ask("ListBackups", TableName="orders")["BackupSummaries"]):
        application.ask("RestoreTableFromBackup", TargetTableName=f"last-{number}", BackupArn=summary["BackupArn"])
        application.accepted[f"restore {number}"] = f"last-{number}"
    application.wait_for_all()
    names = application.ask("ListTables")["TableNames"]
    for name in names:
        found = application.items(name)
        assert {key: found[key] for key in ITEMS} == ITEMS, name
        assert name == "puts" or len(found) == COUNT


def test_the_folder_of_s3_is_full(mount: Path, tmp_path: Path, served: list[ServerProcess]) -> None:
    """What writes there fails in words, and leaves only whole objects; what reads there succeeds."""
    bucket = mount / "s3" / BUCKET
    bucket.mkdir(parents=True)
    server = ServerProcess(tmp_path / "data", "--s3-folder", str(mount / "s3"))
    served.append(server)
    application = Application(server.call)
    application.make("orders")
    application.ask("CreateTable", TableName="puts", **DEFINITION)
    data = exported(application)
    whole = contents(bucket)
    for left_bytes in (0, 100_000):
        fill(mount, left_bytes)
        for what in ("export", "import"):
            application.begin(what, f"full-{left_bytes}", "", data)
        ends = application.wait_for_all()
        assert (ends[f"export full-{left_bytes}"], ends[f"import full-{left_bytes}"]) == ("FAILED", "COMPLETED")
        assert application.items(f"import-full-{left_bytes}") == ITEMS
        arn = application.accepted[f"export full-{left_bytes}"]
        told = application.ask("DescribeExport", ExportArn=arn)["ExportDescription"]
        assert told["FailureCode"] == "S3InternalError"
        assert told["FailureMessage"] == "The folder of S3 has no room left: No space left on device"
        left = contents(bucket)
        assert whole.items() <= left.items()
        assert {path.name for path in left.keys() - whole.keys()} <= {"_started"}
        assert os.listdir(mount / "s3" / ".hashrange" / "receiving") == []
    refused = bucket / data / "refused.json.gz"
    refused.write_bytes(gzip.compress(b'{"Item": {"no": {"S": "key"}}}\n'))
    fill(mount, 0)
    application.begin("bulk", "full", "", data)
    assert application.wait_for_all()["bulk full"] == "FAILED", "its report cannot be written"
    assert application.items("puts") == ITEMS
    give_room(mount)
    application.begin("bulk", "roomy", "", data)
    assert application.wait_for_all()["bulk roomy"] == "COMPLETED_WITH_ERRORS"
    refused.unlink()
    application.begin("import", "roomy", "", exported(application))
    application.wait_for_all()
    assert application.items("import-roomy") == ITEMS
    server.stop()
    assert faults_in(tmp_path / "data") == []


def contents(folder: Path) -> dict[Path, bytes]:
    """The content of all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
