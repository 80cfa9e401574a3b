"""Conditions of PartiQL that differ from those of expressions: size() of what has none, functions as booleans,
MISSING, and which refusal is reported.
"""

import pytest

from tests.conformance.item_tables import DataTable, Value, fresh_key, number, text
from tests.conformance.partiql import failure, items, refused, statement

OPERAND = "Incorrect operand type for operator or function; operator or function: "
DISTINCT = "The first operand must be distinct from the remaining operands for this operator or function; operator: "
MISSING = "MISSING must be compared using IS operator"


@pytest.fixture(scope="module")
def one(table: DataTable) -> Value:
    """The partition key of an item with a string, a number, a list, a boolean and a null."""
    key = fresh_key()
    more: dict[str, Value] = {"flag": {"BOOL": True}, "l": {"L": [{"BOOL": True}]}, "z": {"NULL": True}}
    table.put(key | {"s": text("abc"), "n": number(1)} | more)
    return key["pk"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("size(n) <> 1", True),
        ("size(n) != 1", True),
        ("1 <> size(n)", True),
        ("size(nope) <> 0", True),
        ("size(nope) <> size(n)", True),
        ("size(nope) <> size(s)", True),
        ("size(nope) = size(n)", False),
        ("size(s) <> 3", False),
        ("size(s) <> 4", True),
        ("size(n) = 1", False),
        ("size(nope) = 0", False),
        ("size(nope) < 1", False),
        ("size(n) >= 0", False),
        ("size(n) BETWEEN 0 AND 9", False),
        ("size(n) IN [0, 1]", False),
        ("size(flag) <> 1", True),
        ("attribute_type('s', 'S')", True),
        ("attribute_type('s', 'N')", False),
        ("attribute_type(size(s), 'N')", True),
        ("attribute_type(size(n), 'N')", False),
        ("attribute_type(attribute_exists(s), 'BOOL')", True),
        ("attribute_exists(s) <> 1", True),
        ("attribute_exists(s) = 1", False),
        ("1 <> attribute_exists(s)", True),
        ("attribute_exists(s) IN [true]", True),
        ("attribute_exists(s) IN [false, 1]", False),
        ("attribute_exists(nope) IN [false]", True),
        ("flag = attribute_exists(s)", True),
        ("flag = attribute_exists(nope)", False),
        ("flag <> attribute_not_exists(s)", True),
        ("flag IN [contains(s, 'q'), contains(s, 'b')]", True),
        ("attribute_exists(s) = attribute_exists(n)", True),
        ("attribute_exists(s) = begins_with(s, 'b')", False),
        ("contains(l, attribute_exists(s))", True),
        ("contains(l, attribute_exists(nope))", False),
        ("nope = attribute_exists(s)", False),
        ("nope <> attribute_exists(s)", True),
        ("1 IS NUMERIC", True),
        ("1 IS NULL", False),
        ("1 IS NOT MISSING", True),
        ("1 IS MISSING", False),
        ("MISSING IS MISSING", True),
        ("MISSING IS NULL", False),
        ("true", True),
        ("s = 'x' OR false", False),
    ],
)
def test_a_condition_holds(table: DataTable, one: Value, condition: str, holds: bool) -> None:
    found = items(table, f"SELECT n FROM {{t}} WHERE pk = ? AND ({condition})", one)
    assert found == ([{"n": number(1)}] if holds else [])
    negated = items(table, f"SELECT n FROM {{t}} WHERE pk = ? AND NOT ({condition})", one)
    assert negated == ([] if holds else [{"n": number(1)}])


REFUSED = {
    "pk = 'one' AND size(s)": OPERAND + "AND, operand type: N",
    "size(s)": "WHERE clause must contain an expression that resolves to a boolean",
    "size(s) + 1 = 4": "Unsupported operator in Condition Expression. Operator: +",
    "size(nope) IS MISSING": "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
    "attribute_type(s, 1)": OPERAND + "attribute_type, operand type: N",
    "attribute_type(s, s)": DISTINCT + "attribute_type, first operand: [s]",
    "s = missing": MISSING,
    "missing = s": MISSING,
    "s IN [missing]": MISSING,
    "attribute_exists(s) > true": OPERAND + ">, operand type: BOOL",
    "attribute_exists(s) < 1": OPERAND + "<, operand type: BOOL",
}


