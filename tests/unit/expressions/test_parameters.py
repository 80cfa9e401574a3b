"""Expression parameters: which of them require or exclude each other."""

from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.errors import RequestFault
from hashrange.expressions.condition import compile_condition
from hashrange.expressions.parameters import check_unused
from hashrange.expressions.projection import compile_projection
from hashrange.operations.items.expression_members import OperationParameters, check_operation_parameters

V = {":a": {"S": "x"}}
N = {"#a": "a"}
LONG = "#" + "a" * 255

FAULTS: list[tuple[dict[str, Any], dict[str, Any], Any, Any, str, str | None]] = [
    (
        {"AttributesToGet": ["a"], "QueryFilter": None, "KeyConditions": {}},
        {"ProjectionExpression": None, "FilterExpression": "", "KeyConditionExpression": "x"},
        None,
        None,
        (
            "Can not use both expression and non-expression parameters in the same request:"
            " Non-expression parameters: {AttributesToGet, KeyConditions}"
            " Expression parameters: {FilterExpression, KeyConditionExpression}"
        ),
        None,
    ),
    ({}, {"P": None}, N, V, "ExpressionAttributeNames can only be specified when using expressions", None),
    (
        {"Expected": {}},
        {"ConditionExpression": None},
        None,
        V,
        "ExpressionAttributeValues can only be specified when using expressions",
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
    ),
    (
        {},
        {"UpdateExpression": None, "ConditionExpression": None},
        None,
        {},
        "ExpressionAttributeValues can only be specified when using expressions",
        (
            "ExpressionAttributeValues can only be specified when using expressions:"
            " UpdateExpression and ConditionExpression are null"
        ),
    ),
    (
        {},
        {"ProjectionExpression": "a", "FilterExpression": None},
        {},
        V,
        "ExpressionAttributeValues can only be specified when using expressions",
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null",
    ),
    ({}, {"E": "x"}, {}, {}, "ExpressionAttributeNames must not be empty", None),
    ({}, {"E": "x"}, N, {}, "ExpressionAttributeValues must not be empty", None),
    (
        {},
        {"E": "x"},
        {"a": "b"},
        {},
        'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"',
        None,
    ),
    ({}, {"E": "x"}, {"#": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#"', None),
    (
        {},
        {"E": "x"},
        {LONG: "b"},
        None,
        f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{LONG}"',
        None,
    ),
    (
        {},
        {"E": "x"},
        None,
        {":a": {}, ":b\n": {}},
        'ExpressionAttributeValues contains invalid key: Syntax error; key: ":b\n"',
        None,
    ),
    (
        {},
        {"E": "x"},
        None,
        {"#a": {}},
        'ExpressionAttributeValues contains invalid key: Syntax error; key: "#a"',
        None,
    ),
]


def check(legacy: dict[str, Any], expressions: dict[str, Any], names: Any, values: Any) -> None:
    maps = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    request = SimpleNamespace(**legacy, **expressions, **maps)
    check_operation_parameters(request, OperationParameters(tuple(legacy), tuple(expressions)))


@pytest.mark.parametrize(("legacy", "expressions", "names", "values", "message", "older"), FAULTS)
def test_what_does_not_belong_together(
    legacy: dict[str, Any], expressions: dict[str, Any], names: Any, values: Any, message: str, older: str | None
) -> None:
    with pytest.raises(RequestFault) as caught:
        check(legacy, expressions, names, values)
    assert caught.value.message == message
    assert caught.value.older_message == (older or message)


def test_what_belongs_together() -> None:
    check({"Expected": None}, {"E": "x"}, {"#1": "a", LONG[:-1]: "b"}, {":_": {}})
    check({"Expected": {}}, {"E": None}, None, None)


def test_every_name_and_value_must_be_used() -> None:
    values = {":a": {"S": "x"}, ":b": {"S": "y"}, ":c": {"S": "z"}}
    names = {"#a": "a", "#b": "b", "#c": "c"}
    condition = compile_condition("FilterExpression", "#a = :a", names, values)
    projection = compile_projection("#c", names)
    with pytest.raises(RequestFault) as caught:
        check_unused(names, values, condition, None, projection)
    assert caught.value.message == "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"
    del names["#b"]
    with pytest.raises(RequestFault) as caught:
        check_unused(names, values, condition, projection)
    assert caught.value.message == "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b, :c}"
    check_unused(names, {":a": values[":a"]}, condition, projection)
