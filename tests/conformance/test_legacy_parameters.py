"""The legacy parameters: their meaning, their refusals, and the parameters with which they cannot be combined."""

from typing import Any

import pytest

from tests.conformance.item_tables import (
    CONDITION_FAILED,
    ENVELOPE,
    INVALID,
    DataTable,
    Item,
    Value,
    fresh_key,
    make_table,
    nested,
    number,
    text,
)
from tests.support.raw_client import RawClient

ITEM: Item = {
    "s": text("banana"),
    "n": number(5),
    "b": {"B": "AQID"},
    "ss": {"SS": ["x", "y"]},
    "ns": {"NS": ["1", "2"]},
    "l": {"L": [text("x"), number(1)]},
    "m": {"M": {"k": text("v")}},
    "nothing": {"NULL": True},
    "flag": {"BOOL": True},
    "a.b": text("dotted"),
}
Condition = dict[str, Any]


def asked(operator: str, *values: Value) -> Condition:
    return {"ComparisonOperator": operator} | ({"AttributeValueList": list(values)} if values else {})


HOLDS: list[tuple[str, Condition, bool]] = [
    ("s", asked("EQ", text("banana")), True),
    ("s", asked("EQ", text("b")), False),
    ("n", asked("EQ", number("5.0")), True),
    ("n", asked("EQ", text("5")), False),
    ("absent", asked("EQ", text("a")), False),
    ("ss", asked("EQ", {"SS": ["y", "x"]}), True),
    ("l", asked("EQ", ITEM["l"]), True),
    ("m", asked("EQ", ITEM["m"]), True),
    ("nothing", asked("EQ", {"NULL": True}), True),
    ("flag", asked("EQ", {"BOOL": False}), False),
    ("a.b", asked("EQ", text("dotted")), True),
    ("s", asked("NE", text("b")), True),
    ("s", asked("NE", text("banana")), False),
    ("s", asked("NE", number(1)), True),
    ("absent", asked("NE", text("a")), True),
    ("m.k", asked("NE", text("v")), True),
    ("s", asked("LT", text("c")), True),
    ("s", asked("LE", text("banana")), True),
    ("s", asked("GT", text("b")), True),
    ("s", asked("GE", text("banana")), True),
    ("n", asked("LT", number(10)), True),
    ("n", asked("GT", number(10)), False),
    ("n", asked("LT", text("9")), False),
    ("absent", asked("LT", text("a")), False),
    ("b", asked("GT", {"B": "AQI="}), True),
    ("s", asked("IN", text("apple"), text("banana")), True),
    ("s", asked("IN", text("apple")), False),
    ("absent", asked("IN", text("apple")), False),
    ("n", asked("IN", number(1), number("5.0")), True),
    ("n", asked("BETWEEN", number(5), number(5)), True),
    ("n", asked("BETWEEN", number(6), number(7)), False),
    ("s", asked("BETWEEN", text("a"), text("c")), True),
    ("absent", asked("BETWEEN", text("a"), text("c")), False),
    ("s", asked("NOT_NULL"), True),
    ("nothing", asked("NOT_NULL"), True),
    ("absent", asked("NOT_NULL"), False),
    ("s", asked("NULL"), False),
    ("nothing", asked("NULL"), False),
    ("absent", asked("NULL"), True),
    ("s", asked("CONTAINS", text("nan")), True),
    ("s", asked("CONTAINS", text("x")), False),
    ("ss", asked("CONTAINS", text("x")), True),
    ("ns", asked("CONTAINS", number("1.0")), True),
    ("l", asked("CONTAINS", text("x")), True),
    ("b", asked("CONTAINS", {"B": "Ag=="}), True),
    ("absent", asked("CONTAINS", text("x")), False),
    ("s", asked("CONTAINS", number(1)), False),
    ("s", asked("NOT_CONTAINS", text("x")), True),
    ("s", asked("NOT_CONTAINS", text("nan")), False),
    ("s", asked("NOT_CONTAINS", number(1)), True),
    ("absent", asked("NOT_CONTAINS", text("x")), False),
    ("ss", asked("NOT_CONTAINS", text("x")), False),
    ("s", asked("BEGINS_WITH", text("ban")), True),
    ("s", asked("BEGINS_WITH", text("an")), False),
    ("b", asked("BEGINS_WITH", {"B": "AQ=="}), True),
    ("absent", asked("BEGINS_WITH", text("a")), False),
    ("n", asked("BEGINS_WITH", text("5")), False),
]


