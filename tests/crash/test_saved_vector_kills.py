"""A server ends in order, or is killed while it does: searches of the next one find the same, from a file or not."""

import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded.check import check_store
from tests.conformance.vectors import vector_index
from tests.crash.harness import ROUNDS
from tests.crash.test_index_kills import TABLE, ask
from tests.crash.test_server_kills import ServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

KILLS = max(4, ROUNDS // 10)
COUNT = 1_200
"""Enough for a file."""
DIMENSIONS = 16
CREATED = TABLE | {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "VectorIndexes": [vector_index("all", Dimensions=DIMENSIONS)],
}


def put(server: ServerProcess, chance: random.Random, numbers: range) -> None:
    """Put items with random vectors."""
    for start in range(numbers.start, numbers.stop, 25):
        puts = []
        for number in range(start, min(start + 25, numbers.stop)):
            vector = {"L": [{"N": str(chance.randint(-9, 9))} for _ in range(DIMENSIONS - 1)] + [{"N": "1"}]}
            puts.append({"PutRequest": {"Item": {"id": {"S": f"v{number}"}, "embedding": vector}}})
        ask(server, "BatchWriteItem", RequestItems={"things": puts}, TableName=None)


def found(server: ServerProcess) -> Any:
    """What some searches find."""
    chance = random.Random(7)
    results = []
    for _ in range(4):
        wanted = [{"N": str(chance.randint(-9, 9))} for _ in range(DIMENSIONS)]
        search = {"TableName": "things", "IndexName": "all", "SearchVector": wanted, "TopK": 20}
        reply = server.call("SearchVectors", search)
        assert reply.status == 200, reply.body
        results.append(reply.json()["SearchResults"])
    return results


def names(folder: Path) -> list[str]:
    """The files of parts, finished ones and one that is being written."""
    try:
        return os.listdir(folder / "vectors")
    except FileNotFoundError:
        return []


def test_the_first_search_after_a_start_reads_a_file(tmp_path: Path) -> None:
    folder, chance = tmp_path / "data", random.Random(1)
    server = ServerProcess(folder)
    ask(server, "CreateTable", **CREATED)
    put(server, chance, range(COUNT))
    expected = found(server)
    server.stop()
    (name,) = names(folder)
    for _ in range(2):
        server = ServerProcess(folder)
        server.stop()
        assert names(folder) == [name], "nobody has searched"
    server = ServerProcess(folder)
    assert found(server) == expected
    put(server, chance, range(20))
    changed = found(server)
    server.stop()
    assert names(folder) != [name]
    server = ServerProcess(folder)
    put(server, random.Random(1), range(20))
    assert found(server) == expected != changed
    server.kill()
    server = ServerProcess(folder)
    assert found(server) == expected
    server.stop()
    assert check_store(str(folder)).faults == []


def test_many_clients_search_and_write_while_a_file_is_read(tmp_path: Path) -> None:
    folder, chance = tmp_path / "data", random.Random(3)
    server = ServerProcess(folder)
    ask(server, "CreateTable", **CREATED)
    put(server, chance, range(2 * COUNT))
    for round_number in range(KILLS // 2):
        expected = found(server)
        server.stop()
        assert len(names(folder)) == 1
        server = ServerProcess(folder)
        with ThreadPoolExecutor(6) as clients:
            searches = [clients.submit(found, server) for _ in range(4)]
            for client in range(2):
                start = 1_000 * client + 100 * round_number
                clients.submit(put, server, random.Random(start), range(start, start + 100))
        for search in searches:
            assert [len(results) for results in search.result()] == [len(results) for results in expected]
        read = found(server)
        server.kill()
        server = ServerProcess(folder)
        assert found(server) == read, f"round {round_number}"
    server.stop()
    assert check_store(str(folder)).faults == []


def test_kills_while_a_server_ends(tmp_path: Path) -> None:
    folder, chance = tmp_path / "data", random.Random(2)
    server = ServerProcess(folder)
    ask(server, "CreateTable", **CREATED)
    put(server, chance, range(COUNT))
    for kill in range(KILLS):
        expected = found(server)
        server.process.terminate()
        looks, looks_max = 0, chance.choice((1, 1, 2, 5, 50))
        while looks < looks_max and server.process.poll() is None:
            looks += bool(names(folder))
        server.kill()
        server = ServerProcess(folder)
        assert found(server) == expected, f"kill {kill}"
        put(server, chance, range(10 * kill, 10 * kill + 10))
    server.stop()
    assert check_store(str(folder)).faults == []
