"""What buckets lose agrees with ConsumedCapacity to the unit, over random requests of all kinds;
on disk as in memory.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.conformance.vectors import vector_index
from tests.unit.throughput.admin import buckets_of

UNITS = 100_000
SOURCES = ("orders", '"orders"."global"', '"orders"."local"')


def create(client: Any) -> None:
    throughput = {"ReadCapacityUnits": UNITS // 300, "WriteCapacityUnits": UNITS // 300}
    client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "a", "b")],
        ProvisionedThroughput=throughput,
        GlobalSecondaryIndexes=[
            {
                "IndexName": "global",
                "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": throughput,
            }
        ],
        LocalSecondaryIndexes=[
            {
                "IndexName": "local",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )


class Requests:
    """Random requests, and the units that their replies report."""

    def __init__(self, client: Any, seed: int) -> None:
        self._client = client
        self._random = random.Random(seed)
        self.used: Counter[tuple[str, str]] = Counter()
        """(table or index, reads or writes) → units."""

    def key(self) -> dict[str, Any]:
        chosen = self._random
        return {"pk": {"S": chosen.choice("ab")}, "sk": {"S": chosen.choice("uvwxyz")}}

    def item(self) -> dict[str, Any]:
        chosen = self._random
        item = self.key() | {"text": {"S": "x" * chosen.choice([1, 1_500, 9_000])}}
        for name in "ab":
            if chosen.random() < 0.7:
                item[name] = {"S": chosen.choice("mn")}
        return item

    def count(self, reply: dict[str, Any], kind: str) -> None:
        consumed = reply.get("ConsumedCapacity") or []
        for one in consumed if isinstance(consumed, list) else [consumed]:
            if "ReadCapacityUnits" in one:
                kind = "reads"  # of a transaction that wrote, it is a replay
            self.used["orders", kind] += one["Table"]["CapacityUnits"]
            for units in one.get("LocalSecondaryIndexes", {}).values():
                self.used["orders", kind] += units["CapacityUnits"]
            for name, units in one.get("GlobalSecondaryIndexes", {}).items():
                self.used[name, kind] += units["CapacityUnits"]

    def one(self) -> None:  # noqa: C901 - a branch for each operation
        """Send one request of a random kind."""
        chosen, client = self._random, self._client
        common = {"ReturnConsumedCapacity": "INDEXES"}
        on_table = common | {"TableName": "orders"}
        consistent = chosen.random() < 0.5
        match chosen.randrange(18):
            case 0 | 1:
                self.count(client.put_item(Item=self.item(), **on_table), "writes")
            case 2:
                self.count(client.delete_item(Key=self.key(), **on_table), "writes")
            case 3:
                update: dict[str, Any] = {
                    "UpdateExpression": "SET a = :a",
                    "ExpressionAttributeValues": {":a": {"S": "n"}},
                }
                self.count(client.update_item(Key=self.key(), **update, **on_table), "writes")
            case 4:
                self.count(client.get_item(Key=self.key(), ConsistentRead=consistent, **on_table), "reads")
            case 5:
                keys = [{"pk": {"S": "a"}, "sk": {"S": name}} for name in chosen.sample("uvwxyz", 3)]
                asked = {"orders": {"Keys": keys, "ConsistentRead": consistent}}
                self.count(client.batch_get_item(RequestItems=asked, **common), "reads")
            case 6:
                index: dict[str, Any] = dict(chosen.choice([[], [("IndexName", "local")]]))
                condition: dict[str, Any] = {
                    "KeyConditionExpression": "pk = :k",
                    "ExpressionAttributeValues": {":k": {"S": "a"}},
                }
                read = client.query(
                    **condition, **index, Select="ALL_ATTRIBUTES", ConsistentRead=consistent, **on_table
                )
                self.count(read, "reads")
            case 7:
                index = dict(chosen.choice([[], [("IndexName", "global")]]))
                self.count(client.scan(Limit=chosen.randrange(1, 9), **index, **on_table), "reads")
            case 8:
                requests = [{"PutRequest": {"Item": self.item() | {"sk": {"S": name}}}} for name in "uv"]
                self.count(client.batch_write_item(RequestItems={"orders": requests}, **common), "writes")
            case 9:
                gets = [{"Get": {"TableName": "orders", "Key": self.key() | {"sk": {"S": name}}}} for name in "uv"]
                self.count(client.transact_get_items(TransactItems=gets, **common), "reads")
            case 10:
                puts = [{"Put": {"TableName": "orders", "Item": self.item() | {"sk": {"S": name}}}} for name in "uv"]
                self.count(client.transact_write_items(TransactItems=puts, **common), "writes")
            case 11:
                self.transact_twice(common)
            case 12:
                self.refused_put()
            case _:
                self.statement(common)

    def transact_twice(self, common: dict[str, Any]) -> None:
        """Write, delete and check items in one transaction, and send it again."""
        keys = [self.key() | {"sk": {"S": name}} for name in "uvw"]
        condition = {"ConditionExpression": "attribute_not_exists(absent)"}
        steps: list[dict[str, Any]] = [
            {"Put": {"TableName": "orders", "Item": self.item() | keys[0]}},
            {"Delete": {"TableName": "orders", "Key": keys[1]}},
            {"ConditionCheck": {"TableName": "orders", "Key": keys[2], **condition}},
        ]
        token = f"token-{self._random.random()}"
        for _ in range(2):
            reply = self._client.transact_write_items(TransactItems=steps, ClientRequestToken=token, **common)
            self.count(reply, "writes")

    def refused_put(self) -> None:
        """A write that its condition refuses uses the units of the existing item, in a transaction twice,
        but its reply does not tell.
        """
        key = self.key()
        found = self._client.get_item(TableName="orders", Key=key, ReturnConsumedCapacity="INDEXES")
        self.count(found, "reads")
        condition = {"ConditionExpression": "attribute_exists(absent)"}
        with pytest.raises(self._client.exceptions.ConditionalCheckFailedException):
            self._client.put_item(TableName="orders", Item=self.item() | key, **condition)
        put = {"TableName": "orders", "Item": self.item() | key}
        other = {"TableName": "orders", "Item": self.item() | {"sk": {"S": "t"}}}
        with pytest.raises(self._client.exceptions.TransactionCanceledException):
            self._client.transact_write_items(TransactItems=[{"Put": put | condition}, {"Put": other}])
        size_bytes = sum(len(name) + len(value["S"]) for name, value in found.get("Item", {}).items())
        self.used["orders", "writes"] += 3 * max(1, -(-size_bytes // 1024))

    def statement(self, common: dict[str, Any]) -> None:
        """Send statements of PartiQL: one, a batch or a transaction."""
        chosen, client = self._random, self._client
        key, text = self.key(), {"S": "y" * chosen.choice([1, 5_000])}
        where = {"Parameters": [key["pk"], key["sk"]]}
        select: dict[str, Any] = {"Statement": "SELECT * FROM orders WHERE pk = ? AND sk = ?", **where}
        other = select | {"Parameters": [key["pk"], {"S": "t"}]}
        select_page = {"Statement": f"SELECT * FROM {chosen.choice(SOURCES)} WHERE pk = 'a'"}
        update: dict[str, Any] = {
            "Statement": "UPDATE orders SET text = ? WHERE pk = ? AND sk = ? AND attribute_not_exists(absent)",
            "Parameters": [text, key["pk"], key["sk"]],
        }
        delete: dict[str, Any] = {"Statement": "DELETE FROM orders WHERE pk = ? AND sk = ?", **where}
        match chosen.randrange(5):
            case 0:
                self.count(client.execute_statement(**chosen.choice([select, select_page]), **common), "reads")
            case 1:
                self.count(client.execute_statement(**delete, **common), "writes")
            case 2:
                self.count(client.batch_execute_statement(Statements=[select, other], **common), "reads")
            case 3:
                self.count(client.batch_execute_statement(Statements=[delete], **common), "writes")
            case _:
                steps = chosen.choice([[select], [update]])
                put = client.put_item(TableName="orders", Item=self.item() | key, **common)
                self.count(put, "writes")
                done = client.execute_transaction(TransactStatements=steps, **common)
                self.count(done, "reads" if steps == [select] else "writes")


def served(database: Database, kind: str) -> float:
    """What the table's partitions have given."""
    partitions: dict[str, float] = buckets_of(database, "orders")["table"][kind]["partitions"]
    full = {"reads": 3_000, "writes": 1_000}[kind]
    return full * len(partitions) - sum(partitions.values())


