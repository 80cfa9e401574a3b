"""The whole server on a small file system that is really full: reads continue, writes are refused,
and succeed again once space is free.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hashrange.store.embedded.check import check_store
from tests.crash.small_disks import ROOMY_MB
from tests.crash.test_server_kills import ServerProcess

REFUSALS = 150
ATTEMPTS_MAX = 30_000


@pytest.fixture
def server(mount: Path) -> Iterator[ServerProcess]:
    """A server on the small file system."""
    server = ServerProcess(mount / "data")
    yield server
    if server.process.poll() is None:
        server.kill()


TABLE = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
FIRST = {"pk": {"S": "0"}}
OF_FIRST = {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": FIRST["pk"]}}
READS: list[tuple[str, dict[str, Any]]] = [
    (operation, {"TableName": "orders"} | members | {"ConsistentRead": consistent})
    for operation, members in (("GetItem", {"Key": FIRST}), ("Query", OF_FIRST), ("Scan", {"Limit": 2}))
    for consistent in (False, True)
] + [("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "orders", "Key": FIRST}}]})]


def test_reads_go_on_and_writes_come_back(mount: Path, server: ServerProcess) -> None:
    call, chance = server.call, Random(7)
    status = call("CreateTable", TABLE).status
    assert status == 200
    acknowledged: list[str] = []
    refused = 0
    for number in range(ATTEMPTS_MAX):
        item = {"pk": {"S": str(number)}, "text": {"S": chance.randbytes(100_000).hex()}}
        status = call("PutItem", {"TableName": "orders", "Item": item}).status
        if status == 200:
            acknowledged.append(str(number))
            continue
        refused += 1
        operation, body = READS[refused % len(READS)]
        reply = call(operation, body)
        assert reply.status == 200, (operation, body, f"{refused} writes were refused")
        if refused == REFUSALS:
            break
    assert refused == REFUSALS
    subprocess.run(["mount", "-o", f"remount,size={ROOMY_MB}m", str(mount)], check=True)
    for _ in range(ATTEMPTS_MAX):
        status = call("PutItem", {"TableName": "orders", "Item": {"pk": {"S": "there is room"}}}).status
        if status == 200:
            break
    assert status == 200
    for key in acknowledged:
        reply = call("GetItem", {"TableName": "orders", "Key": {"pk": {"S": key}}, "ConsistentRead": True}).json()
        assert reply["Item"]["pk"] == {"S": key}
    server.stop()
    assert not check_store(str(mount / "data")).faults