@pytest.mark.parametrize("condition", REFUSED)
@pytest.mark.parametrize("start", ["SELECT * FROM", "DELETE FROM", "UPDATE"])
def test_a_condition_is_refused_before_its_table_is_looked_up(table: DataTable, condition: str, start: str) -> None:
    action = " SET x = 1" if start == "UPDATE" else ""
    for name in ("{t}", "nowhere"):
        said = f"{start} {name}{action} WHERE {condition}"
        assert failure(table, said) == ("ValidationException", REFUSED[condition])
    said = f"{start} nowhere{action} WHERE {condition}"
    (reply,) = table.raw("BatchExecuteStatement", {"Statements": [statement(table, said)]}).json()["Responses"]
    assert reply == {"Error": {"Code": "ValidationError", "Message": REFUSED[condition]}}
    transaction = table.raw("ExecuteTransaction", {"TransactStatements": [statement(table, said)]}).json()
    assert transaction["message"] == f"Validation failed in TransactStatements[0]: {REFUSED[condition]}"


def test_members_of_in_are_counted_after_the_path_is_compared(table: DataTable) -> None:
    many = ", ".join(map(str, range(101)))
    assert refused(table, f"SELECT * FROM nowhere WHERE n IN [{many}]") == (
        "The IN operator is provided with too many operands; number of operands: 101"
    )
    assert refused(table, f"SELECT * FROM nowhere WHERE n IN [{many}, n]") == DISTINCT + "IN, first operand: [n]"
    assert refused(table, f"SELECT * FROM nowhere WHERE s = s AND n IN [{many}]") == DISTINCT + "=, first operand: [s]"


def chain(count: int, last: str) -> str:
    """`count` comparisons joined by AND, and `last` after them: with 2 * `count` operators more than `last` has."""
    return " AND ".join(["n = 1"] * count + [last])


@pytest.mark.parametrize(
    ("last", "operators"),
    [
        ("n = 1", 1),
        ("NOT n = 2", 2),
        ("n IS NOT MISSING", 2),
        ("n IS NUMERIC", 1),
        ("n NOT IN [2]", 2),
        ("n BETWEEN 1 AND 2", 1),
        ("n NOT BETWEEN 2 AND 3", 2),
        ("attribute_exists(n)", 1),
        ("size(s) = 3", 2),
        ("(n = 1 OR n = 2)", 3),
    ],
)
def test_three_hundred_operators_run(table: DataTable, one: Value, last: str, operators: int) -> None:
    room = 300 - 2 - operators  # `pk = ? AND`
    fits = f"SELECT n FROM {{t}} WHERE pk = ? AND {chain(room // 2, last)}"
    assert items(table, fits, one) == [{"n": number(1)}]
    over = (301 - 2 - operators + 1) // 2
    count = 2 + 2 * over + operators
    assert refused(table, f"SELECT n FROM {{t}} WHERE pk = ? AND {chain(over, last)}", one) == (
        f"The expression contains too many operators; operator count: {count}"
    )


def test_three_hundred_negations_run(table: DataTable, one: Value) -> None:
    found = items(table, f"SELECT n FROM {{t}} WHERE pk = ? AND {'NOT ' * 296}n = 1", one)
    assert found == [{"n": number(1)}]
    assert items(table, f"SELECT n FROM {{t}} WHERE pk = ? AND {'NOT ' * 297}n = 1", one) == []
    assert refused(table, f"SELECT n FROM {{t}} WHERE pk = ? AND {'NOT ' * 298}n = 1", one) == (
        "The expression contains too many operators; operator count: 301"
    )
