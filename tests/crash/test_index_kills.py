"""A server killed while it builds an index, or while entries are pending:
answered writes are in the index in the end.
"""

import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.inspect import inspect_store
from tests.crash.harness import ROUNDS
from tests.crash.test_server_kills import ServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

ITEMS = 4_000
"""Number of items for which an index takes some 40 ms, so that most kills come before it is complete."""
KILLS = max(3, ROUNDS // 10)
POLLS_MAX = 20_000
TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
INDEX = {
    "IndexName": "by-kind",
    "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
Item = dict[str, Any]


def ask(server: ServerProcess, operation: str, **members: Any) -> Any:
    reply = server.call(operation, {"TableName": "things"} | members)
    assert reply.status == 200, reply.body
    return reply.json()


def described(server: ServerProcess) -> Any:
    return ask(server, "DescribeTable")["Table"].get("GlobalSecondaryIndexes", [None])[0]


def scan(server: ServerProcess, **members: Any) -> dict[str, Item]:
    """Item id → item, of the table or an index; fails if an item appears twice."""
    items: list[Item] = []
    while True:
        page = ask(server, "Scan", **members)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            found = {item["id"]["S"]: item for item in items}
            assert len(found) == len(items)
            return found
        members["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def load(server: ServerProcess) -> None:
    for start in range(0, ITEMS, 25):
        puts = [{"PutRequest": {"Item": thing(number)}} for number in range(start, start + 25)]
        assert server.call("BatchWriteItem", {"RequestItems": {"things": puts}}).status == 200


def thing(number: int, round_number: int = 0) -> Item:
    return {"id": {"S": f"t{number}"}, "kind": {"S": f"k{(number + round_number) % 11}"}, "data": {"S": "x" * 300}}


class Changer(threading.Thread):
    """Puts and deletes items until the server is gone."""

    def __init__(self, server: ServerProcess, seed: int) -> None:
        super().__init__()
        self.server = server
        self.chance = random.Random(seed)
        self.start()

    def run(self) -> None:
        try:
            for round_number in range(1_000_000):
                self.step(round_number)
        except (OSError, AssertionError):
            pass
        except Exception as error:
            if "IncompleteRead" not in type(error).__name__ and "RemoteDisconnected" not in type(error).__name__:
                raise

    def step(self, round_number: int) -> None:
        """One request."""
        number = self.chance.randrange(ITEMS)
        if self.chance.random() < 0.2:
            ask(self.server, "DeleteItem", Key={"id": {"S": f"t{number}"}})
        else:
            ask(self.server, "PutItem", Item=thing(number, round_number))


def test_an_index_is_complete_whenever_its_server_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    chance = random.Random(11)
    server = ServerProcess(folder)
    ask(server, "CreateTable", **TABLE)
    load(server)
    interrupted = 0
    for kill in range(10 * KILLS):
        if kill >= KILLS and interrupted:
            break
        changers = [Changer(server, seed=kill * 10 + number) for number in range(2)]
        definitions = [{"AttributeName": "kind", "AttributeType": "S"}]
        ask(
            server,
            "UpdateTable",
            AttributeDefinitions=definitions,
            GlobalSecondaryIndexUpdates=[{"Create": INDEX}],
        )
        enough = chance.randrange(ITEMS // 2)
        while (index := described(server))["IndexStatus"] == "CREATING" and index["ItemCount"] < enough:
            pass
        server.kill()
        for changer in changers:
            changer.join()
        faults = check_store(str(folder)).faults
        assert faults == [], f"kill {kill}"
        interrupted += inspect_store(str(folder)).tables[0][0].schema.indexes[0].state == "CREATING"
        server = ServerProcess(folder)
        for _ in range(POLLS_MAX):
            if described(server)["IndexStatus"] == "ACTIVE":
                break
        assert scan(server, IndexName="by-kind") == scan(server, ConsistentRead=True), f"kill {kill}"
        ask(server, "UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-kind"}}])
        assert described(server) is None
    server.stop()
    assert check_store(str(folder)).faults == []
    assert interrupted, "no kill came while the index was being built"


def test_entries_that_wait_survive_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    server = ServerProcess(folder, "--index-delay", "0.05")
    index = {"GlobalSecondaryIndexes": [INDEX]}
    definitions = [*TABLE["AttributeDefinitions"], {"AttributeName": "kind", "AttributeType": "S"}]
    ask(server, "CreateTable", **TABLE | index | {"AttributeDefinitions": definitions})
    for kill in range(KILLS):
        changers = [Changer(server, seed=kill * 10 + number) for number in range(2)]
        for _ in range(50):
            described(server)
        server.kill()
        for changer in changers:
            changer.join()
        assert check_store(str(folder)).faults == [], f"kill {kill}"
        server = ServerProcess(folder, "--index-delay", "0.05" if kill % 2 else "0")
        for _ in range(POLLS_MAX):
            items = scan(server, ConsistentRead=True)
            if scan(server, IndexName="by-kind") == items:
                break
        assert items
        assert described(server)["ItemCount"] == len(items), f"kill {kill}"
    server.stop()
    assert check_store(str(folder)).faults == []
