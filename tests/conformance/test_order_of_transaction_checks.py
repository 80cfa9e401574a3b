"""Which of two faults in one transaction is reported? Every neighbouring pair in the order of checks.

Rules of the whole request are checked one by one over all actions; rules of a single action, action by action.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from tests.conformance.item_tables import DataTable, fresh_key, text
from tests.conformance.tables import fault
from tests.conformance.transactions import TOO_LARGE, TWICE
from tests.support.raw_client import RawClient

TABLE = "TABLE"
"""Placeholder for the table's name."""
MISSING = "no-such-table"
EMPTY_SET: dict[str, Any] = {"SS": []}
SAME = {"pk": text("same")}


class Fault(NamedTuple):
    """Actions and members that make one fault, and the code and message reported for it."""

    name: str
    actions: list[Any]
    heard: str
    code: str = "ValidationException"
    members: dict[str, Any] = {}  # noqa: RUF012 - never changed


def put(item: Any, **members: Any) -> Any:
    return {"Put": {"TableName": TABLE, "Item": item} | members}


def get(key: Any, **members: Any) -> Any:
    return {"Get": {"TableName": TABLE, "Key": key} | members}


FRESH = {"pk": text("fresh")}
CAPACITY = {"ReturnConsumedCapacity": "x"}

WRITE_STEPS = [
    Fault(
        "JSON types",
        [put(FRESH | {"bad": {"S": 5}})],
        "NUMBER_VALUE cannot be converted to String",
        "SerializationException",
    ),
    Fault("constraints", [], "at 'returnConsumedCapacity' failed to satisfy constraint", members=CAPACITY),
    Fault("shape", [{}], "should contain Delete or Put or Update request"),
    Fault("size", [put({"pk": text(f"large-{n}"), "a": text("x" * 400_000)}) for n in range(11)], TOO_LARGE),
    Fault("named twice", [put(SAME), put(SAME)], TWICE),
    Fault(
        "table",
        [put({"pk": text("m")}, TableName=MISSING)],
        "Requested resource not found",
        "ResourceNotFoundException",
    ),
    Fault("keys", [put({"a": text("b")})], "[None, ValidationError", "TransactionCanceledException"),
]
ACTION_STEPS = [
    Fault("constraint", [put(FRESH, TableName="a b")], "Member must satisfy regular expression pattern"),
    Fault(
        "parameters", [put(FRESH, ExpressionAttributeNames={"#a": "b"})], "can only be specified when using expressions"
    ),
    Fault("values", [put(FRESH | {"set": EMPTY_SET})], "An string set  may not be empty"),
    Fault("size", [put(FRESH | {"a": text("x" * 410_000)})], "Item size has exceeded the maximum allowed size"),
    Fault("expressions", [put(FRESH, ConditionExpression="a =")], "Invalid ConditionExpression: Syntax error"),
    Fault("table", [put(FRESH, TableName=MISSING)], "Requested resource not found", "ResourceNotFoundException"),
]
GET_STEPS = [
    Fault(
        "JSON types", [get({"pk": {"S": 5}})], "NUMBER_VALUE cannot be converted to String", "SerializationException"
    ),
    Fault("constraints", [], "at 'returnConsumedCapacity' failed to satisfy constraint", members=CAPACITY),
    Fault("values", [get({"pk": EMPTY_SET})], "An string set  may not be empty"),
    Fault("named twice", [get(SAME), get(SAME)], TWICE),
    Fault(
        "table",
        [get({"pk": text("m")}, TableName=MISSING)],
        "Requested resource not found",
        "ResourceNotFoundException",
    ),
    Fault("keys", [get({"a": text("b")})], "[None, ValidationError", "TransactionCanceledException"),
]
GET_ACTION_STEPS = [
    Fault(
        "parameters", [get(FRESH, ExpressionAttributeNames={"#a": "b"})], "can only be specified when using expressions"
    ),
    Fault("values", [get({"pk": EMPTY_SET})], "An string set  may not be empty"),
    Fault("expressions", [get(FRESH, ProjectionExpression="a,,b")], "Invalid ProjectionExpression: Syntax error"),
    Fault("table", [get(FRESH, TableName=MISSING)], "Requested resource not found", "ResourceNotFoundException"),
]
LADDERS = [
    ("TransactWriteItems", WRITE_STEPS), ("TransactGetItems", GET_STEPS),
]  # fmt: skip
ACTION_LADDERS = [("TransactWriteItems", ACTION_STEPS), ("TransactGetItems", GET_ACTION_STEPS)]
PAIRS = [
    pytest.param(name, one, other, id=f"{name}-{one.name}-{other.name}")
    for name, steps in LADDERS
    for one, other in pairwise(steps)
]
ACTION_PAIRS = [
    pytest.param(name, one, other, id=f"{name}-{one.name}-{other.name}")
    for name, steps in ACTION_LADDERS
    for one, other in pairwise(steps)
]


def sound(name: str) -> Any:
    """A valid action."""
    return put(fresh_key()) if name == "TransactWriteItems" else get(fresh_key())


def heard(raw: RawClient, table: DataTable, name: str, actions: list[Any], members: dict[str, Any]) -> tuple[str, str]:
    """Code and message of the refusal; the first action is always valid."""
    placed = [
        {
            kind: request | {"TableName": request["TableName"].replace(TABLE, table.name)}
            for kind, request in action.items()
        }
        for action in [sound(name), *actions]
    ]
    code, message = fault(raw, name, {"TransactItems": placed} | members)
    return code, message or ""


def assert_heard(told: tuple[str, str], one: Fault) -> None:
    assert (told[0], one.heard in told[1]) == (one.code, True), told


@pytest.mark.parametrize(("name", "one"), [(n, one) for n, steps in LADDERS + ACTION_LADDERS for one in steps])
def test_each_fault_is_heard_alone(raw: RawClient, table: DataTable, name: str, one: Fault) -> None:
    assert_heard(heard(raw, table, name, one.actions, one.members), one)


@pytest.mark.parametrize(("name", "one", "other"), PAIRS)
def test_the_earlier_step_is_heard_wherever_it_stands(
    raw: RawClient, table: DataTable, name: str, one: Fault, other: Fault
) -> None:
    members = one.members | other.members
    assert_heard(heard(raw, table, name, one.actions + other.actions, members), one)
    assert_heard(heard(raw, table, name, other.actions + one.actions, members), one)


@pytest.mark.parametrize(("name", "one", "other"), ACTION_PAIRS)
def test_the_earlier_fault_of_one_action_is_heard(
    raw: RawClient, table: DataTable, name: str, one: Fault, other: Fault
) -> None:
    (kind,) = one.actions[0]
    first, second = one.actions[0][kind], other.actions[0][kind]
    merged = {
        member: {**second.get(member, {}), **value} if isinstance(value, dict) else value
        for member, value in {**second, **first}.items()
    }
    if second["TableName"] == MISSING and first["TableName"] == TABLE:
        merged["TableName"] = MISSING
    assert_heard(heard(raw, table, name, [{kind: merged}], {}), one)


def test_of_two_actions_with_own_faults_the_first_is_heard(raw: RawClient, table: DataTable) -> None:
    names = {"parameters", "values", "size", "expressions"}
    faults = [one for one in ACTION_STEPS if one.name in names]
    for one in faults:
        for other in faults:
            assert_heard(heard(raw, table, "TransactWriteItems", one.actions + other.actions, {}), one)
