"""A server killed while item collections grow, shrink and reach their limit:
their sizes match their items afterwards.
"""

import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded.check import check_store
from tests.crash.harness import ROUNDS
from tests.crash.test_server_kills import ServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

KILLS = max(3, ROUNDS // 10)
WRITERS = 3
LIMIT_BYTES = 20_000
"""A third of the bytes that the writers try to put into a partition."""
PARTITIONS = 4
SORTS = 40
NAME = "collections"
KEYS = [("pk", "HASH"), ("sk", "RANGE"), ("l", "RANGE")]
SCHEMA = [{"AttributeName": name, "KeyType": role} for name, role in KEYS]
TABLE = {
    "TableName": NAME,
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in KEYS],
    "KeySchema": SCHEMA[:2],
    "LocalSecondaryIndexes": [
        {"IndexName": "local", "KeySchema": [SCHEMA[0], SCHEMA[2]], "Projection": {"ProjectionType": "ALL"}}
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


class Writer(threading.Thread):
    """Writes at random until the server is gone; counts replies, and refusals because of the limit."""

    def __init__(self, server: ServerProcess, seed: int, answered: threading.Semaphore) -> None:
        super().__init__()
        self.server = server
        self.chance = random.Random(seed)
        self.answered = answered
        self.refused = 0
        self.start()

    def run(self) -> None:
        try:
            while True:
                self.write()
                self.answered.release()
        except OSError:
            pass
        except Exception as error:
            if "IncompleteRead" not in type(error).__name__ and "RemoteDisconnected" not in type(error).__name__:
                raise

    def write(self) -> None:
        """A put, a deletion, or a transaction of some puts."""
        kind = self.chance.random()
        if kind < 0.3:
            key = {name: value for name, value in self.item().items() if name in ("pk", "sk")}
            reply = self.server.call("DeleteItem", {"TableName": NAME, "Key": key})
        elif kind < 0.7:
            reply = self.server.call("PutItem", {"TableName": NAME, "Item": self.item()})
        else:
            items = {item["sk"]["S"]: item for item in [self.item() for _ in range(3)]}
            actions = [{"Put": {"TableName": NAME, "Item": item}} for item in items.values()]
            reply = self.server.call("TransactWriteItems", {"TransactItems": actions})
        if reply.status != 200:
            assert b"ItemCollectionSizeLimitExceeded" in reply.body, reply.body
            self.refused += 1

    def item(self) -> dict[str, Any]:
        item = {
            "pk": {"S": f"p{self.chance.randrange(PARTITIONS)}"},
            "sk": {"S": f"s{self.chance.randrange(SORTS)}"},
            "data": {"S": "x" * self.chance.randrange(1, 2000)},
        }
        return item | {"l": {"S": "l"}} if self.chance.random() < 0.5 else item


def test_sizes_of_collections_survive_kills(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    chance = random.Random(5)
    refused = 0
    for kill in range(KILLS):
        server = ServerProcess(folder, "--item-collection-limit", str(LIMIT_BYTES))
        if not kill:
            assert server.call("CreateTable", TABLE).status == 200
        answered = threading.Semaphore(0)
        writers = [Writer(server, kill * 10 + number, answered) for number in range(WRITERS)]
        for _ in range(chance.randrange(100, 500)):
            assert answered.acquire(timeout=30)
        server.kill()
        for writer in writers:
            writer.join()
            refused += writer.refused
        assert check_store(str(folder)).faults == [], f"kill {kill}"
    assert refused, "no collection met its limit"
