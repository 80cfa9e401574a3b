"""Legacy parameters (from before expressions): their meaning, and their refusals."""

from typing import Any

import pytest

from hashrange.errors import RequestFault, ValidationException
from hashrange.expressions.legacy import attribute_updates, expected_condition, filter_condition, key_conditions
from hashrange.items.types import Item
from hashrange.limits import LEGACY_CONDITIONS_MAX, MEMBERSHIP_OPERANDS_MAX

ITEM: Item = {
    "s": {"S": "hello"},
    "n": {"N": "10"},
    "nil": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "l": {"L": [{"S": "x"}]},
    "a.b": {"N": "1"},
}


def operator(name: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ComparisonOperator": name, "AttributeValueList": list(arguments)}


S, N = {"S": "hello"}, {"N": "10"}

TRUTHS: list[tuple[str, dict[str, Any], bool]] = [
    ("s", operator("EQ", S), True),
    ("s", operator("EQ", N), False),
    ("nowhere", operator("EQ", S), False),
    ("s", operator("NE", N), True),
    ("nowhere", operator("NE", S), True),
    ("n", operator("IN", {"N": "1"}, N), True),
    ("n", operator("LE", N), True),
    ("n", operator("LT", N), False),
    ("n", operator("GE", N), True),
    ("n", operator("GT", {"N": "9"}), True),
    ("s", operator("GT", {"N": "9"}), False),
    ("n", operator("BETWEEN", {"N": "9"}, {"N": "11"}), True),
    ("nil", operator("NOT_NULL"), True),
    ("nil", {"ComparisonOperator": "NULL"}, False),
    ("nowhere", operator("NULL"), True),
    ("s", operator("CONTAINS", {"S": "ell"}), True),
    ("ss", operator("CONTAINS", {"S": "a"}), True),
    ("l", operator("CONTAINS", {"S": "x"}), True),
    ("nowhere", operator("CONTAINS", {"S": "x"}), False),
    ("s", operator("NOT_CONTAINS", {"S": "ell"}), False),
    ("s", operator("NOT_CONTAINS", N), True),
    ("nowhere", operator("NOT_CONTAINS", {"S": "x"}), False),
    ("s", operator("BEGINS_WITH", {"S": "he"}), True),
    ("n", operator("BEGINS_WITH", {"S": "1"}), False),
    ("a.b", operator("EQ", {"N": "1"}), True),
    ("s", {"Value": S}, True),
    ("s", {"Value": S, "Exists": True}, True),
    ("n", {"Value": {"N": "10.0"}}, True),
    ("s", {"Exists": False}, False),
    ("nowhere", {"Exists": False}, True),
    ("n", {"ComparisonOperator": "LE", "Value": N}, True),
]


@pytest.mark.parametrize(("name", "members", "expected"), TRUTHS)
def test_what_is_expected(name: str, members: dict[str, Any], expected: bool) -> None:
    condition = expected_condition({name: members}, None)
    assert condition is not None
    assert condition.test(ITEM, {}) is expected
    assert condition.attributes == {name}


def test_conditions_join_by_and_unless_told_otherwise() -> None:
    both = {"s": operator("EQ", S), "n": operator("EQ", {"N": "0"})}
    for kind, holds in ((None, False), ("AND", False), ("OR", True)):
        condition = filter_condition(both, kind, "ScanFilter")
        assert condition is not None
        assert condition.test(ITEM, {}) is holds


P = "One or more parameter values were invalid: "

FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, P + "Value must be provided when Exists is null for Attribute: a"),
    ({"Exists": True}, P + "Value must be provided when Exists is true for Attribute: a"),
    ({"Exists": False, "Value": S}, P + "Value cannot be used when Exists is false for Attribute: a"),
    (
        {"ComparisonOperator": "LT"},
        P + "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
    ),
    (
        {"ComparisonOperator": "LT", "Exists": True, "Value": S},
        P + "Exists and ComparisonOperator cannot be used together for Attribute: a",
    ),
    ({"AttributeValueList": [S]}, P + "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"),
    (
        {"Value": S, "AttributeValueList": [S]},
        P + "Value and AttributeValueList cannot be used together for Attribute: a",
    ),
    (operator("EQ", S, S), P + "Invalid number of argument(s) for the EQ ComparisonOperator"),
    (operator("IN"), P + "Invalid number of argument(s) for the IN ComparisonOperator"),
    (operator("NULL", S), P + "Invalid number of argument(s) for the NULL ComparisonOperator"),
    (operator("BETWEEN", S), P + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
    (operator("IN", S, N), P + "AttributeValues inside AttributeValueList must be of same type"),
    (operator("LT", {"SS": ["a"]}), P + "ComparisonOperator LT is not valid for SS AttributeValue type"),
    (operator("CONTAINS", {"L": []}), P + "ComparisonOperator CONTAINS is not valid for L AttributeValue type"),
    (operator("BEGINS_WITH", N), P + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
    (
        operator("BETWEEN", {"N": "2"}, {"N": "1"}),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
    ),
    ({"Value": {"N": "x"}}, "The parameter cannot be converted to a numeric value: x"),
    (operator("EQ", {"NULL": False}), P + "Null attribute value types must have the value of true"),
]


@pytest.mark.parametrize(("members", "message"), FAULTS)
def test_what_cannot_be_expected(members: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestFault) as caught:
        expected_condition({"a": members}, None)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"a": {"Value": S}}, "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
        (None, "ConditionalOperator cannot be used without Filter or Expected"),
        ({}, "ConditionalOperator cannot be used without Filter or Expected"),
    ],
)
def test_a_conditional_operator_needs_two(expected: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(RequestFault) as caught:
        expected_condition(expected, "AND")
    assert caught.value.message == message


def test_no_expectation_is_no_condition() -> None:
    assert expected_condition({}, None) is None
    assert filter_condition(None, None, "QueryFilter") is None


def test_key_conditions_carry_their_values() -> None:
    condition, values = key_conditions({"pk": operator("EQ", S), "sk": operator("BETWEEN", {"N": "1"}, {"N": "2.0"})})
    terms = [(term.attribute, term.operator, [values[token] for token in term.tokens]) for term in condition.terms]
    assert terms == [("pk", "=", [S]), ("sk", "BETWEEN", [{"N": "1"}, {"N": "2"}])]


@pytest.mark.parametrize("name", ["NULL", "NOT_NULL", "NE", "CONTAINS", "NOT_CONTAINS", "IN"])
def test_a_key_condition_must_be_indexable(name: str) -> None:
    arguments = [] if name.endswith("NULL") else [S]
    with pytest.raises(ValidationException) as caught:
        key_conditions({"pk": operator(name, *arguments)})
    assert caught.value.message == "Attempted conditional constraint is not an indexable operation"


def test_attribute_updates() -> None:
    update = attribute_updates(
        {
            "s": {"Value": {"S": "new"}},
            "n": {"Value": {"N": "1"}, "Action": "ADD"},
            "ss": {"Value": {"SS": ["a"]}, "Action": "DELETE"},
            "l": {"Value": {"L": [{"S": "y"}]}, "Action": "ADD"},
            "a.b": {"Action": "DELETE"},
        }
    )
    new = update.apply(ITEM, {})
    assert new == {
        "s": {"S": "new"},
        "n": {"N": "11"},
        "nil": {"NULL": True},
        "ss": {"SS": ["b"]},
        "l": {"L": [{"S": "x"}, {"S": "y"}]},
    }
    assert update.attributes == {"s", "n", "ss", "l", "a.b"}
    assert update.updated_old(ITEM) == {name: value for name, value in ITEM.items() if name != "nil"}
    assert update.updated_new(new) == {name: value for name, value in new.items() if name != "nil"}


@pytest.mark.parametrize(
    ("updates", "can_create"),
    [({}, True), ({"a": {"Value": S}}, True), ({"a": {"Action": "DELETE"}}, False)],
)
def test_which_updates_create(updates: dict[str, Any], can_create: bool) -> None:
    assert attribute_updates(updates).can_create is can_create


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"Action": "PUT"}, P + "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, P + "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "DELETE", "Value": S}, P + "DELETE action with value is not supported for the type S"),
        ({"Action": "ADD", "Value": {"B": "AQ=="}}, P + "ADD action is not supported for the type B"),
    ],
)
def test_what_cannot_be_updated(members: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestFault) as caught:
        attribute_updates({"a": members})
    assert caught.value.message == message


