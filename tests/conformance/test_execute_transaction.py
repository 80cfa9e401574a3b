"""ExecuteTransaction: all statements or none, EXISTS, tokens, reasons, capacity."""

from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.item_tables import NOT_FOUND, DataTable, Item, fresh_key, number
from tests.conformance.partiql import statement
from tests.conformance.tables import fault, validation
from tests.conformance.transactions import FAILED, NONE, SCHEMA, TWICE

KEY_NOT_FIXED = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
INSERT = "INSERT INTO {t} VALUE {'pk': ?, 'a': 1}"
SELECT = "SELECT * FROM {t} WHERE pk = ?"


def transact(table: DataTable, *statements: Any, **members: Any) -> Any:
    """The reply of a transaction, which must succeed."""
    reply = table.raw("ExecuteTransaction", {"TransactStatements": list(statements)} | members)
    assert reply.status == 200, reply.body
    return reply.json()


def refused(table: DataTable, *statements: Any, **members: Any) -> str | None:
    return validation(table.raw, "ExecuteTransaction", {"TransactStatements": list(statements)} | members)


def reasons(table: DataTable, *statements: Any) -> Any:
    """The CancellationReasons of a transaction, which must be cancelled."""
    reply = table.raw("ExecuteTransaction", {"TransactStatements": list(statements)})
    body = reply.json()
    assert body["__type"].endswith("#TransactionCanceledException"), body
    codes = ", ".join(reason["Code"] for reason in body["CancellationReasons"])
    assert body["Message"] == f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return body["CancellationReasons"]


def on(table: DataTable, text: str, key: Item) -> Any:
    return statement(table, text, key["pk"])


def test_all_statements_take_effect_at_once(table: DataTable) -> None:
    one, two, three, four = (fresh_key() for _ in range(4))
    for key in (two, three, four):
        table.put(key | {"a": number(5)})
    reply = transact(
        table,
        on(table, INSERT, one),
        on(table, "UPDATE {t} SET a = a + 1 WHERE pk = ?", two),
        on(table, "DELETE FROM {t} WHERE pk = ? AND a = 5", three),
        on(table, "EXISTS(SELECT * FROM {t} WHERE pk = ? AND a = 5)", four),
    )
    assert reply == {"Responses": []}
    assert table.get(one) == one | {"a": number(1)}
    assert table.get(two) == two | {"a": number(6)}
    assert table.get(three) is None


