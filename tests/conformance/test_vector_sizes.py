"""Sizes of items with vectors: where a vector counts four bytes for each dimension, and where its numbers count.

Source: service behaviour, captures of October 2026.
"""

from typing import Any

from tests.conformance.propagation import propagated
from tests.conformance.tables import definitions
from tests.conformance.vectors import VectorTable, search_schema, vector, vector_index
from tests.support.raw_client import RawClient

LONG = "0." + "1" * 38
"""A number of 20 bytes."""
LIST_BYTES = 3 + 3 * (1 + 20)
"""The size of a list of three of these."""
AS_NUMBERS = 3 + 9 + LIST_BYTES
"""The size of an item with the attributes `id`, of one letter, and `embedding`."""
AS_VECTOR = 3 + 9 + 12
"""What it counts if an index holds its vector."""


def size(table: VectorTable) -> int:
    """TableSizeBytes."""
    return int(table.ask("DescribeTable")["Table"]["TableSizeBytes"])


def put(table: VectorTable, *keys: str, number: str = LONG, **attributes: Any) -> None:
    for key in keys:
        table.put(key, [number] * 3, **attributes)


def test_the_size_of_a_table_follows_its_indexes(raw: RawClient) -> None:
    table = VectorTable(raw, VectorIndexes=None)
    put(table, "a", "b")
    table.put("c")
    assert size(table) == 2 * AS_NUMBERS + 3
    table.create(vector_index("one"))
    table.wait("one")
    assert size(table) == 2 * AS_VECTOR + 3
    table.create(vector_index("two"))
    table.wait("two")
    assert size(table) == 2 * AS_VECTOR + 3
    for name, expected in (("one", 2 * AS_VECTOR + 3), ("two", 2 * AS_NUMBERS + 3)):
        table.ask("UpdateTable", VectorIndexUpdates=[{"Delete": {"IndexName": name}}])
        table.wait(name, None)
        assert size(table) == expected


def test_the_size_of_a_table_follows_its_items(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    put(table, "a", "b")
    assert size(table) == 2 * AS_VECTOR
    put(table, "a", number="0")
    assert size(table) == 2 * AS_VECTOR
    put(table, "b", number="0." + "1" * 30)  # the same floats
    assert size(table) == 2 * AS_VECTOR
    put(table, "a", text="x" * 10)
    assert size(table) == 2 * AS_VECTOR + 14
    steps = [{"Put": {"TableName": table.name, "Item": table.item(key, [LONG] * 3)}} for key in "ac"]
    assert raw("TransactWriteItems", {"TransactItems": steps}).status == 200
    assert size(table) == 3 * AS_VECTOR
    table.ask("UpdateItem", Key={"id": {"S": "c"}}, UpdateExpression="REMOVE embedding")
    assert size(table) == 2 * AS_VECTOR + 3
    for key in "abc":
        table.ask("DeleteItem", Key={"id": {"S": key}})
    assert size(table) == 0


def test_the_reply_to_a_deletion_has_the_same_size(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    put(table, "a")
    assert table.ask("DeleteTable")["TableDescription"]["TableSizeBytes"] == AS_VECTOR


def test_a_vector_that_no_index_holds_counts_its_numbers(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index(SearchSchema=search_schema("tenant")))
    put(table, "a", tenant="t")
    put(table, "b")
    assert size(table) == AS_VECTOR + 7 + AS_NUMBERS
    table.create(vector_index("all"))
    table.wait("all")
    assert size(table) == AS_VECTOR + 7 + AS_VECTOR


def test_two_attributes_count_each(raw: RawClient) -> None:
    other = vector_index("other", VectorAttribute={"AttributeName": "other"}, Dimensions=2)
    table = VectorTable(raw, vector_index(), other)
    put(table, "a", other=vector(LONG, LONG))
    assert size(table) == AS_VECTOR + 5 + 8


def test_the_limit_of_items_counts_numbers(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    longest = 400 * 1024 - AS_NUMBERS - len("text")
    put(table, "a", text="x" * longest)
    item = table.item("a", [LONG] * 3, text="x" * (longest + 1))
    told = table.refusal("PutItem", Item=item)
    assert told == ("ValidationException", "Item size has exceeded the maximum allowed size")


def test_secondary_indexes_count_numbers(raw: RawClient) -> None:
    projection = {"Projection": {"ProjectionType": "ALL"}}
    key = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
    local = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]
    table = VectorTable(
        raw,
        vector_index(),
        AttributeDefinitions=definitions("id", "at", "n"),
        KeySchema=key,
        GlobalSecondaryIndexes=[
            {"IndexName": "global", "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}], **projection}
        ],
        LocalSecondaryIndexes=[{"IndexName": "local", "KeySchema": local, **projection}],
    )
    fixed = AS_VECTOR + 3 + 2 + len("text")
    item = table.item("a", [LONG] * 3, at="1", n="n", text="x" * (1024 - fixed))
    consumed = table.ask("PutItem", Item=item, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert consumed["Table"] == {"CapacityUnits": 1.0}
    assert consumed["GlobalSecondaryIndexes"] == {"global": {"CapacityUnits": 2.0}}
    assert consumed["LocalSecondaryIndexes"] == {"local": {"CapacityUnits": 2.0}}
    propagated(raw)
    described = table.ask("DescribeTable")["Table"]
    stored = 1024 - AS_VECTOR + AS_NUMBERS
    assert [one["IndexSizeBytes"] for one in described["GlobalSecondaryIndexes"]] == [stored]
    assert [one["IndexSizeBytes"] for one in described["LocalSecondaryIndexes"]] == [stored]
    assert described["TableSizeBytes"] == 1024


def test_reads_of_secondary_indexes_count_numbers(raw: RawClient) -> None:
    index = {
        "IndexName": "global",
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    table = VectorTable(
        raw, vector_index(), AttributeDefinitions=definitions("id", "n"), GlobalSecondaryIndexes=[index]
    )
    table.put("a", [LONG] * 3, n="n", text="x" * (4096 - AS_VECTOR - 2 - len("text")))
    propagated(raw)
    for members, units in (({}, 0.5), ({"IndexName": "global"}, 1.0)):
        consumed = table.ask("Scan", ReturnConsumedCapacity="TOTAL", **members)["ConsumedCapacity"]
        assert consumed["CapacityUnits"] == units
