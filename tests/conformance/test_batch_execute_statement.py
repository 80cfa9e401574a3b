"""BatchExecuteStatement: all reads or all writes, each with its own reply or error."""

from typing import Any

from tests.conformance.item_tables import DataTable, fresh_key, number
from tests.conformance.partiql import statement
from tests.conformance.tables import validation

KEY_NOT_FIXED = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
TWICE = "Provided list of item keys contains duplicates"


def batch(table: DataTable, *statements: Any, **members: Any) -> Any:
    """The replies of a batch, which must succeed."""
    reply = table.raw("BatchExecuteStatement", {"Statements": list(statements)} | members)
    assert reply.status == 200, reply.body
    return reply.json()


def refused(table: DataTable, *statements: Any, **members: Any) -> str | None:
    return validation(table.raw, "BatchExecuteStatement", {"Statements": list(statements)} | members)


def select(table: DataTable, key: Any, rest: str = "") -> Any:
    return statement(table, f"SELECT * FROM {{t}} WHERE pk = ? {rest}", key["pk"]) | {"ConsistentRead": True}


def test_reads_answer_in_their_order(table: DataTable) -> None:
    one, two, three = fresh_key(), fresh_key(), fresh_key()
    table.put(one | {"a": number(1)})
    table.put(two | {"a": number(2)})
    replies = batch(table, select(table, two), select(table, three), select(table, one), select(table, fresh_key()))
    name = {"TableName": table.name}
    assert replies == {
        "Responses": [name | {"Item": two | {"a": number(2)}}, name, name | {"Item": one | {"a": number(1)}}, name]
    }