@pytest.fixture(scope="module")
def sorted_table(raw: RawClient) -> DataTable:
    """A table that only this file uses, because Scan reads all of it."""
    return make_table(raw, "S", "S")


@pytest.fixture(scope="module")
def stored(sorted_table: DataTable) -> Item:
    """The key of a stored ITEM."""
    key = fresh_key() | {"sk": text("s")}
    sorted_table.put(key | ITEM)
    return key


@pytest.mark.parametrize(("name", "condition", "holds"), HOLDS)
def test_a_comparison(sorted_table: DataTable, stored: Item, name: str, condition: Condition, holds: bool) -> None:
    keyed = {"KeyConditions": {"pk": asked("EQ", stored["pk"])}}
    assert sorted_table.ask("Query", QueryFilter={name: condition}, **keyed)["Count"] == holds
    found = sorted_table.ask("Scan", ScanFilter={name: condition, "pk": asked("EQ", stored["pk"])})
    assert found["Count"] == holds
    members = {"Item": stored | ITEM, "Expected": {name: condition}}
    if holds:
        sorted_table.ask("PutItem", **members)
        single = condition.get("AttributeValueList", [])
        if len(single) == 1:
            expected = {"ComparisonOperator": condition["ComparisonOperator"], "Value": single[0]}
            sorted_table.ask("PutItem", **members | {"Expected": {name: expected}})
    else:
        assert sorted_table.fault("PutItem", **members) == CONDITION_FAILED


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"s": {"Value": text("banana")}}, True),
        ({"s": {"Value": text("b")}}, False),
        ({"s": {"Exists": True, "Value": text("banana")}}, True),
        ({"absent": {"Value": text("a")}}, False),
        ({"absent": {"Exists": False}}, True),
        ({"s": {"Exists": False}}, False),
        ({"nothing": {"Exists": False}}, False),
        ({"s": {"Value": text("banana")}, "n": {"Value": number(5)}}, True),
        ({"s": {"Value": text("banana")}, "n": {"Value": number(6)}}, False),
        ({}, True),
    ],
)
def test_what_is_expected(sorted_table: DataTable, stored: Item, expected: Condition, holds: bool) -> None:
    for operation, members in (
        ("PutItem", {"Item": stored | ITEM}),
        ("UpdateItem", {"Key": stored, "AttributeUpdates": {}}),
        ("UpdateItem", {"Key": stored}),
    ):
        if holds:
            sorted_table.ask(operation, Expected=expected, **members)
        else:
            assert sorted_table.fault(operation, Expected=expected, **members) == CONDITION_FAILED
    key = fresh_key() | {"sk": text("s")}
    sorted_table.put(key | ITEM)
    if holds:
        sorted_table.ask("DeleteItem", Key=key, Expected=expected)
    else:
        assert sorted_table.fault("DeleteItem", Key=key, Expected=expected) == CONDITION_FAILED


@pytest.mark.parametrize(
    ("operator", "first", "second", "holds"),
    [(operator, a, b, (a and b) if operator != "OR" else (a or b))
     for operator in (None, "AND", "OR") for a in (True, False) for b in (True, False)],
)  # fmt: skip
def test_conditions_are_joined(
    sorted_table: DataTable, stored: Item, operator: str | None, first: bool, second: bool, holds: bool
) -> None:
    conditions = {
        "s": asked("EQ", text("banana" if first else "x")), "n": asked("EQ", number(5 if second else 6)),
    }  # fmt: skip
    keyed = {"KeyConditions": {"pk": asked("EQ", stored["pk"])}, "ConditionalOperator": operator}
    assert sorted_table.ask("Query", QueryFilter=conditions, **keyed)["Count"] == holds
    members = {"Key": stored, "Expected": conditions, "ConditionalOperator": operator}
    if holds:
        sorted_table.ask("UpdateItem", **members)
    else:
        assert sorted_table.fault("UpdateItem", **members) == CONDITION_FAILED


