"""Writes of items with vectors: what is refused, what the indexes then hold, and what is charged."""

from typing import Any

import pytest

from tests.conformance.tables import fresh_name
from tests.conformance.vectors import VectorTable, charged, search_schema, vector, vector_index
from tests.support.raw_client import RawClient

INVALID = "One or more parameter values were invalid. "
NOT_VALID = "One or more parameter values are not valid. "
SCHEMA = {"SearchSchema": search_schema("tenant", "kind")}
GOOD = (1, 2, 3)


@pytest.fixture(scope="module")
def table(raw: RawClient) -> VectorTable:
    """A table with two indexes, of which `schema` has a search schema."""
    return VectorTable(raw, vector_index("schema", **SCHEMA), vector_index("plain"))


NO_LISTS: list[Any] = [{"S": "text"}, {"N": "1"}, {"NS": ["1", "2", "3"]}, {"NULL": True}, {"M": {}}]
BAD_VECTORS: list[tuple[Any, str]] = [
    *[
        (value, "Invalid type for parameter embedding, Expected: 32-bit floating point number list IndexName: plain")
        for value in NO_LISTS
    ],
    (vector(1, 2), "Invalid size for parameter embedding, Expected: 3, Actual: 2 IndexName: plain"),
    (vector(), "Invalid size for parameter embedding, Expected: 3, Actual: 0 IndexName: plain"),
    ({"L": [{"S": "x"}] * 4}, "Invalid size for parameter embedding, Expected: 3, Actual: 4 IndexName: plain"),
    (
        {"L": [{"N": "1"}, {"S": "2"}, {"N": "3"}]},
        "Invalid type for parameter embedding[1], Expected: 32-bit floating point number, Actual: S. IndexName: plain",
    ),
    (
        vector(1, "1.3e40", 3),
        (
            "Invalid value for parameter embedding[1], "
            "Value: 1.3E+40 is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: plain"
        ),
    ),
    (
        vector("-3.4028236e38", 1, 1),
        (
            "Invalid value for parameter embedding[0], "
            "Value: -3.4028236E+38 is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: plain"
        ),
    ),
]
EMPTY_IN_ITEM = (
    NOT_VALID + "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute"
    " cannot contain an empty string value. IndexName: schema, IndexKey: tenant"
)
EMPTY_BY_UPDATE = (
    NOT_VALID + "The update expression attempted to update a secondary index key to a value that is not supported. The"
    " AttributeValue for a key attribute cannot contain an empty string value."
)
TYPE = INVALID + "Attribute '{name}' type mismatch. Expected: S, Actual: N. IndexName: schema"