def test_a_read_may_have_a_projection_but_no_further_condition(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    named = statement(table, "SELECT a FROM {t} WHERE pk = ?", key["pk"]) | {"ConsistentRead": True}
    conditions = ("attribute_exists(a)", "attribute_exists(a) = true", "a = 1", "a IS NUMERIC", "NOT a = 2", "pk = 'x'")
    replies = batch(table, named, *[select(table, fresh_key(), f"AND {each}") for each in conditions])["Responses"]
    assert replies[0] == {"TableName": table.name, "Item": {"a": number(1)}}
    assert replies[1:] == [{"Error": {"Code": "ValidationError", "Message": KEY_NOT_FIXED}}] * len(conditions)
    absent = statement(table, "SELECT a FROM {t} WHERE pk = ?", fresh_key()["pk"])
    assert batch(table, absent)["Responses"] == [{"TableName": table.name}]


def test_a_statement_that_fails_has_its_error_in_its_place(table: DataTable) -> None:
    key, fresh = fresh_key(), fresh_key()
    table.put(key | {"a": number(1)})
    replies = batch(
        table,
        statement(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"]),
        statement(table, "INSERT INTO {t} VALUE {'pk': ?, 'b': 1}", fresh["pk"]),
        statement(table, "UPDATE {t} SET a = 2 WHERE pk = 'nobody'"),
        statement(table, "UPDATE {t} SET a = 2 WHERE a = 1"),
        statement(table, "DROP TABLE {t}"),
        statement(table, "DELETE FROM nowhere WHERE pk = 'x'"),
    )["Responses"]
    name = {"TableName": table.name}
    assert replies == [
        name | {"Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}},
        name,
        name | {"Error": {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}},
        {
            "Error": {
                "Code": "ValidationError",
                "Message": "Where clause does not contain a mandatory equality on all key attributes",
            }
        },
        {
            "Error": {
                "Code": "ValidationError",
                "Message": "Statement wasn't well formed, can't be processed: Expected data manipulation",
            }
        },
        {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}},
    ]
    assert table.get(fresh) == fresh | {"b": number(1)}


def test_a_missing_item_is_deleted_whatever_its_conditions(table: DataTable) -> None:
    key = fresh_key()
    delete = statement(table, "DELETE FROM {t} WHERE pk = ? AND a = 1 RETURNING ALL OLD *", key["pk"])
    assert batch(table, delete)["Responses"] == [{"TableName": table.name}]
    table.put(key | {"a": number(2)})
    (reply,) = batch(table, delete)["Responses"]
    assert reply["Error"]["Code"] == "ConditionalCheckFailed"


def test_text_that_does_not_read_is_told_without_a_number(table: DataTable) -> None:
    replies = batch(table, statement(table, "SELECT * FROM {t} WHERE NOT"), select(table, fresh_key()))["Responses"]
    message = "Statement wasn't well formed, can't be processed: Unexpected term"
    assert replies[0] == {"Error": {"Code": "ValidationError", "Message": message}}


def test_a_failed_condition_shows_its_item_when_asked(table: DataTable) -> None:
    key, missing = fresh_key(), fresh_key()
    table.put(key | {"a": number(1)})
    update = "UPDATE {t} SET a = 2 WHERE pk = ? AND a = 3"
    shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    failed = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    for asked, item, expected in (
        (shown, key, failed | {"Item": key | {"a": number(1)}}),
        ({}, key, failed),
        ({"ReturnValuesOnConditionCheckFailure": "NONE"}, key, failed),
        (shown, missing, failed),
    ):
        (reply,) = batch(table, statement(table, update, item["pk"]) | asked)["Responses"]
        assert reply == {"Error": expected, "TableName": table.name}
    (reply,) = batch(table, statement(table, "DELETE FROM {t} WHERE pk = ? AND a = 3", key["pk"]) | shown)["Responses"]
    assert reply["Error"]["Item"] == key | {"a": number(1)}
    (reply,) = batch(table, statement(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"]) | shown)["Responses"]
    error = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    assert reply == {"Error": error, "TableName": table.name}


def test_a_statement_with_too_few_parameters_is_no_read_or_write(table: DataTable) -> None:
    key = fresh_key()
    error = {"Code": "ValidationError", "Message": "Number of parameters in request and statement don't match."}
    insert = statement(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"])
    replies = batch(table, statement(table, "SELECT * FROM {t} WHERE pk = ?"), insert)["Responses"]
    assert replies == [{"Error": error}, {"TableName": table.name}]
    replies = batch(table, select(table, key), statement(table, "DELETE FROM {t} WHERE pk = ?"))["Responses"]
    assert replies == [{"TableName": table.name, "Item": key}, {"Error": error}]


def test_a_write_may_return_what_it_changed(table: DataTable) -> None:
    key, other = fresh_key(), fresh_key()
    table.put(key | {"a": number(1)})
    replies = batch(
        table,
        statement(table, "UPDATE {t} SET a = a + 1 WHERE pk = ? RETURNING MODIFIED NEW *", key["pk"]),
        statement(table, "DELETE FROM {t} WHERE pk = ? RETURNING ALL OLD *", other["pk"]),
    )["Responses"]
    assert replies == [{"TableName": table.name, "Item": {"a": number(2)}}, {"TableName": table.name}]


def test_reads_must_fix_the_primary_key(sorted_table: DataTable) -> None:
    (reply,) = batch(sorted_table, statement(sorted_table, "SELECT * FROM {t} WHERE pk = 'a'"))["Responses"]
    assert reply == {"Error": {"Code": "ValidationError", "Message": KEY_NOT_FIXED}}


def test_reads_and_writes_do_not_mix(table: DataTable) -> None:
    key = fresh_key()
    insert = statement(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"])
    mixed = "Read and write requests together in the same batch is not supported."
    assert refused(table, select(table, key), insert) == mixed
    assert table.get(key) is None


def test_no_item_twice(table: DataTable) -> None:
    key = fresh_key()
    insert = statement(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"])
    assert refused(table, insert, statement(table, "DELETE FROM {t} WHERE pk = ?", key["pk"])) == TWICE
    assert refused(table, select(table, key), select(table, key)) == TWICE
    assert table.get(key) is None


def test_number_of_statements(table: DataTable) -> None:
    assert refused(table) is not None
    assert len(batch(table, *[select(table, fresh_key()) for _ in range(25)])["Responses"]) == 25
    assert "less than or equal to 25" in str(refused(table, *[select(table, fresh_key()) for _ in range(26)]))


def test_capacity_stands_for_each_statement(table: DataTable) -> None:
    one, two = fresh_key(), fresh_key()
    inserts = [statement(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"]) for key in (one, two)]
    figures = batch(table, *inserts, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert figures == [{"TableName": table.name, "CapacityUnits": 1.0}] * 2
    reads = [select(table, one), select(table, two) | {"ConsistentRead": False}]
    figures = batch(table, *reads, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert [figure["CapacityUnits"] for figure in figures] == [1.0, 0.5]
    assert figures[0]["Table"] == {"CapacityUnits": 1.0}