def test_a_failed_expectation_may_tell_the_item(sorted_table: DataTable, stored: Item) -> None:
    request = {
        "TableName": sorted_table.name, "Key": stored, "Expected": {"s": {"Exists": False}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }  # fmt: skip
    assert sorted_table.raw("DeleteItem", request).json()["Item"]["s"] == text("banana")


# --- refusals -----------------------------------------------------------------------------------

A = text("a")
TYPE_INVALID = INVALID + "ComparisonOperator {} is not valid for {} AttributeValue type"
COUNT_INVALID = INVALID + "Invalid number of argument(s) for the {} ComparisonOperator"
SAMPLES: dict[str, Value] = {
    "S": A, "N": number(1), "B": {"B": "AA=="}, "SS": {"SS": ["a"]}, "NS": {"NS": ["1"]}, "BS": {"BS": ["AA=="]},
    "BOOL": {"BOOL": True}, "NULL": {"NULL": True}, "L": {"L": []}, "M": {"M": {}},
}  # fmt: skip
BAD_CONDITIONS: list[tuple[Condition, str]] = [
    *[
        (asked(operator), COUNT_INVALID.format(operator))
        for operator in ("EQ", "NE", "LE", "LT", "GE", "GT", "IN", "BETWEEN", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH")
    ],
    *[
        (asked(operator, A, A), COUNT_INVALID.format(operator))
        for operator in (
            "EQ",
            "NE",
            "LE",
            "LT",
            "GE",
            "GT",
            "CONTAINS",
            "NOT_CONTAINS",
            "BEGINS_WITH",
            "NULL",
            "NOT_NULL",
        )
    ],
    *[(asked(operator, A), COUNT_INVALID.format(operator)) for operator in ("NULL", "NOT_NULL", "BETWEEN")],
    *[
        (asked(operator, SAMPLES[kind]), TYPE_INVALID.format(operator, kind))
        for operator in ("LE", "LT", "GE", "GT", "IN", "CONTAINS", "NOT_CONTAINS")
        for kind in ("SS", "NS", "BS", "BOOL", "NULL", "L", "M")
    ],
    *[
        (asked("BEGINS_WITH", SAMPLES[kind]), TYPE_INVALID.format("BEGINS_WITH", kind))
        for kind in SAMPLES
        if kind not in "SB"
    ],
    (asked("IN", A, number(1)), INVALID + "AttributeValues inside AttributeValueList must be of same type"),
    (asked("BETWEEN", A, number(1)), INVALID + "AttributeValues inside AttributeValueList must be of same type"),
    (
        asked("BETWEEN", text("b"), A),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
    ),
    (asked("EQ", {"SS": []}), INVALID + "An string set  may not be empty"),
]


@pytest.mark.parametrize(("condition", "message"), BAD_CONDITIONS)
def test_a_bad_condition_is_refused(sorted_table: DataTable, condition: Condition, message: str) -> None:
    key = fresh_key() | {"sk": text("s")}
    if condition["ComparisonOperator"] in ("NULL", "NOT_NULL") or "AttributeValueList" in condition:
        for operation, members in (
            ("PutItem", {"Item": key}),
            ("DeleteItem", {"Key": key}),
            ("UpdateItem", {"Key": key}),
        ):
            assert sorted_table.refusal(operation, Expected={"a": condition}, **members) == ENVELOPE + message
    keyed = {"KeyConditions": {"pk": asked("EQ", A)}}
    assert sorted_table.refusal("Query", QueryFilter={"a": condition}, **keyed) == message
    assert sorted_table.refusal("Scan", ScanFilter={"a": condition}) == message


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        ({"Exists": False, "Value": A}, "Value cannot be used when Exists is false for Attribute: a"),
        (
            {"ComparisonOperator": "LT"},
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            {"ComparisonOperator": "LT", "Exists": True, "Value": A},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            {"ComparisonOperator": "NULL", "Exists": False},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        ({"AttributeValueList": [A]}, "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"),
        (
            {"AttributeValueList": [A], "Value": A, "ComparisonOperator": "EQ"},
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
    ],
)
def test_a_bad_expectation_is_refused(sorted_table: DataTable, expected: Condition, message: str) -> None:
    key = fresh_key() | {"sk": text("s")}
    for operation, members in (("PutItem", {"Item": key}), ("DeleteItem", {"Key": key}), ("UpdateItem", {"Key": key})):
        assert sorted_table.refusal(operation, Expected={"a": expected}, **members) == ENVELOPE + INVALID + message


def test_a_joining_operator_needs_conditions_to_join(sorted_table: DataTable) -> None:
    message = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    key = fresh_key() | {"sk": text("s")}
    one = {"a": asked("NULL")}
    alone = "ConditionalOperator cannot be used without Filter or Expected"
    for operator in ("AND", "OR"):
        member = {"ConditionalOperator": operator}
        for operation, members in (
            ("PutItem", {"Item": key}),
            ("DeleteItem", {"Key": key}),
            ("UpdateItem", {"Key": key}),
        ):
            assert sorted_table.refusal(operation, Expected=one, **members, **member) == ENVELOPE + message
            assert sorted_table.refusal(operation, Expected={}, **members, **member) == ENVELOPE + alone
            assert sorted_table.refusal(operation, **members, **member) == ENVELOPE + alone
        keyed = {"KeyConditions": {"pk": asked("EQ", A)}} | member
        assert sorted_table.refusal("Query", QueryFilter=one, **keyed) == message
        assert sorted_table.refusal("Query", **keyed) == alone
        assert sorted_table.refusal("Scan", ScanFilter=one, **member) == message
        assert sorted_table.refusal("Scan", **member) == alone


# --- KeyConditions ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def letters(sorted_table: DataTable) -> Value:
    partition = fresh_key()["pk"]
    for sort in ("a", "ab", "b", "c"):
        sorted_table.put({"pk": partition, "sk": text(sort), "v": text(sort)})
    return partition


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (None, ["a", "ab", "b", "c"]), (asked("EQ", text("b")), ["b"]), (asked("LT", text("b")), ["a", "ab"]),
        (asked("LE", text("b")), ["a", "ab", "b"]), (asked("GT", text("ab")), ["b", "c"]),
        (asked("GE", text("ab")), ["ab", "b", "c"]), (asked("BEGINS_WITH", text("a")), ["a", "ab"]),
        (asked("BETWEEN", text("aa"), text("b")), ["ab", "b"]),
    ],
)  # fmt: skip
def test_key_conditions(
    sorted_table: DataTable, letters: Value, condition: Condition | None, expected: list[str]
) -> None:
    conditions = {"pk": asked("EQ", letters)} | ({"sk": condition} if condition else {})
    reply = sorted_table.ask("Query", KeyConditions=conditions)
    assert [item["sk"]["S"] for item in reply["Items"]] == expected
    reply = sorted_table.ask("Query", KeyConditions=conditions, ScanIndexForward=False, AttributesToGet=["v"])
    assert reply["Items"] == [{"v": text(sort)} for sort in reversed(expected)]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({"pk": asked("EQ", A), "sk": asked("EQ", A), "x": asked("EQ", A)}, "Conditions can be of length 1 or 2 only"),
        ({"sk": asked("EQ", A)}, "Query condition missed key schema element: pk"),
        ({"sk": asked("EQ", A), "x": asked("EQ", A)}, "Query condition missed key schema element: pk"),
        ({"pk": asked("EQ", A), "x": asked("EQ", A)}, "Query condition missed key schema element: sk"),
        ({"pk": asked("LT", A)}, "Query key condition not supported"),
        ({"pk": asked("BEGINS_WITH", A)}, "Query key condition not supported"),
        *[
            (
                {"pk": asked("EQ", A), "sk": asked(operator, *[A] * count)},
                "Attempted conditional constraint is not an indexable operation",
            )
            for operator, count in (
                ("NULL", 0),
                ("NOT_NULL", 0),
                ("NE", 1),
                ("CONTAINS", 1),
                ("NOT_CONTAINS", 1),
                ("IN", 1),
            )
        ],
        ({"pk": asked("EQ", number(1))}, INVALID + "Condition parameter type does not match schema type"),
        (
            {"pk": asked("EQ", A), "sk": asked("EQ", {"SS": ["a"]})},
            INVALID + "Condition parameter type does not match schema type",
        ),
        ({"pk": asked("EQ", A), "sk": asked("BEGINS_WITH", number(1))}, TYPE_INVALID.format("BEGINS_WITH", "N")),
        (
            {"pk": asked("EQ", A), "sk": asked("BETWEEN", text("b"), A)},
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        ),
        ({"pk": asked("EQ")}, COUNT_INVALID.format("EQ")),
    ],
)
def test_bad_key_conditions_are_refused(sorted_table: DataTable, conditions: Condition, message: str) -> None:
    assert sorted_table.refusal("Query", KeyConditions=conditions) == message


