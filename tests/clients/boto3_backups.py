"""Backups, recovery, an export, imports and a bulk put with boto3, and S3 with its transfers.

Service time stands still, except where this program moves it, so nothing depends on the machine's speed.
"""

import base64
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.request import Request, urlopen

import boto3
from boto3.dynamodb.types import Binary
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError, WaiterError

TABLE = "orders"
DEFINITION: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
FIRST: list[dict[str, Any]] = [
    {"id": "a", "n": 1, "note": "Zürich ☕", "tags": {"x", "y"}},
    {"id": "b", "n": 2, "data": b"\x00\xff"},
    {"id": "c", "n": 3},
]
RECORDS = [
    {"Item": {"id": {"S": "f"}, "n": {"N": "6"}}},
    {"Item": {"id": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(id)"},
    {"Item": {"n": {"N": "7"}}},
]
OFTEN = {"Delay": 0, "MaxAttempts": 10_000}
"""How waiters wait; replies take long enough."""
PART_BYTES = 5 * 1024 * 1024


def refusal(work: Callable[[], object]) -> str:
    """The name of an error."""
    try:
        work()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return ""


def plain(value: Any) -> Any:
    """A value as JSON has it: sets as lists, bytes in base64."""
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, Binary):
        return base64.b64encode(value.value).decode()
    return value if isinstance(value, str) else int(value)


class Backups:
    """The application."""

    def __init__(self, endpoint: str, bucket: str) -> None:
        self.endpoint = endpoint
        self.bucket = bucket
        session = boto3.Session("key", "secret", region_name="eu-west-1")
        self.client: Any = session.client("dynamodb", endpoint_url=endpoint)
        self.tables: Any = session.resource("dynamodb", endpoint_url=endpoint)
        self.s3: Any = session.client("s3", endpoint_url=endpoint)

    def heard(self) -> dict[str, Any]:
        """What the service has said."""
        self.s3.create_bucket(Bucket=self.bucket)
        self.make_table()
        backup, recovery, exported = self.backup(), self.recovery(), self.export()
        data = self.manifest.replace("manifest-summary.json", "data/")
        return {
            "backup": backup,
            "recovery": recovery,
            "exported": exported,
            "imported": self.imports(data),
            "bulk": self.bulk(),
            "objects": self.objects(),
        }

    def end(self) -> None:
        """Close the connections."""
        for client in (self.client, self.tables.meta.client, self.s3):
            client.close()

    def advance(self, seconds: int) -> None:
        """Move service time."""
        body = json.dumps({"seconds": seconds}).encode()
        with urlopen(Request(f"{self.endpoint}/_hashrange/v1/clock/advance", body, method="POST")):
            pass

    def items(self, name: str) -> list[dict[str, Any]]:
        """All items of a table in the order of their ids."""
        found = self.tables.Table(name).scan()["Items"]
        return [{key: plain(value) for key, value in item.items()} for item in sorted(found, key=lambda one: one["id"])]

    def make_table(self) -> None:
        """The table with its first items."""
        self.client.create_table(TableName=TABLE, **DEFINITION)
        self.client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig=OFTEN)
        with self.tables.Table(TABLE).batch_writer() as batch:
            for item in FIRST:
                batch.put_item(Item=item)

    def backup(self) -> dict[str, Any]:
        """A backup, changes behind it, its restore, and its end."""
        client, table = self.client, self.tables.Table(TABLE)
        arn = client.create_backup(TableName=TABLE, BackupName="before")["BackupDetails"]["BackupArn"]
        status = "CREATING"
        while status == "CREATING":
            described = client.describe_backup(BackupArn=arn)["BackupDescription"]
            status = described["BackupDetails"]["BackupStatus"]
        pages = client.get_paginator("list_backups").paginate(TableName=TABLE, PaginationConfig={"PageSize": 1})
        listed = [[one["BackupName"], one["BackupType"]] for page in pages for one in page["BackupSummaries"]]
        table.update_item(
            Key={"id": "a"}, UpdateExpression="ADD n :nine", ExpressionAttributeValues={":nine": 9}
        )  # fmt: skip
        table.delete_item(Key={"id": "b"})
        table.put_item(Item={"id": "d", "n": 4})
        begun = client.restore_table_from_backup(TargetTableName="from-backup", BackupArn=arn)["TableDescription"]
        client.get_waiter("table_exists").wait(TableName="from-backup", WaiterConfig=OFTEN)
        deleted = client.delete_backup(BackupArn=arn)["BackupDescription"]
        return {
            "status": status,
            "listed": listed,
            "isSource": begun["RestoreSummary"]["SourceBackupArn"] == arn,
            "items": self.items("from-backup"),
            "deleted": deleted["BackupDetails"]["BackupStatus"],
            "refused": refusal(lambda: client.describe_backup(BackupArn=arn)),
        }

    def recovery(self) -> dict[str, Any]:
        """A restore to a time before changes."""
        client, table = self.client, self.tables.Table(TABLE)
        wanted = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
        client.update_continuous_backups(TableName=TABLE, PointInTimeRecoverySpecification=wanted)
        self.advance(10)
        described = client.describe_continuous_backups(TableName=TABLE)["ContinuousBackupsDescription"]
        window = described["PointInTimeRecoveryDescription"]
        self.advance(10)
        table.delete_item(Key={"id": "c"})
        table.put_item(Item={"id": "e", "n": 5})

        def restore(target: str, at: datetime) -> None:
            client.restore_table_to_point_in_time(
                SourceTableName=TABLE, TargetTableName=target, RestoreDateTime=at
            )  # fmt: skip

        restore("at-time", window["LatestRestorableDateTime"])
        client.get_waiter("table_exists").wait(TableName="at-time", WaiterConfig=OFTEN)
        early = window["EarliestRestorableDateTime"] - timedelta(hours=1)
        return {
            "window": [window["PointInTimeRecoveryStatus"], window["RecoveryPeriodInDays"]],
            "items": self.items("at-time"),
            "refused": refusal(lambda: restore("too-early", early)),
        }

    def read(self, key: str) -> bytes:
        """The content of an object."""
        content: bytes = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return content

    def export(self) -> dict[str, Any]:
        """An export, and what stands in its objects."""
        client = self.client
        arn = client.export_table_to_point_in_time(
            TableArn=self.tables.Table(TABLE).table_arn, S3Bucket=self.bucket, S3Prefix="nightly", ClientToken="one"
        )["ExportDescription"]["ExportArn"]
        client.get_waiter("export_completed").wait(ExportArn=arn, WaiterConfig=OFTEN)
        told = client.describe_export(ExportArn=arn)["ExportDescription"]
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
        listed = [one["ExportStatus"] for one in client.list_exports(MaxResults=1)["ExportSummaries"]]
        return {
            "status": told["ExportStatus"],
            "count": told["ItemCount"],
            "summed": summary["itemCount"],
            "ids": sorted(ids),
            "isSound": is_sound,
            "listed": listed,
        }

    def begin_import(self, table: str, bucket: str, prefix: str) -> str:
        """The ARN of a new import."""
        arn: str = self.client.import_table(
            S3BucketSource={"S3Bucket": bucket, "S3KeyPrefix": prefix},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": table, **DEFINITION},
        )["ImportTableDescription"]["ImportArn"]
        return arn

    def imports(self, prefix: str) -> dict[str, Any]:
        """An import of what was exported, and one that fails."""
        client = self.client
        waiter = client.get_waiter("import_completed")
        arn = self.begin_import("copy", self.bucket, prefix)
        waiter.wait(ImportArn=arn, WaiterConfig=OFTEN)
        told = client.describe_import(ImportArn=arn)["ImportTableDescription"]
        failing = self.begin_import("nothing", "no-such-bucket", prefix)
        failed = ""
        try:
            waiter.wait(ImportArn=failing, WaiterConfig=OFTEN)
        except WaiterError as error:
            failed = error.last_response["ImportTableDescription"]["FailureCode"]
        return {
            "status": told["ImportStatus"],
            "counts": [told["ProcessedItemCount"], told["ImportedItemCount"], told["ErrorCount"]],
            "items": self.items("copy"),
            "failed": failed,
            "listed": sorted(one["ImportStatus"] for one in client.list_imports()["ImportSummaryList"]),
        }

    def bulk(self) -> dict[str, Any]:
        """A bulk put with its reports."""
        body = "\n".join(map(json.dumps, RECORDS)).encode()
        self.s3.put_object(Bucket=self.bucket, Key="bulk/1.json", Body=body)
        begun = self.client.start_bulk_put_items(
            TableName=TABLE,
            InputS3Configuration={
                "S3Bucket": self.bucket,
                "S3KeyPrefix": "bulk/",
                "InputFormat": "DYNAMODB_JSON",
            },
            OutputS3Configuration={
                "S3Bucket": self.bucket,
                "S3KeyPrefix": "reports",
                "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
            },
        )
        arn = begun["BulkOperationDescription"]["BulkOperationArn"]
        self.client.get_waiter("bulk_operation_completed").wait(BulkOperationArn=arn, WaiterConfig=OFTEN)
        told = self.client.describe_bulk_operation(BulkOperationArn=arn)["BulkOperationDescription"]
        reported = {}
        for key in self.keys("reports/"):
            kind = "error" if "/error/" in key else "condition-check-failure"
            reported[kind] = json.loads(gzip.decompress(self.read(key)))["Line"]
        return {
            "status": told["BulkOperationStatus"],
            "counts": [told["ProcessedItemCount"], told["FailedItemCount"]],
            "reported": reported,
            "items": self.items(TABLE),
        }

    # --- S3 -------------------------------------------------------------------------------------

    def keys(self, prefix: str) -> list[str]:
        """The keys with this prefix."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=prefix, PaginationConfig={"PageSize": 2}
        )  # fmt: skip
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def objects(self) -> dict[str, Any]:
        """Objects from their first write to their deletion."""
        here = {"Bucket": self.bucket, "Key": "archive/ü 1+.json"}
        etag = self.s3.put_object(
            **here, Body=b"{}", StorageClass="GLACIER", ContentType="application/json", Metadata={"origin": "stream"}
        )["ETag"]
        got = self.s3.get_object(**here, ChecksumMode="ENABLED")
        self.s3.put_object(Bucket=self.bucket, Key="archive/2", Body=b"two")
        self.s3.put_object(Bucket=self.bucket, Key="archive/in/3", Body=b"three")
        page = self.s3.list_objects_v2(Bucket=self.bucket, Prefix="archive/", Delimiter="/")
        told = [got["ETag"] == etag, got["StorageClass"], got["ContentType"], got["Metadata"]["origin"]]
        return {
            "told": [*told, got["Body"].read().decode()],
            "keys": self.keys("archive/"),
            "folders": [
                [one["Prefix"] for one in page["CommonPrefixes"]],
                [one["Size"] for one in page["Contents"]],
            ],
            "uploaded": self.uploaded(),
            "presigned": self.presigned("archive/2"),
            "deleted": self.deleted("archive/2"),
        }

    def uploaded(self) -> list[Any]:
        """An upload in two parts: its size, parts, the content of a range, and whether a download brings all."""
        content = (b"0123456789" * (PART_BYTES // 10 + 101))[: PART_BYTES + 1000]
        config = TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES)
        here = {"Bucket": self.bucket, "Key": "long"}
        self.s3.upload_fileobj(io.BytesIO(content), self.bucket, "long", Config=config)
        came = io.BytesIO()
        self.s3.download_fileobj(self.bucket, "long", came, Config=config)
        head = self.s3.head_object(**here)
        part = self.s3.get_object(**here, Range="bytes=5242880-5242889")["Body"].read().decode()
        parts = int(head["ETag"].strip('"').rpartition("-")[2])
        return [head["ContentLength"], parts, part, came.getvalue() == content]

    def presigned(self, key: str) -> str:
        """What a presigned URL gives to a program without keys."""
        url = self.s3.generate_presigned_url("get_object", {"Bucket": self.bucket, "Key": key}, ExpiresIn=60)
        with urlopen(url) as reply:
            text: str = reply.read().decode()
            return text

    def deleted(self, key: str) -> list[str]:
        """The codes of an object that was deleted, and of a bucket that never was."""
        self.s3.delete_object(Bucket=self.bucket, Key=key)
        return [
            refusal(lambda: self.s3.get_object(Bucket=self.bucket, Key=key)),
            refusal(lambda: self.s3.get_object(Bucket="no-such-bucket", Key=key)),
        ]