def test_one_that_fails_cancels_all(table: DataTable) -> None:
    one, two, three = fresh_key(), fresh_key(), fresh_key()
    table.put(two)
    found = reasons(
        table,
        on(table, INSERT, one),
        on(table, INSERT, two),
        on(table, "UPDATE {t} SET a = 1 WHERE pk = ?", three),
        on(table, "EXISTS(SELECT * FROM {t} WHERE pk = ? AND a IS NOT MISSING)", fresh_key()),
    )
    assert found == [
        NONE,
        {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
        FAILED,
        FAILED,
    ]
    assert table.get(one) is None


def test_a_missing_item_is_deleted_whatever_its_conditions(table: DataTable) -> None:
    key, other = fresh_key(), fresh_key()
    delete = on(table, "DELETE FROM {t} WHERE pk = ? AND a = 1", key)
    assert transact(table, delete, on(table, INSERT, other)) == {"Responses": []}
    assert (table.get(key), table.get(other)) == (None, other | {"a": number(1)})
    table.put(key | {"a": number(2)})
    assert reasons(table, delete) == [FAILED]


def test_a_conditional_delete_of_a_missing_item_is_a_reason_if_another_statement_cancels(table: DataTable) -> None:
    present, one, two, three = fresh_key(), fresh_key(), fresh_key(), fresh_key()
    table.put(present)
    delete = on(table, "DELETE FROM {t} WHERE pk = ? AND a = 1", one)
    met = on(table, "DELETE FROM {t} WHERE pk = ? AND a IS MISSING", two)
    plain = on(table, "DELETE FROM {t} WHERE pk = ?", three)
    assert transact(table, delete, met, plain) == {"Responses": []}
    duplicate = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    insert = on(table, INSERT, present)
    assert reasons(table, delete, insert, plain, met) == [FAILED, duplicate, NONE, FAILED]
    assert reasons(table, insert, delete) == [duplicate, FAILED]
    shown = delete | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert reasons(table, insert, shown) == [duplicate, FAILED]


def test_exists_may_ask_by_a_function(table: DataTable) -> None:
    key, other = fresh_key(), fresh_key()
    table.put(key | {"a": number(1)})
    for condition, outcome in (
        ("attribute_exists(a)", None),
        ("attribute_exists(a) = false", FAILED),
        ("a IS STRING", FAILED),
    ):
        exists = on(table, f"EXISTS(SELECT * FROM {{t}} WHERE pk = ? AND {condition})", key)
        if outcome is None:
            assert transact(table, exists, on(table, INSERT, other)) == {"Responses": []}
        else:
            assert reasons(table, exists) == [outcome]


def test_a_failed_condition_shows_its_item_when_asked(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    update = on(table, "UPDATE {t} SET a = 2 WHERE pk = ? AND a = 3", key)
    assert reasons(table, update | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}) == [
        FAILED | {"Item": key | {"a": number(1)}}
    ]


def test_reads_are_of_one_point_in_time_and_in_their_order(table: DataTable) -> None:
    one, two, three = fresh_key(), fresh_key(), fresh_key()
    table.put(one | {"a": number(1)})
    table.put(two | {"a": number(2)})
    reply = transact(
        table, on(table, "SELECT a FROM {t} WHERE pk = ?", two), on(table, SELECT, three), on(table, SELECT, one)
    )
    assert reply == {"Responses": [{"Item": {"a": number(2)}}, {}, {"Item": one | {"a": number(1)}}]}


def test_a_projection_that_chooses_nothing_gives_no_item(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    for chosen in ("b", "a.b", "b, c[0]"):
        assert transact(table, on(table, f"SELECT {chosen} FROM {{t}} WHERE pk = ?", key)) == {"Responses": [{}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "UPDATE {t} SET a = 1 WHERE pk = 'a' RETURNING ALL OLD *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        ("SELECT * FROM {t}.\"index\" WHERE pk = 'a'", "Reads on indices are not supported within transactions."),
        (
            "SELECT * FROM {t} WHERE a = 1",
            KEY_NOT_FIXED,
        ),
        (
            "EXISTS(SELECT * FROM {t} WHERE pk = 'a')",
            "EXISTS() must contain a single item read with additional condition",
        ),
        ("EXISTS(SELECT * FROM {t} WHERE a = 1)", "EXISTS() must contain a single item read with additional condition"),
    ],
)
def test_what_a_transaction_cannot_do(table: DataTable, text: str, message: str) -> None:
    found = refused(table, statement(table, text))
    assert found == f"Validation failed in TransactStatements[0]: {message}"


NOT_WELL_FORMED = "Statement wasn't well formed, can't be processed: "
FAULTS = {
    "SELECT * FROM {t} WHERE NOT": NOT_WELL_FORMED + "Unexpected term",
    "SELECT * FROM {t} WHERE": NOT_WELL_FORMED + "Unexpected term",
    "UPDATE {t} SET a = 1 WHERE": NOT_WELL_FORMED + "Unexpected term",
    "DELETE FROM": NOT_WELL_FORMED + "Expected identifier for simple path",
    "SELECT * FROM {t} WHERE pk = LIKE": NOT_WELL_FORMED + "Unexpected operator",
    "SELECT * FROM {t} # all": NOT_WELL_FORMED,
    "INSERT INTO {t} x VALUE {'pk': 'a'}": NOT_WELL_FORMED + "Unexpected token after expression",
    "INSERT INTO {t}.\"index\" VALUE {'pk': 'a'}": "FROM clause may only contain a single table name",
    "INSERT INTO {t} VALUE {'pk': 'a', 's': <<>>}": "Empty bags are not supported",
    "INSERT INTO {t} VALUE {'pk': 'a', 's': <<'x', 'x'>>}": (
        "One or more parameter values were invalid: Input collection [x, x] contains duplicates."
    ),
    "SELECT * FROM {t} AS x": "Aliasing is not supported",
    "UPDATE {t} SET a = b IS INT4 WHERE pk = 'a'": "Unsupported operation: IsType",
    "DELETE FROM {t} WHERE pk = 'a' AND a < true": (
        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"
    ),
    "DELETE FROM {t} WHERE pk = 'a' AND a BETWEEN 2 AND 1": (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand:"
        " AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
    ),
    "SELECT * FROM {t} WHERE pk = ?": "Number of parameters in request and statement don't match.",
    "SELECT COUNT(*) FROM {t} WHERE pk = 'a'": "Unexpected path component at 1:8:5",
    "UPDATE {t} SET a = 1 WHERE a = 1": ("Where clause does not contain a mandatory equality on all key attributes"),
    "SELECT * FROM {t} WHERE pk = 'a' AND attribute_exists(a)": KEY_NOT_FIXED,
    "SELECT * FROM {t} WHERE pk = 'a' AND attribute_exists(a) = true": KEY_NOT_FIXED,
    "SELECT * FROM {t} WHERE pk = 'a' AND a = 1": KEY_NOT_FIXED,
    "EXISTS(SELECT * FROM {t} WHERE NOT": NOT_WELL_FORMED + "Unexpected term",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_of_a_statement_tell_its_number(table: DataTable, text: str) -> None:
    assert refused(table, statement(table, text)) == f"Validation failed in TransactStatements[0]: {FAULTS[text]}"
    sound = on(table, INSERT if text[0] in "IUD" else SELECT, fresh_key())
    heard = refused(table, sound, statement(table, text))
    if text[0] != "E":
        assert str(heard).startswith("Validation failed in TransactStatements[1]: ")


def test_faults_that_depend_on_values_tell_the_number_each_time(table: DataTable) -> None:
    for text in (
        "DELETE FROM {t} WHERE pk = ? AND a BETWEEN ? AND ?",
        "EXISTS(SELECT * FROM {t} WHERE pk = ? AND a BETWEEN ? AND ?)",
    ):
        sound = statement(table, text, fresh_key()["pk"], number(1), number(2))
        unsound = statement(table, text, fresh_key()["pk"], number(2), number(1))
        assert table.raw("ExecuteTransaction", {"TransactStatements": [sound]}).status in (200, 400)
        for _ in range(2):
            heard = refused(table, sound, unsound)
            assert str(heard).startswith(
                "Validation failed in TransactStatements[1]: The BETWEEN operator requires upper"
            )


def test_faults_of_parameters_are_the_requests(table: DataTable) -> None:
    for text in (INSERT, SELECT, "DELETE FROM {t} WHERE pk = 'a' AND b = ?"):
        heard = refused(table, statement(table, text, {"N": "x"}))
        assert heard == "The parameter cannot be converted to a numeric value: x"


def test_the_position_stands_in_the_message(table: DataTable) -> None:
    found = refused(table, on(table, SELECT, fresh_key()), statement(table, "SELECT * FROM {t}"))
    assert str(found).startswith("Validation failed in TransactStatements[1]: Select statements")


def test_reads_and_writes_do_not_mix(table: DataTable) -> None:
    mixed = "ExecuteTransaction API does not support both read and write operations in the same request."
    assert refused(table, on(table, SELECT, fresh_key()), on(table, INSERT, fresh_key())) == mixed


def test_no_item_twice(table: DataTable) -> None:
    key = fresh_key()
    assert refused(table, on(table, SELECT, key), on(table, SELECT, key)) == TWICE
    assert refused(table, on(table, INSERT, key), on(table, "DELETE FROM {t} WHERE pk = ?", key)) == TWICE


def test_a_key_of_another_type_is_a_reason(table: DataTable) -> None:
    wrong = {"Code": "ValidationError", "Message": SCHEMA}
    assert reasons(table, on(table, SELECT, fresh_key()), statement(table, SELECT, number(1))) == [NONE, wrong]
    delete = "DELETE FROM {t} WHERE pk = ?"
    assert reasons(table, on(table, delete, fresh_key()), statement(table, delete, number(1))) == [NONE, wrong]


def test_a_missing_table_is_not_found(table: DataTable) -> None:
    for text in ("SELECT * FROM nowhere WHERE pk = 'a'", "DELETE FROM nowhere WHERE pk = 'a'"):
        assert fault(table.raw, "ExecuteTransaction", {"TransactStatements": [{"Statement": text}]}) == NOT_FOUND


def test_a_token_makes_it_happen_once(table: DataTable) -> None:
    key, token = fresh_key(), str(uuid4())
    table.put(key | {"a": number(1)})
    add = on(table, "UPDATE {t} SET a = a + 1 WHERE pk = ?", key)
    for _ in range(2):
        assert transact(table, add, ClientRequestToken=token) == {"Responses": []}
    assert table.get(key) == key | {"a": number(2)}
    other = on(table, "UPDATE {t} SET a = a + 2 WHERE pk = ?", key)
    code, _ = fault(table.raw, "ExecuteTransaction", {"TransactStatements": [other], "ClientRequestToken": token})
    assert code == "IdempotentParameterMismatchException"


def test_a_token_does_no_harm_to_reads(table: DataTable) -> None:
    key, token = fresh_key(), str(uuid4())
    assert transact(table, on(table, SELECT, key), ClientRequestToken=token) == {"Responses": [{}]}
    table.put(key)
    assert transact(table, on(table, SELECT, key), ClientRequestToken=token) == {"Responses": [{"Item": key}]}


def test_capacity_is_that_of_the_ordinary_calls(table: DataTable) -> None:
    key = fresh_key()
    figures = transact(table, on(table, INSERT, key), ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert figures == [{"TableName": table.name, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}]
    figures = transact(table, on(table, SELECT, key), ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert figures == [{"TableName": table.name, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}]