@pytest.mark.parametrize("name", ["pk", "sk"])
def test_a_query_filter_is_not_for_keys(sorted_table: DataTable, name: str) -> None:
    request = {"KeyConditions": {"pk": asked("EQ", A)}, "QueryFilter": {name: asked("EQ", A)}}
    assert sorted_table.refusal("Query", **request) == (
        f"QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}"
    )


def test_attributes_to_get(sorted_table: DataTable, letters: Value) -> None:
    request = {"KeyConditions": {"pk": asked("EQ", letters)}, "AttributesToGet": ["v", "absent"]}
    assert sorted_table.ask("Query", Limit=1, **request)["Items"] == [{"v": A}]
    message = INVALID + "Duplicate value in attribute name: v"
    assert sorted_table.refusal("Query", **request | {"AttributesToGet": ["v", "v"]}) == message
    assert sorted_table.refusal("Scan", AttributesToGet=["v", "v"]) == message


# --- AttributeUpdates ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("updates", "changed", "removed"),
    [
        ({"s": {"Value": A}}, {"s": A}, []),
        ({"new": {"Action": "PUT", "Value": {"NULL": True}}}, {"new": {"NULL": True}}, []),
        ({"s": {"Action": "DELETE"}, "absent": {"Action": "DELETE"}}, {}, ["s"]),
        ({"ss": {"Action": "DELETE", "Value": {"SS": ["x", "z"]}}}, {"ss": {"SS": ["y"]}}, []),
        ({"ss": {"Action": "DELETE", "Value": {"SS": ["x", "y"]}}}, {}, ["ss"]),
        ({"absent": {"Action": "DELETE", "Value": {"SS": ["x"]}}}, {}, []),
        ({"n": {"Action": "ADD", "Value": number(-6)}}, {"n": number(-1)}, []),
        ({"new": {"Action": "ADD", "Value": number(2)}}, {"new": number(2)}, []),
        ({"ns": {"Action": "ADD", "Value": {"NS": ["2", "3"]}}}, {"ns": {"NS": ["1", "2", "3"]}}, []),
        ({"new": {"Action": "ADD", "Value": {"BS": ["AA=="]}}}, {"new": {"BS": ["AA=="]}}, []),
        ({"l": {"Action": "ADD", "Value": {"L": [A]}}}, {"l": {"L": [*ITEM["l"]["L"], A]}}, []),
        ({"new": {"Action": "ADD", "Value": {"L": [A]}}}, {"new": {"L": [A]}}, []),
        ({"m.k": {"Value": A}}, {"m.k": A}, []),
        ({}, {}, []),
    ],
)
def test_updates(sorted_table: DataTable, updates: Condition, changed: Item, removed: list[str]) -> None:
    key = fresh_key() | {"sk": text("s")}
    sorted_table.put(key | ITEM)
    after = {name: value for name, value in (key | ITEM | changed).items() if name not in removed}
    reply = sorted_table.ask("UpdateItem", Key=key, AttributeUpdates=updates, ReturnValues="ALL_NEW")
    assert reply == {"Attributes": after}
    assert sorted_table.get(key) == after


