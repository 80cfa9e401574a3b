"""The whole server, killed without warning under concurrent load: every answered write is there,
the statistics are right.
"""

import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hashrange.store.embedded.check import check_store
from tests.crash.harness import ROUNDS
from tests.support.prepared.starts import COMMAND, start_hashrange
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

WRITERS = 6
KILLS = max(3, ROUNDS // 10)
TABLE = {
    "TableName": "numbers",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


class ServerProcess:
    """`hashrange serve` on a free port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [*COMMAND, "serve", "--port", "0", "--data-dir", str(folder), *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = start_hashrange(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.call = RawClient("127.0.0.1", int(found[1]))

    def kill(self) -> None:
        """Kill the server without warning."""
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def stop(self) -> None:
        """Stop the server by a signal."""
        self.process.send_signal(signal.SIGTERM)
        self.end()
        assert self.process.returncode == 0

    def end(self) -> None:
        """Wait until the server has ended."""
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Writer(threading.Thread):
    """Puts an item for each number, then counts it; keeps the acknowledged numbers."""

    def __init__(self, server: ServerProcess, name: str, first: int, answered: threading.Semaphore) -> None:
        super().__init__()
        self.server = server
        self.key = name
        self.last = first
        self.answered = answered
        self.start()

    def run(self) -> None:
        try:
            while self.write(self.last + 1):
                self.last += 1
                self.answered.release()
        except OSError:
            pass
        except Exception as error:
            if "IncompleteRead" not in type(error).__name__ and "RemoteDisconnected" not in type(error).__name__:
                raise

    def write(self, number: int) -> bool:
        """True when both writes were answered with 200."""
        item = {"pk": {"S": self.key}, "sk": {"N": str(number)}, "data": {"S": f"{self.key}{number}" * 20}}
        if self.server.call("PutItem", {"TableName": "numbers", "Item": item}).status != 200:
            return False
        update = {
            "TableName": "numbers",
            "Key": {"pk": {"S": self.key}, "sk": {"N": "0"}},
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        return self.server.call("UpdateItem", update).status == 200


def counter_of(server: ServerProcess, name: str) -> int:
    request = {"TableName": "numbers", "Key": {"pk": {"S": name}, "sk": {"N": "0"}}, "ConsistentRead": True}
    reply = server.call("GetItem", request).json()
    return int(reply["Item"]["n"]["N"]) if "Item" in reply else 0


def numbers_of(server: ServerProcess, name: str) -> set[int]:
    numbers: set[int] = set()
    request = {
        "TableName": "numbers",
        "KeyConditionExpression": "pk = :pk AND sk > :zero",
        "ExpressionAttributeValues": {":pk": {"S": name}, ":zero": {"N": "0"}},
    }
    while True:
        reply = server.call("Query", request).json()
        numbers |= {int(item["sk"]["N"]) for item in reply["Items"]}
        if "LastEvaluatedKey" not in reply:
            return numbers
        request["ExclusiveStartKey"] = reply["LastEvaluatedKey"]


def test_a_killed_server_loses_nothing_that_it_answered(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    server = ServerProcess(folder)
    assert server.call("CreateTable", TABLE).status == 200
    chance = random.Random(7)
    names = [f"writer{number}" for number in range(WRITERS)]
    counters = dict.fromkeys(names, 0)
    for kill in range(KILLS):
        answered = threading.Semaphore(0)
        writers = [Writer(server, name, counters[name], answered) for name in names]
        for _ in range(chance.randint(1, 150)):
            assert answered.acquire(timeout=30)
        server.kill()
        for writer in writers:
            writer.join()
        server = ServerProcess(folder)
        for writer in writers:
            counter = counter_of(server, writer.key)
            assert writer.last <= counter <= writer.last + 1, f"kill {kill}: {writer.key}"
            numbers = numbers_of(server, writer.key)
            assert set(range(1, counter + 1)) <= numbers <= set(range(1, counter + 2)), f"kill {kill}: {writer.key}"
            counters[writer.key] = counter
    server.stop()
    report = check_store(str(folder))
    assert report.faults == []
    assert report.row_count >= sum(counters.values())
