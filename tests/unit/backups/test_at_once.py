"""Several clients back up, restore and delete at the same time, over a store that lets others run at every call: each
answer is one of the service's, and in the end every backup and every table is whole, and nothing is left over.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.store.row_copies import row_copies_of
from tests.conformance.tables import create_request
from tests.support.seeds import seeds
from tests.support.servers import ThreadServer
from tests.support.stores import STORES
from tests.support.waiting import wait_until
from tests.unit.backups.world import ON, large_copies, small_slices

NAME, ITEMS, STEPS, CLIENTS = "orders", 10, 25, 4
TARGETS = ["first", "second", "third"]
ANSWERS = {
    "BackupInUseException",
    "BackupNotFoundException",
    "TableAlreadyExistsException",
    "TableInUseException",
    "ResourceInUseException",
    "ResourceNotFoundException",
}


def client_of(endpoint: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}),
    )


def arns(client: Any) -> list[str]:
    return [one["BackupArn"] for one in client.list_backups(BackupType="ALL")["BackupSummaries"]]


def one_step(client: Any, chance: random.Random) -> None:
    """Any of the operations, with whatever there is."""
    target, found = chance.choice(TARGETS), arns(client)
    kind = chance.choice(["back up", "restore", "to time", "delete backup", "delete table", "delete table"])
    if kind == "back up":
        client.create_backup(TableName=NAME, BackupName="one-of-many")
    elif kind == "to time":
        client.restore_table_to_point_in_time(
            SourceTableName=NAME, TargetTableName=target, UseLatestRestorableTime=True
        )
    elif kind == "delete table":
        client.delete_table(TableName=target)
    elif found and kind == "restore":
        client.restore_table_from_backup(TargetTableName=target, BackupArn=chance.choice(found))
    elif found:
        client.delete_backup(BackupArn=chance.choice(found))


def work(endpoint: str, seed: int) -> None:
    client, chance = client_of(endpoint), random.Random(seed)
    for _ in range(STEPS):
        try:
            one_step(client, chance)
        except ClientError as error:
            assert error.response["Error"]["Code"] in ANSWERS, error


@pytest.mark.parametrize("store", sorted(STORES))
@pytest.mark.parametrize("seed", seeds(1, 10))
@pytest.mark.parametrize("is_large", [False, True])
def test_everything_is_whole(seed: int, store: str, monkeypatch: pytest.MonkeyPatch, *, is_large: bool) -> None:
    small_slices(monkeypatch)
    if is_large:
        large_copies(monkeypatch)
    running = ThreadServer(STORES[store], ALL_OPERATIONS)
    try:
        client = client_of(running.endpoint)
        client.create_table(**create_request(NAME))
        client.get_waiter("table_exists").wait(TableName=NAME)
        client.update_continuous_backups(TableName=NAME, PointInTimeRecoverySpecification=ON)
        for number in range(ITEMS):
            client.put_item(TableName=NAME, Item={"id": {"S": str(number)}})
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda number: work(running.endpoint, 100 * seed + number), range(CLIENTS)))
        for target in client.list_tables()["TableNames"]:
            assert count_of(client, target) == ITEMS, target
        for number, arn in enumerate(arns(client)):
            wait_until(partial(is_available, client, arn))
            client.restore_table_from_backup(TargetTableName=f"again-{number}", BackupArn=arn)
            assert count_of(client, f"again-{number}") == ITEMS
        wait_until(lambda: not row_copies_of(running.service.store).owners())
        names = [name for name, _ in running.service.store.documents.below("")]
        assert {name for name in names if not name.startswith("metric")} == set(
            row_copies_of(running.service.store).kept()
        )
    finally:
        running.stop()


def count_of(client: Any, name: str) -> int:
    """Items of a table, once it is ACTIVE."""
    wait_until(partial(is_active, client, name))
    return int(client.scan(TableName=name, Select="COUNT", ConsistentRead=True)["Count"])


def is_active(client: Any, name: str) -> bool:
    return bool(client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE")


def is_available(client: Any, arn: str) -> bool:
    details = client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
    return bool(details["BackupStatus"] == "AVAILABLE")