@pytest.mark.parametrize(
    ("updates", "created"),
    [
        ({}, {}), ({"a": {"Value": A}}, {"a": A}), ({"a": {"Action": "ADD", "Value": number(1)}}, {"a": number(1)}),
        ({"a": {"Action": "DELETE"}}, None), ({"a": {"Action": "DELETE", "Value": {"SS": ["a"]}}}, None),
        ({"a": {"Action": "DELETE"}, "b": {"Value": A}}, {"b": A}),
    ],
)  # fmt: skip
def test_updates_of_an_absent_item(sorted_table: DataTable, updates: Condition, created: Item | None) -> None:
    key = fresh_key() | {"sk": text("s")}
    sorted_table.ask("UpdateItem", Key=key, AttributeUpdates=updates)
    assert sorted_table.get(key) == (None if created is None else key | created)


def test_updated_attributes_are_returned(sorted_table: DataTable) -> None:
    updates = {
        "s": {"Value": A},
        "n": {"Action": "ADD", "Value": number(1)},
        "flag": {"Action": "DELETE"},
        "fresh": {"Value": A},
    }
    for wanted, expected in (
        ("UPDATED_OLD", {"s": text("banana"), "n": number(5), "flag": {"BOOL": True}}),
        ("UPDATED_NEW", {"s": A, "n": number(6), "fresh": A}),
    ):
        key = fresh_key() | {"sk": text("s")}
        sorted_table.put(key | ITEM)
        reply = sorted_table.ask("UpdateItem", Key=key, AttributeUpdates=updates, ReturnValues=wanted)
        assert reply == {"Attributes": expected}


