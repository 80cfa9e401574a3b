"""Backups, recovery, an export and imports on the command line, and the commands of `aws s3`.

Commands are those that people type. The CLI's waiters look every 20 seconds, so they are asked only about what has
ended.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from boto3.dynamodb.types import TypeDeserializer

from tests.clients.boto3_backups import DEFINITION, FIRST, TABLE, plain
from tests.clients.command_line import CommandLine

LONG = (b"0123456789" * 839_062)[: 8 * 1024 * 1024 + 1000]
"""Content that the CLI sends in two parts."""


class CommandLineBackups:
    """The application. `folder`: where it keeps files."""

    def __init__(self, command_line: CommandLine, bucket: str, folder: Path) -> None:
        self.command_line = command_line
        self.bucket = bucket
        self.folder = folder

    def heard(self) -> dict[str, Any]:
        """What the service has said."""
        self.s3("mb", f"s3://{self.bucket}")
        self.make_table()
        backup, recovery, exported = self.backup(), self.recovery(), self.export()
        data = self.manifest.replace("manifest-summary.json", "data/")
        return {
            "backup": backup,
            "recovery": recovery,
            "exported": exported,
            "imported": self.imports(data),
            "objects": self.objects(),
        }

    # --- commands -------------------------------------------------------------------------------

    def dynamodb(self, *words: str) -> Any:
        """What a command says, as JSON."""
        said = self.command_line.said("dynamodb", *words)
        return json.loads(said) if said else None

    def s3(self, *words: str) -> list[str]:
        """The lines that a command of `aws s3` says."""
        return self.command_line.said("s3", *words).splitlines()

    def refusal(self, *words: str) -> str:
        """The name of the error of a command."""
        said = self.command_line.run(*words).stderr
        return said.partition("(")[2].partition(")")[0]

    def until(self, is_over: Callable[[], bool]) -> None:
        """Ask until something is over."""
        while not is_over():
            pass

    def is_active(self, table: str) -> bool:
        """True once a table can be used."""
        words = ("describe-table", "--table-name", table, "--query", "Table.TableStatus")
        return bool(self.dynamodb(*words) == "ACTIVE")

    def advance(self, seconds: int) -> None:
        """Move service time."""
        body = json.dumps({"seconds": seconds}).encode()
        with urlopen(Request(f"{self.command_line.endpoint}/_hashrange/v1/clock/advance", body, method="POST")):
            pass

    def items(self, table: str) -> list[dict[str, Any]]:
        """All items of a table in the order of their ids; bytes as the text that was typed."""
        found = self.dynamodb("scan", "--table-name", table, "--page-size", "2")["Items"]
        read = TypeDeserializer().deserialize
        for item in found:
            if "data" in item:
                item["data"] = {"S": base64.b64decode(item["data"]["B"]).decode()}
        items = [{name: plain(read(value)) for name, value in item.items()} for item in found]
        return sorted(items, key=lambda one: str(one["id"]))

    # --- tables ---------------------------------------------------------------------------------

    def make_table(self) -> None:
        """The table with its first items. The CLI takes the text of bytes for the bytes themselves."""
        self.dynamodb("create-table", "--table-name", TABLE, "--cli-input-json", json.dumps(DEFINITION))
        self.dynamodb("wait", "table-exists", "--table-name", TABLE)
        first, second, third = FIRST
        items = [
            {"id": {"S": first["id"]}, "n": {"N": "1"}, "note": {"S": first["note"]}, "tags": {"SS": ["x", "y"]}},
            {"id": {"S": second["id"]}, "n": {"N": "2"}, "data": {"B": "AP8="}},
            {"id": {"S": third["id"]}, "n": {"N": "3"}},
        ]
        requests = {TABLE: [{"PutRequest": {"Item": item}} for item in items]}
        self.dynamodb("batch-write-item", "--request-items", json.dumps(requests))

    def put(self, key: str, number: int) -> None:
        """Put an item."""
        item = {"id": {"S": key}, "n": {"N": str(number)}}
        self.dynamodb("put-item", "--table-name", TABLE, "--item", json.dumps(item))

    def delete(self, key: str) -> None:
        """Delete an item."""
        self.dynamodb("delete-item", "--table-name", TABLE, "--key", json.dumps({"id": {"S": key}}))

    def backup(self) -> dict[str, Any]:
        """A backup, changes behind it, its restore, and its end."""
        made = self.dynamodb("create-backup", "--table-name", TABLE, "--backup-name", "before")
        arn = made["BackupDetails"]["BackupArn"]
        describe = ("describe-backup", "--backup-arn", arn)
        status = (*describe, "--query", "BackupDescription.BackupDetails.BackupStatus")
        self.until(lambda: self.dynamodb(*status) != "CREATING")
        was = self.dynamodb(*status)
        listed = self.dynamodb(
            "list-backups", "--table-name", TABLE, "--page-size", "1",
            "--query", "BackupSummaries[].[BackupName, BackupType]",
        )  # fmt: skip
        self.dynamodb(
            "update-item", "--table-name", TABLE, "--key", '{"id": {"S": "a"}}',
            "--update-expression", "ADD n :nine", "--expression-attribute-values", '{":nine": {"N": "9"}}',
        )  # fmt: skip
        self.delete("b")
        self.put("d", 4)
        begun = self.dynamodb("restore-table-from-backup", "--target-table-name", "from-backup", "--backup-arn", arn)
        self.until(lambda: self.is_active("from-backup"))
        deleted = self.dynamodb("delete-backup", "--backup-arn", arn)["BackupDescription"]
        return {
            "status": was,
            "listed": listed,
            "isSource": begun["TableDescription"]["RestoreSummary"]["SourceBackupArn"] == arn,
            "items": self.items("from-backup"),
            "deleted": deleted["BackupDetails"]["BackupStatus"],
            "refused": self.refusal("dynamodb", *describe),
        }

    def recovery(self) -> dict[str, Any]:
        """A restore to a time before changes."""
        self.dynamodb(
            "update-continuous-backups", "--table-name", TABLE, "--point-in-time-recovery-specification",
            "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=7",
        )  # fmt: skip
        self.advance(10)
        window = self.dynamodb("describe-continuous-backups", "--table-name", TABLE)["ContinuousBackupsDescription"][
            "PointInTimeRecoveryDescription"
        ]
        self.advance(10)
        self.delete("c")
        self.put("e", 5)

        def restore(target: str, at: float) -> tuple[str, ...]:
            names = ("--source-table-name", TABLE, "--target-table-name", target)
            return ("dynamodb", "restore-table-to-point-in-time", *names, "--restore-date-time", str(at))

        self.command_line.said(*restore("at-time", window["LatestRestorableDateTime"]))
        self.until(lambda: self.is_active("at-time"))
        early = window["EarliestRestorableDateTime"] - 3600
        return {
            "window": [window["PointInTimeRecoveryStatus"], window["RecoveryPeriodInDays"]],
            "items": self.items("at-time"),
            "refused": self.refusal(*restore("too-early", early)),
        }

    def read(self, key: str) -> bytes:
        """The content of an object, which is copied to a file."""
        file = self.folder / "copied"
        self.s3("cp", f"s3://{self.bucket}/{key}", str(file), "--quiet")
        return file.read_bytes()

    def export(self) -> dict[str, Any]:
        """An export, and what stands in its objects."""
        table = self.dynamodb("describe-table", "--table-name", TABLE, "--query", "Table.TableArn")
        begun = self.dynamodb(
            "export-table-to-point-in-time", "--table-arn", table, "--s3-bucket", self.bucket,
            "--s3-prefix", "nightly", "--client-token", "one",
        )  # fmt: skip
        describe = ("describe-export", "--export-arn", begun["ExportDescription"]["ExportArn"])
        status = (*describe, "--query", "ExportDescription.ExportStatus")
        self.until(lambda: self.dynamodb(*status) != "IN_PROGRESS")
        self.dynamodb("wait", "export-completed", *describe[1:])
        told = self.dynamodb(*describe)["ExportDescription"]
        self.manifest: str = told["ExportManifest"]
        summary = json.loads(self.read(self.manifest))
        ids: list[str] = []
        is_sound = True
        for line in self.read(summary["manifestFilesS3Key"]).splitlines():
            file = json.loads(line)
            content = self.read(file["dataFileS3Key"])
            digest = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
            is_sound = is_sound and digest == file["md5Checksum"]
            ids += [json.loads(one)["Item"]["id"]["S"] for one in gzip.decompress(content).splitlines()]
        return {
            "status": told["ExportStatus"],
            "count": told["ItemCount"],
            "summed": summary["itemCount"],
            "ids": sorted(ids),
            "isSound": is_sound,
            "listed": self.dynamodb("list-exports", "--max-results", "1", "--query", "ExportSummaries[].ExportStatus"),
        }

    def ended_import(self, table: str, bucket: str, prefix: str) -> tuple[str, Any]:
        """ARN and description of a new import once it has ended."""
        begun = self.dynamodb(
            "import-table", "--input-format", "DYNAMODB_JSON", "--input-compression-type", "GZIP",
            "--s3-bucket-source", f"S3Bucket={bucket},S3KeyPrefix={prefix}",
            "--table-creation-parameters", f"TableName={table},BillingMode=PAY_PER_REQUEST,"
            "AttributeDefinitions=[{AttributeName=id,AttributeType=S}],KeySchema=[{AttributeName=id,KeyType=HASH}]",
        )  # fmt: skip
        arn = begun["ImportTableDescription"]["ImportArn"]
        describe = ("describe-import", "--import-arn", arn, "--query", "ImportTableDescription")
        self.until(lambda: self.dynamodb(*describe)["ImportStatus"] != "IN_PROGRESS")
        return arn, self.dynamodb(*describe)

    def imports(self, prefix: str) -> dict[str, Any]:
        """An import of what was exported, and one that fails."""
        arn, told = self.ended_import("copy", self.bucket, prefix)
        self.dynamodb("wait", "import-completed", "--import-arn", arn)
        failing, failed = self.ended_import("nothing", "no-such-bucket", prefix)
        assert "terminal failure" in self.command_line.run(
            "dynamodb", "wait", "import-completed", "--import-arn", failing
        ).stderr  # fmt: skip
        listed = self.dynamodb("list-imports", "--query", "ImportSummaryList[].ImportStatus")
        return {
            "status": told["ImportStatus"],
            "counts": [told["ProcessedItemCount"], told["ImportedItemCount"], told["ErrorCount"]],
            "items": self.items("copy"),
            "failed": failed["FailureCode"],
            "listed": sorted(listed),
        }

    # --- S3 -------------------------------------------------------------------------------------

    def objects(self) -> dict[str, Any]:
        """Files that are copied to a bucket, kept the same as a folder, listed, fetched and removed."""
        site, bucket = self.folder / "site", f"s3://{self.bucket}/site"
        (site / "in").mkdir(parents=True)
        (site / "long").write_bytes(LONG)
        (site / "ü 1+.txt").write_text("one")
        (site / "in" / "2").write_text("two")
        first = len(self.s3("sync", str(site), bucket, "--no-progress"))
        again = self.s3("sync", str(site), bucket, "--no-progress")
        (site / "in" / "2").unlink()
        after = self.s3("sync", str(site), bucket, "--no-progress", "--delete")
        self.s3("sync", bucket, str(self.folder / "back"), "--no-progress")
        self.s3("cp", str(site / "ü 1+.txt"), f"{bucket}/archived.txt", "--storage-class", "GLACIER", "--no-progress")
        head = self.command_line.said("s3api", "head-object", "--bucket", self.bucket, "--key", "site/archived.txt")
        (url,) = self.s3("presign", f"{bucket}/archived.txt", "--expires-in", "60")
        with urlopen(url) as reply:
            presigned = reply.read().decode()
        moved = ("mv", f"{bucket}/archived.txt", str(self.folder / "moved"), "--no-progress")
        warned = self.command_line.run("s3", *moved).stderr
        self.s3(*moved, "--force-glacier-transfer")
        listed = [line.split()[2:] for line in self.s3("ls", f"{bucket}/")]
        removed = self.s3("rm", bucket, "--recursive")
        return {
            "synced": [first, again, [one.partition(":")[0] for one in after]],
            "class": json.loads(head)["StorageClass"],
            "isWhole": (self.folder / "back" / "long").read_bytes() == LONG,
            "back": sorted(path.name for path in (self.folder / "back").iterdir()),
            "presigned": presigned,
            "warned": "storage class GLACIER" in warned,
            "moved": (self.folder / "moved").read_text(),
            "listed": listed,
            "removed": len(removed),
            "missing": self.refusal("s3", "cp", f"{bucket}/long", str(self.folder / "none")),
            "left": self.s3("ls", f"s3://{self.bucket}"),
            "buckets": [line.split()[2] for line in self.s3("ls") if self.bucket in line],
            "refused": self.refusal("s3", "rb", f"s3://{self.bucket}"),
            "forced": self.s3("rb", f"s3://{self.bucket}", "--force")[-1],
        }