def written(table: VectorTable, way: str, attributes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A request of some operation that gives an item these attributes."""
    item = {"id": {"S": "refused"}} | attributes
    values = {f":v{number}": value for number, value in enumerate(attributes.values())}
    assigned = ", ".join(f"{name} = :v{number}" for number, name in enumerate(attributes))
    update = {"Key": {"id": {"S": "refused"}}, "UpdateExpression": f"SET {assigned}"}
    update["ExpressionAttributeValues"] = values
    match way:
        case "PutItem":
            return way, {"Item": item}
        case "UpdateItem":
            return way, update
        case "BatchWriteItem":
            puts = [{"PutRequest": {"Item": one}} for one in (table.item("refused too", GOOD), item)]
            return way, {"RequestItems": {table.name: puts}}
        case "INSERT":
            members = ", ".join(f"'{name}': ?" for name in item)
            statement = f'INSERT INTO "{table.name}" VALUE {{{members}}}'
            return "ExecuteStatement", {"Statement": statement, "Parameters": list(item.values())}
        case _:
            put = {"Put": {"TableName": table.name, "Item": item}}
            return "TransactWriteItems", {"TransactItems": [put]}


def refused(table: VectorTable, way: str, attributes: dict[str, Any]) -> tuple[str, str | None]:
    """Code and message of the refusal to write these attributes."""
    operation, members = written(table, way, attributes)
    return table.refusal(operation, **members)


WAYS = ["PutItem", "UpdateItem", "BatchWriteItem", "INSERT", "TransactWriteItems"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("value", "text"), BAD_VECTORS)
def test_bad_vectors_are_refused(table: VectorTable, way: str, value: Any, text: str) -> None:
    before = table.counts()
    code, told = refused(table, way, {"embedding": value})
    if way == "TransactWriteItems":
        assert code == "TransactionCanceledException"
    else:
        assert (code, told) == ("ValidationException", INVALID + text)
    assert table.counts() == before


@pytest.mark.parametrize("way", WAYS)
def test_bad_search_attributes_are_refused(table: VectorTable, way: str) -> None:
    for attributes, text in (
        ({"tenant": {"N": "1"}}, TYPE.format(name="tenant")),
        ({"kind": {"N": "1"}}, TYPE.format(name="kind")),
        ({"tenant": {"S": ""}}, EMPTY_BY_UPDATE if way == "UpdateItem" else EMPTY_IN_ITEM),
    ):
        code, told = refused(table, way, attributes)
        if code != "TransactionCanceledException":
            assert (code, told) == ("ValidationException", text)
        else:
            assert text not in (EMPTY_IN_ITEM, EMPTY_BY_UPDATE)


def test_an_empty_filter_attribute_is_fine(table: VectorTable) -> None:
    table.put("empty filter", GOOD, tenant="t", kind="")


def test_what_an_update_does_not_change_may_be_bad(raw: RawClient) -> None:
    table = VectorTable(raw, VectorIndexes=None)
    table.put("a", {"S": "text"}, tenant={"N": "1"})
    table.create(vector_index("schema", **SCHEMA), "tenant", "kind")
    table.wait("schema")
    key = {"Key": {"id": {"S": "a"}}}
    values = {":v": vector(*GOOD), ":t": {"S": "t"}}
    table.ask("UpdateItem", **key, UpdateExpression="SET note = :t", ExpressionAttributeValues={":t": values[":t"]})
    table.ask(
        "UpdateItem", **key, UpdateExpression="SET embedding = :v", ExpressionAttributeValues={":v": values[":v"]}
    )
    assert table.counts()["schema"][0] == 0
    table.ask("UpdateItem", **key, UpdateExpression="SET tenant = :t", ExpressionAttributeValues={":t": values[":t"]})
    assert table.counts()["schema"][0] == 1
    code, text = table.refusal(
        "UpdateItem", **key, UpdateExpression="SET embedding[1] = :t", ExpressionAttributeValues={":t": values[":t"]}
    )
    assert code == "ValidationException"
    assert "parameter embedding[1], Expected: 32-bit floating point number, Actual: S" in str(text)


def test_the_table_keeps_the_numbers_as_they_are(table: VectorTable) -> None:
    numbers = ["0.1", "16777217", "1.000000059604644775390625"]
    table.put("digits", numbers)
    read = table.ask("GetItem", Key={"id": {"S": "digits"}}, ConsistentRead=True)["Item"]
    assert read["embedding"] == vector(*numbers)


def test_the_largest_number_is_fine(table: VectorTable) -> None:
    table.put("largest", ["3.4028235e38", "-3.4028235e38", "1e-130"])


# --- what the indexes hold ------------------------------------------------------------------------


def test_an_item_is_in_an_index_while_it_fits(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index("schema", **SCHEMA), vector_index("plain"))
    steps: list[tuple[str, dict[str, Any], tuple[int, int]]] = [
        ("SET tenant = :t", {":t": {"S": "t"}}, (0, 0)),
        ("SET embedding = :v", {":v": vector(*GOOD)}, (1, 1)),
        ("REMOVE tenant", {}, (0, 1)),
        ("SET tenant = :t", {":t": {"S": "u"}}, (1, 1)),
        ("SET tenant = :t", {":t": {"S": "other"}}, (1, 1)),
        ("REMOVE embedding", {}, (0, 0)),
        ("SET embedding = :v", {":v": vector(*GOOD)}, (1, 1)),
    ]
    for expression, values, expected in steps:
        members = {"ExpressionAttributeValues": values} if values else {}
        table.ask("UpdateItem", Key={"id": {"S": "a"}}, UpdateExpression=expression, **members)
        counts = table.counts()
        assert (counts["schema"][0], counts["plain"][0]) == expected, expression
    assert table.counts()["plain"] == (1, 3 + 21 + 11)
    table.ask("DeleteItem", Key={"id": {"S": "a"}})
    assert table.counts() == {"schema": (0, 0), "plain": (0, 0)}


def test_sizes_follow_the_projection(raw: RawClient) -> None:
    include = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]}
    table = VectorTable(
        raw,
        vector_index("all"),
        vector_index("keys", Projection={"ProjectionType": "KEYS_ONLY"}),
        vector_index("include", Projection=include, SearchSchema=search_schema("tenant", "kind")),
    )
    table.put("a", GOOD, tenant="t", kind="k", title="0123456789", more="x" * 100)
    least = 3 + 9 + 12
    assert table.counts() == {
        "all": (1, least + 7 + 5 + 15 + 104),
        "keys": (1, least),
        "include": (1, least + 7 + 5 + 15),
    }


# --- capacity -------------------------------------------------------------------------------------


def long_vector(dimensions: int) -> list[float]:
    return [number / 4 for number in range(dimensions)]


def test_examples_of_the_service(raw: RawClient) -> None:
    """Source: service behaviour, captures of August 2026."""
    blob = "x" * 2000
    for dimensions, expected, with_blob in ((8, 1024, 2051), (1024, 4111, 6115), (2048, 8207, None)):
        indexes = [
            vector_index("all", Dimensions=dimensions, VectorAttribute={"AttributeName": "emb"}),
            vector_index(
                "keys",
                Dimensions=dimensions,
                VectorAttribute={"AttributeName": "emb"},
                Projection={"ProjectionType": "KEYS_ONLY"},
                SearchSchema=search_schema("tenant"),
            ),
        ]
        table = VectorTable(raw, *indexes)
        emb = vector(*long_vector(dimensions))
        assert table.put("a1", emb=emb, tenant="t1") == {"all": expected, "keys": expected}
        if with_blob is not None:
            assert table.put("a1", emb=emb, tenant="t1", blob=blob) == {"all": with_blob}
            assert table.put("a2", emb=emb, tenant="t1", blob=blob) == {"all": with_blob, "keys": expected}


def test_only_entries_that_change_are_charged(raw: RawClient) -> None:
    keys = vector_index("keys", Projection={"ProjectionType": "KEYS_ONLY"}, SearchSchema=search_schema("tenant"))
    table = VectorTable(raw, vector_index("all"), keys)
    blob = "x" * 3000
    size = 3 + 21 + 7 + 4 + 3000
    assert table.put("a", tenant="t", blob=blob) == {}
    assert table.put("a", GOOD, tenant="t", blob=blob) == {"all": size, "keys": 1024}
    assert table.put("a", GOOD, tenant="t", blob=blob) == {}
    assert table.put("a", GOOD, tenant="t", blob="y" * 2000) == {"all": size}
    assert table.put("a", GOOD, tenant="u", blob="y" * 2000) == {"all": size - 1000, "keys": 2048}
    assert table.put("a", GOOD, blob="y" * 2000) == {"all": size - 1000, "keys": 1024}
    reply = table.ask("DeleteItem", Key={"id": {"S": "a"}}, ReturnConsumedCapacity="INDEXES")
    assert charged(reply["ConsumedCapacity"]) == {"all": size - 1007}


def test_bytes_are_no_units_and_not_told_in_total(table: VectorTable) -> None:
    item = table.item("told", GOOD)
    told = table.ask("PutItem", Item=item, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert told == {"TableName": table.name, "CapacityUnits": 1.0}
    item = table.item("told", (3, 2, 1))
    told = table.ask("PutItem", Item=item, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert told == {
        "TableName": table.name,
        "CapacityUnits": 1.0,
        "Table": {"CapacityUnits": 1.0},
        "VectorIndexes": {"plain": {"VectorWriteRequestBytes": 1024.0}},
    }


def test_batches_and_transactions_tell_the_sum(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    items = [table.item(f"item{number}", GOOD) for number in range(3)]
    batch = {table.name: [{"PutRequest": {"Item": item}} for item in items]}
    reply = raw("BatchWriteItem", {"RequestItems": batch, "ReturnConsumedCapacity": "INDEXES"}).json()
    assert [charged(one) for one in reply["ConsumedCapacity"]] == [{"plain": 3072.0}]
    steps = [{"Delete": {"TableName": table.name, "Key": {"id": item["id"]}}} for item in items]
    reply = raw("TransactWriteItems", {"TransactItems": steps, "ReturnConsumedCapacity": "INDEXES"}).json()
    (told,) = reply["ConsumedCapacity"]
    assert told["VectorIndexes"] == {"plain": {"VectorWriteRequestBytes": 3072.0}}
    assert told["CapacityUnits"] == told["WriteCapacityUnits"] == 6.0


def test_a_table_of_another_name_has_its_own_sum(raw: RawClient) -> None:
    tables = [VectorTable(raw, vector_index(fresh_name("index"))) for _ in range(2)]
    batch = {table.name: [{"PutRequest": {"Item": table.item("a", GOOD)}}] for table in tables}
    reply = raw("BatchWriteItem", {"RequestItems": batch, "ReturnConsumedCapacity": "INDEXES"}).json()
    told = {one["TableName"]: charged(one) for one in reply["ConsumedCapacity"]}
    assert told == {table.name: dict.fromkeys(table.described(), 1024.0) for table in tables}


# --- units of the table itself --------------------------------------------------------------------

LONG_NUMBER = "0." + "1" * 38
"""A number of 21 bytes."""


def billed_item(table: VectorTable, key: str, billed_bytes: int) -> dict[str, Any]:
    """An item with a vector of long numbers that is charged for this many bytes; it has 54 bytes more."""
    fixed = 2 + len(key) + len("embedding") + 12 + len("note")
    return table.item(key, [LONG_NUMBER] * 3, note="x" * (billed_bytes - fixed))


def units_of(reply: dict[str, Any]) -> float:
    consumed = reply["ConsumedCapacity"]
    (one,) = consumed if isinstance(consumed, list) else [consumed]
    return float(one["CapacityUnits"])


def test_a_dimension_counts_four_bytes_in_units(raw: RawClient) -> None:
    """Source: service behaviour, captures of October 2026."""
    table = VectorTable(raw, vector_index("one"), vector_index("two"))
    total = {"ReturnConsumedCapacity": "TOTAL"}
    for billed_bytes, units in ((1024, 1.0), (1025, 2.0)):
        item = billed_item(table, "written", billed_bytes)
        assert units_of(table.ask("PutItem", Item=item, **total)) == units
    for billed_bytes, units in ((4096, 1.0), (4097, 2.0)):
        key = f"read{billed_bytes}"
        table.ask("PutItem", Item=billed_item(table, key, billed_bytes))
        consistent = {"ConsistentRead": True} | total
        assert units_of(table.ask("GetItem", Key={"id": {"S": key}}, **consistent)) == units
        condition = {
            "KeyConditionExpression": "id = :id",
            "ExpressionAttributeValues": {":id": {"S": key}},
        }
        assert units_of(table.ask("Query", **condition, **consistent)) == units
        batch = {table.name: {"Keys": [{"id": {"S": key}}], "ConsistentRead": True}}
        assert units_of(raw("BatchGetItem", {"RequestItems": batch} | total).json()) == units
        gets = [{"Get": {"TableName": table.name, "Key": {"id": {"S": key}}}}]
        assert units_of(raw("TransactGetItems", {"TransactItems": gets} | total).json()) == 2 * units
        statement = {"Statement": f"SELECT * FROM \"{table.name}\" WHERE id = '{key}'", "ConsistentRead": True}
        assert units_of(raw("ExecuteStatement", statement | total).json()) == units
    table.ask("DeleteItem", Key={"id": {"S": "written"}})
    table.ask("DeleteItem", Key={"id": {"S": "read4097"}})
    assert units_of(table.ask("Scan", ConsistentRead=True, **total)) == 1.0


def test_without_an_index_the_numbers_count(raw: RawClient) -> None:
    table = VectorTable(raw, VectorIndexes=None)
    total = {"ReturnConsumedCapacity": "TOTAL"}
    assert units_of(table.ask("PutItem", Item=billed_item(table, "a", 1024), **total)) == 2.0
    table.create(vector_index())
    table.wait("plain")
    assert units_of(table.ask("PutItem", Item=billed_item(table, "a", 1024), **total)) == 1.0