NEEDS_VALUE = "Only DELETE action is allowed when no attribute value is specified"


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({}, NEEDS_VALUE),
        ({"Action": "PUT"}, NEEDS_VALUE),
        ({"Action": "ADD"}, NEEDS_VALUE),
        *[
            (
                {"Action": "DELETE", "Value": SAMPLES[kind]},
                f"DELETE action with value is not supported for the type {kind}",
            )
            for kind in ("S", "N", "B", "BOOL", "NULL", "L", "M")
        ],
        *[
            ({"Action": "ADD", "Value": SAMPLES[kind]}, f"ADD action is not supported for the type {kind}")
            for kind in ("S", "B", "BOOL", "NULL", "M")
        ],
        ({"Value": {"SS": []}}, "An string set  may not be empty"),
    ],
)
def test_bad_updates_are_refused(sorted_table: DataTable, update: Condition, message: str) -> None:
    key = fresh_key() | {"sk": text("s")}
    assert sorted_table.refusal("UpdateItem", Key=key, AttributeUpdates={"a": update}) == ENVELOPE + INVALID + message


@pytest.mark.parametrize(
    ("name", "update"),
    [("s", {"Action": "ADD", "Value": number(1)}), ("n", {"Action": "ADD", "Value": {"NS": ["1"]}}),
     ("ss", {"Action": "ADD", "Value": {"NS": ["1"]}}), ("s", {"Action": "ADD", "Value": {"L": []}}),
     ("n", {"Action": "DELETE", "Value": {"NS": ["1"]}}), ("ss", {"Action": "DELETE", "Value": {"NS": ["1"]}})],
)  # fmt: skip
def test_updates_that_do_not_fit_are_refused(
    sorted_table: DataTable, stored: Item, name: str, update: Condition
) -> None:
    assert sorted_table.refusal("UpdateItem", Key=stored, AttributeUpdates={name: update}) == (
        "Type mismatch for attribute to update"
    )


@pytest.mark.parametrize("update", [{"Value": A}, {"Action": "DELETE"}, {"Action": "ADD", "Value": number(1)}])
def test_keys_cannot_be_updated(sorted_table: DataTable, update: Condition) -> None:
    key = fresh_key() | {"sk": text("s")}
    for name in ("pk", "sk"):
        assert sorted_table.refusal("UpdateItem", Key=key, AttributeUpdates={name: update}) == (
            INVALID + f"Cannot update attribute {name}. This attribute is part of the key"
        )