def left(database: Database, kind: str, index: str | None = None) -> float:
    shown = buckets_of(database, "orders")
    side = shown["table"] if index is None else shown["indexes"][index]
    units: float = side[kind]["units_left"]
    return units


@pytest.mark.parametrize("seed", range(4))
def test_buckets_lose_what_replies_report(seed: int, tmp_path: Path) -> None:
    folder = None if seed % 2 else str(tmp_path / "data")
    with server(Settings(data_dir=folder, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client()
        create(client)
        burst = left(database, "reads")
        requests = Requests(client, seed)
        for _ in range(120):
            requests.one()
        for kind in ("reads", "writes"):
            assert burst - left(database, kind) == pytest.approx(requests.used["orders", kind])
            assert served(database, kind) == pytest.approx(requests.used["orders", kind])
            assert burst - left(database, kind, "global") == pytest.approx(requests.used["global", kind])


def test_items_that_a_batch_has_read_and_leaves_unprocessed_cost_nothing() -> None:
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client()
        create(client)
        keys = [{"pk": {"S": "a"}, "sk": {"S": str(number)}} for number in range(6)]
        for key in keys:
            client.put_item(TableName="orders", Item=key | {"text": {"S": "x" * 300_000}})
            database.clock.advance(1)
        burst = left(database, "reads")
        asked = {"orders": {"Keys": keys, "ConsistentRead": True}}
        reply = client.batch_get_item(RequestItems=asked, ReturnConsumedCapacity="TOTAL")
        assert len(reply["UnprocessedKeys"]["orders"]["Keys"]) == 3
        assert burst - left(database, "reads") == pytest.approx(reply["ConsumedCapacity"][0]["CapacityUnits"])


def test_reads_of_vectors_take_the_units_that_replies_report() -> None:
    """The numbers of the vector take 4.2 KB, its entry in the index 0.8."""
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client()
        projection = {"ProjectionType": "KEYS_ONLY"}
        index = vector_index("near", VectorAttribute={"AttributeName": "v"}, Dimensions=200, Projection=projection)
        client.create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            VectorIndexes=[index],
        )
        key = {"pk": {"S": "a"}}
        client.put_item(TableName="orders", Item=key | {"v": {"L": [{"N": "0." + "1" * 38}] * 200}})
        common = {"ReturnConsumedCapacity": "TOTAL"}
        replies = [
            client.get_item(TableName="orders", Key=key, ConsistentRead=True, **common),
            client.batch_get_item(RequestItems={"orders": {"Keys": [key], "ConsistentRead": True}}, **common),
            client.transact_get_items(TransactItems=[{"Get": {"TableName": "orders", "Key": key}}], **common),
        ]
        consumed = [reply["ConsumedCapacity"] for reply in replies]
        units = [one[0]["CapacityUnits"] if isinstance(one, list) else one["CapacityUnits"] for one in consumed]
        assert units == [1, 1, 2]
        assert served(database, "reads") == pytest.approx(sum(units))
