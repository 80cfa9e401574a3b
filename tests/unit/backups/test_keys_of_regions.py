"""A key that is limited to Regions restores nothing of another Region."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.support.servers import ThreadServer
from tests.support.stores import make_store

CREDENTIALS = """
[[credential]]
access_key = "AKIAEVERYWHERE"
secret_key = "secret"

[[credential]]
access_key = "AKIAEUROPE"
secret_key = "secret"
regions = ["eu-west-1", "eu-west-2", "eu-west-3"]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadServer]:
    """A server with both keys."""
    file: Path = tmp_path_factory.mktemp("keys") / "credentials.toml"
    file.write_text(CREDENTIALS)
    server = ThreadServer(make_store, ALL_OPERATIONS, settings=Settings(port=0, data_dir=None, credentials=str(file)))
    yield server
    server.stop()


def client_of(served: ThreadServer, key: str, region: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://localhost:{served.port}",
        region_name=region,
        aws_access_key_id=key,
        aws_secret_access_key="secret",
    )


def kept(client: Any) -> tuple[str, str]:
    """The ARNs of a table with an item, and of its backup."""
    arn = client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )["TableDescription"]["TableArn"]
    client.put_item(TableName="orders", Item={"id": {"S": "secret"}})
    on = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName="orders", PointInTimeRecoverySpecification=on)
    return arn, client.create_backup(TableName="orders", BackupName="backup")["BackupDetails"]["BackupArn"]


def restores(client: Any, table: str, backup: str) -> list[Any]:
    """What both restores answer: the name of the table, or the error's code and message."""
    times = {"SourceTableArn": table, "UseLatestRestorableTime": True}
    both: Any = (
        (client.restore_table_from_backup, {"BackupArn": backup}),
        (client.restore_table_to_point_in_time, times),
    )
    answers: list[Any] = []
    for number, (restore, source) in enumerate(both):
        try:
            reply = restore(TargetTableName=f"restored-{number}", SSESpecificationOverride={"Enabled": True}, **source)
            answers.append(reply["TableDescription"]["TableName"])
        except ClientError as error:
            answers.append((error.response["Error"]["Code"], error.response["Error"]["Message"]))
    return answers


def test_only_a_key_of_the_source_s_region_restores_it(served: ThreadServer) -> None:
    table, backup = kept(client_of(served, "AKIAEVERYWHERE", "us-east-1"))
    assert restores(client_of(served, "AKIAEUROPE", "eu-west-1"), table, backup) == [
        ("BackupNotFoundException", f"Backup not found: {backup}"),
        ("TableNotFoundException", "Table not found: orders"),
    ]
    assert restores(client_of(served, "AKIAEVERYWHERE", "eu-west-1"), table, backup) == ["restored-0", "restored-1"]


def test_a_key_of_both_regions_restores(served: ThreadServer) -> None:
    table, backup = kept(client_of(served, "AKIAEUROPE", "eu-west-2"))
    assert restores(client_of(served, "AKIAEUROPE", "eu-west-3"), table, backup) == ["restored-0", "restored-1"]