def test_an_unknown_action(sorted_table: DataTable) -> None:
    unknown = "Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action"
    for action in ("SET", "put", "Delete", ""):
        for table in (sorted_table.name, "missing-table"):
            members = {"TableName": table, "Key": fresh_key(), "AttributeUpdates": {"a": {"Action": action}}}
            assert sorted_table.refusal("UpdateItem", **members) == ENVELOPE + unknown
    deep = {"Key": fresh_key(), "AttributeUpdates": {"a": {"Action": "put", "Value": nested(63)}}}
    assert sorted_table.refusal("UpdateItem", **deep) == (
        ENVELOPE
        + "Value 'put' at 'attributeUpdates.a.member.action' failed to satisfy constraint: Member must satisfy enum"
        " value set: [ADD, PUT, DELETE]"
    )


@pytest.mark.parametrize("operator", ["eq", "Eq", "EQUALS", "", "="])
@pytest.mark.parametrize("member", ["KeyConditions", "QueryFilter"])
def test_an_unknown_comparison_operator_of_a_query(sorted_table: DataTable, member: str, operator: str) -> None:
    unknown = {"ComparisonOperator": operator, "AttributeValueList": [{"N": "x"}]}
    message = INVALID + "Invalid comparison operator"
    for table in (sorted_table.name, "missing-table"):
        assert sorted_table.refusal("Query", TableName=table, **(KEYED | {member: {"n": unknown}})) == message
    faulty = {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "x"}]}
    assert sorted_table.refusal("Query", **(KEYED | {member: {"m": faulty, "n": unknown}})) == message


def test_the_conditional_operator_of_a_query_comes_before_the_comparison_operators(sorted_table: DataTable) -> None:
    unknown = {"ComparisonOperator": "eq"}
    assert sorted_table.refusal("Query", QueryFilter={"n": unknown}, ConditionalOperator="OR", **KEYED) == (
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    )


def test_an_unknown_comparison_operator_of_expected_stays_among_the_constraints(sorted_table: DataTable) -> None:
    message = sorted_table.refusal("DeleteItem", Key=fresh_key(), Expected={"n": {"ComparisonOperator": "eq"}}) or ""
    assert message.startswith(ENVELOPE + "Value 'eq' at 'expected.n.member.comparisonOperator' failed to satisfy")


# --- mixing -------------------------------------------------------------------------------------

MIXED = (
    "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{}}}"
    " Expression parameters: {{{}}}"
)
KEYED = {"KeyConditions": {"pk": asked("EQ", A)}}
EXPECTED = {"Expected": {"a": {"Exists": False}}}
UPDATES = {"AttributeUpdates": {"a": {"Action": "DELETE"}}}
OPERATOR = {"ConditionalOperator": "AND"}


