"""Exports and imports with the S3 of the settings, a folder, and recovery that a request has switched on; in memory
and on disk.
"""

from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.waiting import wait_until
from tests.unit.transfers.transferred import ARN, TABLE, create, ended


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_table_goes_to_a_folder_and_comes_back(tmp_path: Path, is_kept: bool) -> None:
    (tmp_path / "s3" / "bucket").mkdir(parents=True)
    folder = str(tmp_path / "data") if is_kept else None
    with server(Settings(data_dir=folder, port=0, s3_folder=str(tmp_path / "s3"))) as database:
        client: Any = database.client()
        create(client)
        client.update_continuous_backups(
            TableName=TABLE, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        items = [{"id": {"S": str(number)}, "n": {"N": str(number)}} for number in range(300)]
        for item in items:
            client.put_item(TableName=TABLE, Item=item)
        begun = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket="bucket", S3Prefix="out")
        told = ended(client, begun["ExportDescription"]["ExportArn"])
        assert (told["ExportStatus"], told["ItemCount"]) == ("COMPLETED", 300)
        data = told["ExportManifest"].removesuffix("manifest-summary.json") + "data/"
        assert [path.name for path in (tmp_path / "s3" / "bucket" / data).iterdir()]
        source = {"S3Bucket": "bucket", "S3KeyPrefix": data}
        table = {
            "TableName": "copy",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        arn = client.import_table(
            S3BucketSource=source,
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters=table,
        )["ImportTableDescription"]["ImportArn"]
        wait_until(
            lambda: client.describe_import(ImportArn=arn)["ImportTableDescription"]["ImportStatus"] != "IN_PROGRESS"
        )
        assert sorted(client.scan(TableName="copy")["Items"], key=str) == sorted(items, key=str)
        missing = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket="nowhere")
        assert ended(client, missing["ExportDescription"]["ExportArn"])["FailureCode"] == "S3NoSuchBucket"