@pytest.mark.parametrize("action", ["ADD", "DELETE"])
def test_another_stored_type_is_refused_bare(action: str) -> None:
    update = attribute_updates({"s": {"Value": {"SS": ["a"]}, "Action": action}})
    with pytest.raises(ValidationException) as caught:
        update.apply(ITEM, {})
    assert caught.value.message == "Type mismatch for attribute to update"
    assert not isinstance(caught.value, RequestFault)


MANY_OPTIONS = [{"N": str(number)} for number in range(11, 2 * MEMBERSHIP_OPERANDS_MAX)]


@pytest.mark.parametrize("last", [{"N": "10"}, {"N": "9"}])
@pytest.mark.parametrize("name", ["n", "s", "ss", "l", "nil", "nowhere"])
def test_many_options_mean_what_few_mean(name: str, last: dict[str, Any]) -> None:
    condition = filter_condition({name: operator("IN", *MANY_OPTIONS, last)}, None, "ScanFilter")
    assert condition is not None
    assert condition.test(ITEM, {}) == (ITEM.get(name) == last)


def test_many_options_are_not_gone_through_for_each_item() -> None:
    """Comparisons are counted: comparing each of 6,000 items with 100,000 options in turn took more than a minute."""
    condition = filter_condition({"n": operator("IN", *MANY_OPTIONS)}, None, "ScanFilter")
    assert condition is not None
    condition.test(ITEM, {})

    class Counted(dict[str, Any]):
        comparisons = 0

        def __eq__(self, other: object) -> bool:
            Counted.comparisons += 1
            return super().__eq__(other)

        __hash__ = None

    assert not condition.test({"n": Counted({"N": "5"})}, {})
    assert Counted.comparisons == 0


@pytest.mark.parametrize("count", [LEGACY_CONDITIONS_MAX, LEGACY_CONDITIONS_MAX + 1])
def test_conditions_are_bounded(count: int) -> None:
    conditions = {f"a{number}": operator("EQ", N) for number in range(count)}
    for ask in (
        lambda: filter_condition(conditions, None, "ScanFilter"),
        lambda: expected_condition(conditions, None),
        lambda: key_conditions(conditions),
    ):
        if count <= LEGACY_CONDITIONS_MAX:
            ask()
            continue
        with pytest.raises(RequestFault, match=f"More than {LEGACY_CONDITIONS_MAX} conditions"):
            ask()