@pytest.mark.parametrize(
    ("operation", "legacy", "expressions"),
    [
        ("GetItem", {"AttributesToGet": ["a"]}, ["ProjectionExpression"]),
        ("PutItem", EXPECTED, ["ConditionExpression"]),
        ("PutItem", EXPECTED | OPERATOR, ["ConditionExpression"]),
        ("PutItem", OPERATOR, ["ConditionExpression"]),
        ("DeleteItem", EXPECTED | OPERATOR, ["ConditionExpression"]),
        ("UpdateItem", UPDATES, ["UpdateExpression"]),
        ("UpdateItem", UPDATES, ["ConditionExpression"]),
        ("UpdateItem", EXPECTED, ["UpdateExpression"]),
        ("UpdateItem", UPDATES | EXPECTED | OPERATOR, ["UpdateExpression", "ConditionExpression"]),
        ("Query", KEYED, ["KeyConditionExpression"]),
        ("Query", {"AttributesToGet": ["a"], "QueryFilter": {"a": asked("NULL")}} | OPERATOR | KEYED,
         ["ProjectionExpression", "FilterExpression", "KeyConditionExpression"]),
        ("Scan", {"AttributesToGet": ["a"]}, ["FilterExpression"]),
        ("Scan", {"AttributesToGet": ["a"], "ScanFilter": {"a": asked("NULL")}} | OPERATOR,
         ["ProjectionExpression", "FilterExpression"]),
    ],
)  # fmt: skip
def test_legacy_and_expressions_do_not_mix(
    sorted_table: DataTable, operation: str, legacy: Condition, expressions: list[str]
) -> None:
    texts = {
        "ProjectionExpression": "a", "ConditionExpression": "attribute_not_exists(a)", "UpdateExpression": "REMOVE a",
        "FilterExpression": "attribute_not_exists(a)", "KeyConditionExpression": "pk = :pk",
    }  # fmt: skip
    key = fresh_key() | {"sk": text("s")}
    given = {name: texts[name] for name in expressions}
    if operation in ("PutItem", "UpdateItem", "DeleteItem", "GetItem"):
        sorted_table.ask(operation, Key=key, Item=key, **given)  # expressions in the cache are refused just the same
    refusal = sorted_table.refusal(operation, Key=key, Item=key, **legacy, **given)
    message = MIXED.format(", ".join(legacy), ", ".join(expressions))
    assert refusal == (ENVELOPE + message if operation in ("PutItem", "UpdateItem", "DeleteItem") else message)


def test_a_known_query_mixes_no_better(sorted_table: DataTable) -> None:
    request = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": A}}
    sorted_table.ask("Query", **request)
    assert sorted_table.refusal("Query", AttributesToGet=["a"], **request) == (
        MIXED.format("AttributesToGet", "KeyConditionExpression")
    )
    assert sorted_table.refusal("Query", ConditionalOperator="OR", **request) == (
        MIXED.format("ConditionalOperator", "KeyConditionExpression")
    )


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"])
def test_values_need_an_expression(sorted_table: DataTable, operation: str) -> None:
    key = fresh_key() | {"sk": text("s")}
    legacy = KEYED if operation == "Query" else {}
    current = "ExpressionAttributeValues can only be specified when using expressions"
    expected = {
        "PutItem": ENVELOPE + current,
        "UpdateItem": ENVELOPE + current,
        "DeleteItem": ENVELOPE + current,
        "Query": current,
        "Scan": current,
    }[operation]
    given = {"ExpressionAttributeValues": {":v": A}} | legacy
    assert sorted_table.refusal(operation, Key=key, Item=key, **given) == expected
    names = {"ExpressionAttributeNames": {"#a": "a"}} | given
    assert sorted_table.refusal(operation, Key=key, Item=key, **names) == expected.replace(
        current, "ExpressionAttributeNames can only be specified when using expressions"
    ).removesuffix(": FilterExpression is null")


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Empty attribute name"),
        ("x" * 65536, INVALID + "Attribute name is too large, must be less than 65536 bytes"),
        ("\u00e9" * 40_000, INVALID + "Attribute name is too large, must be less than 65536 bytes"),
    ],
)
@pytest.mark.parametrize("update", [{"Value": text("q")}, {"Action": "ADD", "Value": number(1)}, {"Action": "DELETE"}])
def test_a_legacy_update_checks_names(
    table: DataTable, name: str, message: str, update: dict[str, Any], *, is_there: bool
) -> None:
    key = fresh_key()
    if is_there:
        table.put(key)
    refusal = table.refusal("UpdateItem", Key=key, AttributeUpdates={name: update})
    assert refusal == ENVELOPE + message


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("expression", ["SET #e = :v", "SET m.#e = :v"])
def test_a_name_of_an_expression_has_a_size(table: DataTable, expression: str, *, is_there: bool) -> None:
    key = fresh_key()
    if is_there:
        table.put(key | {"m": {"M": {}}})
    members: dict[str, Any] = {
        "ExpressionAttributeNames": {"#e": "\u00e9" * 40_000},
        "ExpressionAttributeValues": {":v": text("q")},
    }
    refusal = table.refusal("UpdateItem", Key=key, UpdateExpression=expression, **members)
    assert refusal == ENVELOPE + INVALID + "Attribute name is too large, must be less than 65536 bytes"
