"""A server killed while it writes vectors, fills a vector index, or searches: the entries are those of the items, and a
search finds all of them.
"""

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.inspect import inspect_store
from tests.conformance.vectors import search_schema, vector, vector_index
from tests.crash.harness import ROUNDS
from tests.crash.test_index_kills import POLLS_MAX, TABLE, Changer, Item, ask, load, scan
from tests.crash.test_server_kills import ServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

KILLS = max(2, ROUNDS // 15)
VECTORS = 60
"""Items with a vector: at most as many as one search may find."""
WITHOUT_DELAY = ("--vector-index-delay", "0")
ALL = vector_index("all")
OF_TENANT = vector_index("of-tenant", DistanceFunction="EUCLIDEAN", SearchSchema=search_schema("tenant", "kind"))
SEARCH = {"TableName": "things", "IndexName": "all", "SearchVector": vector(1, 1, 1)["L"], "TopK": 100}
DEFINED = [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "tenant", "kind")]


def document(number: int, round_number: int = 0) -> Item:
    """An item with a vector; every fifth has no tenant."""
    chance = random.Random(1_000 * number + round_number)
    item = {"id": {"S": f"v{number}"}, "kind": {"S": "note"}, "text": {"S": "x" * chance.randrange(2_000)}}
    if number % 5:
        item["tenant"] = {"S": f"tenant{(number + round_number) % 2}"}
    return item | {"embedding": vector(*[round(chance.random(), 3) for _ in range(3)])}


class Writer(Changer):
    """Puts, changes and deletes items with vectors, and searches, until the server is gone."""

    def step(self, round_number: int) -> None:
        """One request."""
        number, kind = self.chance.randrange(VECTORS), self.chance.random()
        if kind < 0.2:
            ask(self.server, "DeleteItem", Key={"id": {"S": f"v{number}"}})
        elif kind < 0.4:
            puts = [
                {"Put": {"TableName": "things", "Item": document(one, round_number)}}
                for one in range(number, number + 3)
            ]
            ask(self.server, "TransactWriteItems", TransactItems=puts)
        elif kind < 0.7:
            self.server.call("SearchVectors", SEARCH)  # is refused while the index is being filled
        else:
            ask(self.server, "PutItem", Item=document(number, round_number))


def search(server: ServerProcess, index: str, **members: Any) -> set[str]:
    """Ids of the items that a search finds."""
    reply = server.call("SearchVectors", SEARCH | {"IndexName": index} | members)
    assert reply.status == 200, reply.body
    results = reply.json()["SearchResults"]
    found = {one["Item"]["id"]["S"] for one in results}
    assert len(found) == len(results)
    return found


def faults(server: ServerProcess) -> list[str]:
    """What is wrong with the searches of both indexes, by the items that there are."""
    items = [item for item in scan(server, ConsistentRead=True).values() if "embedding" in item]
    expected = {"all": {item["id"]["S"] for item in items}}
    found = {"all": search(server, "all")}
    for name in ("tenant0", "tenant1"):
        expected[name] = {item["id"]["S"] for item in items if item.get("tenant") == {"S": name}}
        values = {":t": {"S": name}, ":k": {"S": "note"}}
        condition = {"SearchConditionExpression": "tenant = :t AND kind = :k", "ExpressionAttributeValues": values}
        found[name] = search(server, "of-tenant", **condition)
    counts = {one["IndexName"]: one["ItemCount"] for one in vector_indexes(server)}
    assert counts == {"all": len(expected["all"]), "of-tenant": len(expected["tenant0"] | expected["tenant1"])}
    return [f"{name}: {sorted(found[name] ^ expected[name])}" for name in expected if found[name] != expected[name]]


def vector_indexes(server: ServerProcess) -> Any:
    """The descriptions of the table's vector indexes."""
    return ask(server, "DescribeTable")["Table"].get("VectorIndexes", [])


def test_entries_survive_kills_during_writes_and_searches(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    chance = random.Random(12)
    server = ServerProcess(folder)
    ask(server, "CreateTable", **TABLE | {"AttributeDefinitions": DEFINED, "VectorIndexes": [ALL, OF_TENANT]})
    for kill in range(KILLS):
        writers = [Writer(server, seed=kill * 10 + number) for number in range(3)]
        for _ in range(chance.randrange(20, 120)):
            search(server, "all")
        server.kill()
        for writer in writers:
            writer.join()
        assert check_store(str(folder)).faults == [], f"kill {kill}"
        server = ServerProcess(folder)
        assert faults(server) == [], f"kill {kill}"
    server.stop()
    assert check_store(str(folder)).faults == []


def test_a_vector_index_is_complete_whenever_its_server_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    chance = random.Random(13)
    server = ServerProcess(folder, *WITHOUT_DELAY)
    ask(server, "CreateTable", **TABLE | {"AttributeDefinitions": DEFINED, "VectorIndexes": [OF_TENANT]})
    load(server)
    for number in range(VECTORS):
        ask(server, "PutItem", Item=document(number))
    interrupted = 0
    for kill in range(10 * KILLS):
        if kill >= KILLS and interrupted:
            break
        ask(server, "UpdateTable", VectorIndexUpdates=[{"Create": ALL}])
        writers = [Writer(server, seed=kill * 10 + number) for number in range(2)]
        for _ in range(chance.randrange(8)):
            vector_indexes(server)
        server.kill()
        for writer in writers:
            writer.join()
        assert check_store(str(folder)).faults == [], f"kill {kill}"
        added = inspect_store(str(folder)).tables[0][0].schema.vector_indexes[-1]
        assert added.name == "all"
        interrupted += added.state == "CREATING"
        server = ServerProcess(folder, *WITHOUT_DELAY)
        for _ in range(POLLS_MAX):
            if {one["IndexStatus"] for one in vector_indexes(server)} == {"ACTIVE"}:
                break
        assert faults(server) == [], f"kill {kill}"
        ask(server, "UpdateTable", VectorIndexUpdates=[{"Delete": {"IndexName": "all"}}])
        assert [one["IndexName"] for one in vector_indexes(server)] == ["of-tenant"]
    server.stop()
    assert check_store(str(folder)).faults == []
    assert interrupted, "no kill came while the index was being filled"
