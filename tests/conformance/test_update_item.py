"""UpdateItem: SET, REMOVE, ADD and DELETE, ReturnValues, creation, refusals at run time."""

from typing import Any

import pytest

from tests.conformance.item_tables import (
    CONDITION_FAILED,
    ENVELOPE,
    INVALID,
    ITEM_MAX_BYTES,
    DataTable,
    Item,
    Value,
    fresh_key,
    nested,
    number,
    text,
)

PATH_INVALID = "The document path provided in the update expression is invalid for update"
TYPE_WRONG = "An operand in the update expression has an incorrect data type"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
ADDABLE = "typeSet: ALLOWED_FOR_ADD_OPERAND"
PREFIX = ENVELOPE + "Invalid UpdateExpression: "

BEFORE: Item = {
    "n": number(5),
    "s": text("s"),
    "m": {"M": {"a": number(1), "deep": {"M": {"x": text("x")}}, "tags": {"SS": ["a", "b"]}}},
    "l": {"L": [number(0), number(1), {"M": {"a": text("a")}}, {"L": [number(30), number(31)]}]},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["AA==", "AQ=="]},
    "nothing": {"NULL": True},
}
VALUES: dict[str, Value] = {
    ":1": number(1), ":2": number(2), ":s": text("new"), ":l": {"L": [text("e")]}, ":ss": {"SS": ["b", "c"]},
    ":ns": {"NS": ["2.0", "3"]}, ":bs": {"BS": ["AQ==", "Ag=="]}, ":all": {"SS": ["a", "b"]}, ":m": {"M": {}},
    ":null": {"NULL": True}, ":b": {"BOOL": True}, ":bin": {"B": "AA=="}, ":empty": {"L": []},
}  # fmt: skip


def used(expression: str) -> dict[str, Any]:
    """The ExpressionAttributeValues that the expression uses, or nothing."""
    tokens = {
        token: value
        for token, value in VALUES.items()
        if token in expression.replace(",", " ").replace("(", " ").replace(")", " ").split()
    }
    return {"ExpressionAttributeValues": tokens} if tokens else {}


def update(table: DataTable, key: Item, expression: str, **members: Any) -> Any:
    return table.update(key, expression, **used(expression + " " + members.get("ConditionExpression", "")), **members)


def refusal(table: DataTable, key: Item, expression: str) -> str | None:
    return table.refusal("UpdateItem", Key=key, UpdateExpression=expression, **used(expression))


def sets_sorted(value: Any) -> Any:
    """The item with its sets in a fixed order."""
    if isinstance(value, dict):
        return {name: sorted(v) if name in ("SS", "NS", "BS") else sets_sorted(v) for name, v in value.items()}
    return [sets_sorted(element) for element in value] if isinstance(value, list) else value


def lst(*values: Value) -> Value:
    return {"L": list(values)}


APPLIED: list[tuple[str, Item, list[str]]] = [
    # SET
    ("SET s = :s", {"s": text("new")}, []),
    ("set x = :s , y = s", {"x": text("new"), "y": text("s")}, []),
    ("SET s = n, n = s", {"s": number(5), "n": text("s")}, []),
    ("SET n = n + :1", {"n": number(6)}, []),
    ("SET n = :1 - n", {"n": number(-4)}, []),
    ("SET n = n - n", {"n": number(0)}, []),
    ("SET n = n + n", {"n": number(10)}, []),
    ("SET x = (n - :1)", {"x": number(4)}, []),
    ("SET x = if_not_exists(x, :s)", {"x": text("new")}, []),
    ("SET x = if_not_exists(s, :1)", {"x": text("s")}, []),
    ("SET x = if_not_exists(x, :1) + :2", {"x": number(3)}, []),
    ("SET x = if_not_exists(x, if_not_exists(y, n))", {"x": number(5)}, []),
    ("SET l = list_append(l, :l)", {"l": lst(*BEFORE["l"]["L"], text("e"))}, []),
    ("SET l = list_append(:l, l)", {"l": lst(text("e"), *BEFORE["l"]["L"])}, []),
    ("SET x = list_append(if_not_exists(x, :empty), :l)", {"x": lst(text("e"))}, []),
    ("SET l[1] = :s", {"l": lst(number(0), text("new"), *BEFORE["l"]["L"][2:])}, []),
    ("SET l[99] = :s, l[50] = :1", {"l": lst(*BEFORE["l"]["L"], number(1), text("new"))}, []),
    ("SET l[2].a = l[0]", {"l": lst(number(0), number(1), {"M": {"a": number(0)}}, BEFORE["l"]["L"][3])}, []),
    ("SET l[3][0] = l[3][1]", {"l": lst(*BEFORE["l"]["L"][:3], lst(number(31), number(31)))}, []),
    ("SET m.b = m.a + :1", {"m": {"M": {**BEFORE["m"]["M"], "b": number(2)}}}, []),
    ("SET m.deep.x = m.a, m.a = m.deep.x",
     {"m": {"M": {**BEFORE["m"]["M"], "a": text("x"), "deep": {"M": {"x": number(1)}}}}}, []),
    ("SET x = m", {"x": BEFORE["m"]}, []),
    # REMOVE
    ("REMOVE s", {}, ["s"]),
    ("REMOVE s, absent, n", {}, ["s", "n"]),
    ("REMOVE m.a, m.absent", {"m": {"M": {k: v for k, v in BEFORE["m"]["M"].items() if k != "a"}}}, []),
    ("REMOVE l[0], l[2]", {"l": lst(number(1), BEFORE["l"]["L"][3])}, []),
    ("REMOVE l[1], l[9]", {"l": lst(number(0), *BEFORE["l"]["L"][2:])}, []),
    ("REMOVE l[2].a, l[0]", {"l": lst(number(1), {"M": {}}, BEFORE["l"]["L"][3])}, []),
    ("REMOVE l[0] SET l[1] = :s, l[8] = :1", {"l": lst(text("new"), *BEFORE["l"]["L"][2:], number(1))}, []),
    # ADD
    ("ADD n :2", {"n": number(7)}, []),
    ("ADD x :2", {"x": number(2)}, []),
    ("ADD ss :ss, ns :ns, bs :bs",
     {"ss": {"SS": ["a", "b", "c"]}, "ns": {"NS": ["1", "2", "3"]}, "bs": {"BS": ["AA==", "AQ==", "Ag=="]}}, []),
    ("ADD x :ss", {"x": {"SS": ["b", "c"]}}, []),
    ("ADD m.a :1, m.fresh :ss", {"m": {"M": {**BEFORE["m"]["M"], "a": number(2), "fresh": {"SS": ["b", "c"]}}}}, []),
    ("ADD l[0] :1", {"l": lst(number(1), *BEFORE["l"]["L"][1:])}, []),
    ("ADD l[9] :1", {"l": lst(*BEFORE["l"]["L"], number(1))}, []),
    # DELETE
    ("DELETE ss :ss", {"ss": {"SS": ["a"]}}, []),
    ("DELETE ns :ns, bs :bs", {"ns": {"NS": ["1"]}, "bs": {"BS": ["AA=="]}}, []),
    ("DELETE ss :all", {}, ["ss"]),
    ("DELETE absent :all", {}, []),
    ("DELETE m.tags :ss, m.nil :ss", {"m": {"M": {**BEFORE["m"]["M"], "tags": {"SS": ["a"]}}}}, []),
    # together, in any order
    ("DELETE ss :ss REMOVE s ADD n :1 SET x = n", {"ss": {"SS": ["a"]}, "n": number(6), "x": number(5)}, ["s"]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "changed", "removed"), APPLIED)
def test_an_update_applies(table: DataTable, expression: str, changed: Item, removed: list[str]) -> None:
    key = fresh_key()
    table.put(key | BEFORE)
    after = {name: value for name, value in (key | BEFORE | changed).items() if name not in removed}
    reply = update(table, key, expression, ReturnValues="ALL_NEW")
    assert sets_sorted(reply) == {"Attributes": after}
    assert sets_sorted(table.get(key)) == after


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SET x = absent", MISSING), ("SET x = m.absent", MISSING), ("SET x = l[9]", MISSING), ("SET x = s.a", MISSING),
        ("SET x = absent + :1", MISSING), ("SET x = list_append(absent, :l)", MISSING),
        ("SET x = s + :1", TYPE_WRONG), ("SET x = n - ss", TYPE_WRONG), ("SET x = list_append(s, :l)", TYPE_WRONG),
        ("SET x = list_append(:l, n)", TYPE_WRONG),
        ("SET absent.a = :1", PATH_INVALID), ("SET s.a = :1", PATH_INVALID), ("SET m[0] = :1", PATH_INVALID),
        ("SET l.a = :1", PATH_INVALID), ("SET l[9].a = :1", PATH_INVALID), ("SET m.nil.a = :1", PATH_INVALID),
        ("REMOVE absent.a", PATH_INVALID), ("REMOVE s.a", PATH_INVALID), ("REMOVE m[0]", PATH_INVALID),
        ("REMOVE m.nil.a", PATH_INVALID),
        ("ADD s :1", TYPE_WRONG), ("ADD n :ss", TYPE_WRONG), ("ADD ss :ns", TYPE_WRONG), ("ADD ss :1", TYPE_WRONG),
        ("ADD nothing :1", TYPE_WRONG), ("ADD absent.a :1", PATH_INVALID), ("ADD l :1", TYPE_WRONG),
        ("DELETE n :ss", TYPE_WRONG), ("DELETE ss :ns", TYPE_WRONG), ("DELETE l :ss", TYPE_WRONG),
        ("DELETE absent.a :ss", PATH_INVALID),
    ],
)  # fmt: skip
def test_an_item_that_does_not_fit_is_refused(table: DataTable, expression: str, message: str) -> None:
    key = fresh_key()
    table.put(key | BEFORE)
    assert refusal(table, key, expression) == message
    assert sets_sorted(table.get(key)) == key | BEFORE


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("", "The expression can not be empty;"),
        ("SET", 'Syntax error; token: "<EOF>", near: "SET"'),
        ("a = :1", 'Syntax error; token: "a", near: "a ="'),
        ("SET a == :1", 'Syntax error; token: "=", near: "== :1"'),
        ("SET a = :1 +", 'Syntax error; token: "<EOF>", near: "+"'),
        ("SET a = :1 + :1 + :1", 'Syntax error; token: "+", near: ":1 + :1"'),
        ("SET _123 = :1", 'Syntax error; token: "_", near: "SET _123"'),
        ("REMOVE a, REMOVE b", 'Syntax error; token: "REMOVE", near: ", REMOVE b"'),
        ("SET a = :1 SET b = :1", 'The "SET" section can only be used once in an update expression;'),
        ("SET size = :1", "Attribute name is a reserved keyword; reserved keyword: size"),
        ("SET a = foo(:1)", "Invalid function name; function: foo"),
        ("SET #a = :1", "An expression attribute name used in the document path is not defined; attribute name: #a"),
        (
            "SET a = :undefined",
            "An expression attribute value used in expression is not defined; attribute value: :undefined",
        ),
        (
            "SET a = :1, a = :1",
            (
                "Two document paths overlap with each other; must remove or rewrite one of these paths;"
                " path one: [a], path two: [a]"
            ),
        ),
        (
            "SET a.b = :1 REMOVE a.b[0]",
            (
                "Two document paths overlap with each other; must remove or rewrite one of these paths;"
                " path one: [a, b], path two: [a, b, [0]]"
            ),
        ),
        (
            "SET a.b = :1, a[0] = :1",
            (
                "Two document paths conflict with each other; must remove or rewrite one of these paths;"
                " path one: [a, b], path two: [a, [0]]"
            ),
        ),
        (
            "SET a = :s + :1",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        (
            "SET a = if_not_exists(:1, :1)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "SET a = if_not_exists(a)",
            (
                "Incorrect number of operands for operator or function; operator or function:"
                " if_not_exists, number of operands: 1"
            ),
        ),
        (
            "SET a = list_append(:1, :l)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
        (
            "SET a = list_append(list_append(a, :l), :l)",
            "The function is not allowed to be used this way in an expression; function: list_append",
        ),
        *[
            (
                f"ADD a {token}",
                f"Incorrect operand type for operator or function; operator: ADD, operand type: {name}, {ADDABLE}",
            )
            for token, name in (
                (":s", "STRING"),
                (":bin", "Binary"),
                (":b", "BOOL"),
                (":null", "NULL"),
                (":l", "LIST"),
                (":m", "MAP"),
            )
        ],
        *[
            (
                f"DELETE a {token}",
                f"Incorrect operand type for operator or function; operator: DELETE, operand type: {name}, {ADDABLE}",
            )
            for token, name in ((":s", "STRING"), (":1", "NUMBER"), (":l", "LIST"), (":m", "MAP"))
        ],
    ],
)
def test_a_bad_expression_is_refused(table: DataTable, expression: str, fault: str) -> None:
    members: dict[str, Any] = used(expression)
    assert table.refusal("UpdateItem", Key=fresh_key(), UpdateExpression=expression, **members) == PREFIX + fault
    assert (
        table.refusal("UpdateItem", Key=fresh_key(), TableName="absent-table", UpdateExpression=expression, **members)
        == PREFIX + fault
    )


# --- creation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "created"),
    [
        (None, {}), ("SET a = :1", {"a": number(1)}), ("ADD a :1, b :ss", {"a": number(1), "b": {"SS": ["b", "c"]}}),
        ("SET a = :1 REMOVE b", {"a": number(1)}), ("ADD a :1 DELETE b :ss", {"a": number(1)}),
        ("SET a = if_not_exists(b, :s)", {"a": text("new")}), ("SET a = :1 REMOVE b.c", {"a": number(1)}),
        ("REMOVE a", None), ("REMOVE a.b, c[0]", None), ("DELETE a :ss", None), ("REMOVE b DELETE a :ss", None),
    ],
)  # fmt: skip
def test_an_absent_item_is_created_or_not(table: DataTable, expression: str | None, created: Item | None) -> None:
    key = fresh_key()
    after = None if created is None else key | created
    members = {} if expression is None else {"UpdateExpression": expression} | used(expression)
    reply = table.update(key, ReturnValues="ALL_NEW", **members)
    assert sets_sorted(reply) == ({} if after is None else {"Attributes": after})
    assert sets_sorted(table.get(key)) == after


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SET a = b", MISSING),
        ("SET a.b = :1", PATH_INVALID),
        ("SET a[0] = :1", PATH_INVALID),
        ("ADD a.b :1", PATH_INVALID),
    ],
)
def test_what_cannot_create_an_item(table: DataTable, expression: str, message: str) -> None:
    key = fresh_key()
    assert refusal(table, key, expression) == message
    assert table.get(key) is None


def test_no_expression_changes_nothing(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | BEFORE)
    assert sets_sorted(table.update(key, ReturnValues="ALL_NEW")) == {"Attributes": key | BEFORE}
    assert table.update(key, ReturnValues="UPDATED_NEW") == {}


# --- ReturnValues -------------------------------------------------------------------------------

RETURNED: list[tuple[str, Item | None, Item | None]] = [
    ("SET s = :s, x = :1", {"s": text("s")}, {"s": text("new"), "x": number(1)}),
    ("SET x = :1", None, {"x": number(1)}),
    ("SET s = s", {"s": text("s")}, {"s": text("s")}),
    ("REMOVE s", {"s": text("s")}, None),
    ("REMOVE absent", None, None),
    ("REMOVE s SET n = :1", {"s": text("s"), "n": number(5)}, {"n": number(1)}),
    ("ADD n :1", {"n": number(5)}, {"n": number(6)}),
    ("ADD ss :ss", {"ss": {"SS": ["a", "b"]}}, {"ss": {"SS": ["a", "b", "c"]}}),
    ("DELETE ss :ss", {"ss": {"SS": ["a", "b"]}}, {"ss": {"SS": ["a"]}}),
    ("DELETE ss :all", {"ss": {"SS": ["a", "b"]}}, None),
    ("SET m.a = :2", {"m": {"M": {"a": number(1)}}}, {"m": {"M": {"a": number(2)}}}),
    ("SET m.fresh = :2, m.deep.x = :1", {"m": {"M": {"deep": {"M": {"x": text("x")}}}}},
     {"m": {"M": {"fresh": number(2), "deep": {"M": {"x": number(1)}}}}}),
    ("REMOVE m.deep.x", {"m": {"M": {"deep": {"M": {"x": text("x")}}}}}, None),
    ("SET l[1] = :s, l[0] = :1", {"l": lst(number(0), number(1))}, {"l": lst(number(1), text("new"))}),
    ("SET l[2].a = :1", {"l": lst({"M": {"a": text("a")}})}, {"l": lst({"M": {"a": number(1)}})}),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "old", "new"), RETURNED)
def test_what_was_touched_is_returned(table: DataTable, expression: str, old: Item | None, new: Item | None) -> None:
    for wanted, expected in (("UPDATED_OLD", old), ("UPDATED_NEW", new)):
        key = fresh_key()
        table.put(key | BEFORE)
        reply = update(table, key, expression, ReturnValues=wanted)
        assert sets_sorted(reply) == ({} if expected is None else {"Attributes": expected})


@pytest.mark.parametrize("wanted", ["NONE", "ALL_OLD", "UPDATED_OLD"])
def test_there_is_nothing_old_of_an_absent_item(table: DataTable, wanted: str) -> None:
    assert update(table, fresh_key(), "SET a = :1", ReturnValues=wanted) == {}


def test_whole_items_are_returned(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    assert update(table, key, "SET b = :2") == {}
    assert update(table, key, "SET b = :1", ReturnValues="ALL_OLD") == {
        "Attributes": key | {"a": number(1), "b": number(2)}
    }
    assert update(table, key, "REMOVE b", ReturnValues="ALL_NEW") == {"Attributes": key | {"a": number(1)}}
    message = ENVELOPE + "Failed to satisfy constraint: Member must satisfy enum value set: "
    assert table.refusal("UpdateItem", Key=key, ReturnValues="x", ReturnConsumedCapacity="x") == (
        message + "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
    )


# --- keys, conditions, limits -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pk", "sk"])
@pytest.mark.parametrize(
    "expression", ["SET {} = :s", "REMOVE {}", "ADD {} :1", "DELETE {} :ss", "SET a = :1 REMOVE {}"]
)
def test_key_attributes_cannot_change(sorted_table: DataTable, name: str, expression: str) -> None:
    key = fresh_key() | {"sk": text("a")}
    message = INVALID + f"Cannot update attribute {name}. This attribute is part of the key"
    assert refusal(sorted_table, key, expression.format(name)) == message
    sorted_table.put(key)
    assert refusal(sorted_table, key, expression.format(name)) == message


@pytest.mark.parametrize(
    "expression", ["SET pk.a = :1", "SET a = pk.b", "REMOVE pk[0]", "ADD pk.a :1", "SET a = if_not_exists(pk.a, :1)"]
)
def test_nothing_looks_into_a_key(table: DataTable, expression: str) -> None:
    message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"
    assert refusal(table, fresh_key(), expression) == message


def test_keys_may_be_read(sorted_table: DataTable) -> None:
    key = fresh_key() | {"sk": text("a")}
    update(sorted_table, key, "SET a = :1")
    update(sorted_table, key, "SET copied = sk")
    assert (sorted_table.get(key) or {})["copied"] == text("a")


def test_a_condition_decides(table: DataTable) -> None:
    key = fresh_key()
    exists = {"ConditionExpression": "attribute_exists(pk)"}
    assert table.fault("UpdateItem", Key=key, UpdateExpression="REMOVE a", **exists) == CONDITION_FAILED
    assert table.fault("UpdateItem", Key=key, **exists) == CONDITION_FAILED
    update(table, key, "SET a = :1")
    update(table, key, "SET a = a + :1", ConditionExpression="a = :1")
    request = {
        "TableName": table.name, "Key": key, "UpdateExpression": "SET a = :v", "ConditionExpression": "a = :v",
        "ExpressionAttributeValues": {":v": number(1)}, "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }  # fmt: skip
    assert table.raw("UpdateItem", request).json()["Item"] == key | {"a": number(2)}


def test_unused_and_misplaced_parameters(table: DataTable) -> None:
    def heard(**members: Any) -> str | None:
        return table.refusal("UpdateItem", Key=fresh_key(), **members)

    one = {"ExpressionAttributeValues": {":v": number(1)}}
    assert heard(**one) == ENVELOPE + "ExpressionAttributeValues can only be specified when using expressions"
    assert heard(ExpressionAttributeNames={"#a": "a"}) == (
        ENVELOPE + "ExpressionAttributeNames can only be specified when using expressions"
    )
    assert heard(UpdateExpression="REMOVE a", **one) == (
        ENVELOPE + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
    )
    assert heard(UpdateExpression="REMOVE a", ExpressionAttributeNames={"#a": "a"}) == (
        ENVELOPE + "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}"
    )
    assert heard(UpdateExpression="REMOVE a", ExpressionAttributeValues={}) == (
        ENVELOPE + "ExpressionAttributeValues must not be empty"
    )
    assert heard(UpdateExpression="SET a = :v", ExpressionAttributeValues={"v": number(1)}) == (
        ENVELOPE + 'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"'
    )
    both = {"UpdateExpression": "SET a =", "ConditionExpression": "a ="}
    assert heard(**both) == PREFIX + 'Syntax error; token: "<EOF>", near: "="'


def test_arithmetic_is_exact_or_refused(table: DataTable) -> None:
    key = fresh_key()
    plus = "SET a = a + :v"

    def add(left: str, right: str) -> str | None:
        table.put(key | {"a": number(left)})
        reply = table.raw(
            "UpdateItem",
            {
                "TableName": table.name,
                "Key": key,
                "UpdateExpression": plus,
                "ExpressionAttributeValues": {":v": number(right)},
                "ReturnValues": "UPDATED_NEW",
            },
        ).json()
        result = reply["Attributes"]["a"]["N"] if "Attributes" in reply else reply["message"]
        assert isinstance(result, str)
        return result

    assert add("0.1", "0.2") == "0.3"
    assert add("9" * 38, "1") == "1" + "0" * 38
    assert add("1e125", "-1e125") == "0"
    assert add("9" * 37, "0.1") == "9" * 37 + ".1"
    assert add("9" * 38, "0.1") == "Attempting to store more than 38 significant digits in a Number"
    assert add("1e38", "1") == "Attempting to store more than 38 significant digits in a Number"
    assert add("9.9e125", "9e124") == (
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    )


def test_the_result_has_a_greatest_size(table: DataTable) -> None:
    too_large = "Item size to update has exceeded the maximum allowed size"
    key = fresh_key()
    rest = ITEM_MAX_BYTES - 2 - len(key["pk"]["S"]) - 1 - 1
    table.put(key | {"a": text("a" * rest)})
    table.update(key, "SET b = :v", ExpressionAttributeValues={":v": text("")})
    assert table.refusal(
        "UpdateItem", Key=key, UpdateExpression="SET b = :v", ExpressionAttributeValues={":v": text("x")}
    ) == (too_large)
    assert table.get(key) == key | {"a": text("a" * rest), "b": text("")}
    table.update(key, "SET b = :v REMOVE a", ExpressionAttributeValues={":v": text("x")})
    assert table.refusal("UpdateItem", Key=fresh_key(), UpdateExpression="SET a = :v",
                         ExpressionAttributeValues={":v": text("x" * ITEM_MAX_BYTES)}) == too_large  # fmt: skip


def test_the_statement_has_a_greatest_size_before_the_condition(table: DataTable) -> None:
    """A statement weighs 3 + 19 + target + value; a weight beyond the item limit is refused,
    even if the result fits.
    """
    too_large = "Item size to update has exceeded the maximum allowed size"
    charge = 3 + 19 + 1
    fits = {":v": text("x" * (ITEM_MAX_BYTES - charge))}
    members: dict[str, Any] = {"UpdateExpression": "SET a = :v", "ConditionExpression": "attribute_exists(pk)"}
    assert table.fault("UpdateItem", Key=fresh_key(), ExpressionAttributeValues=fits, **members) == CONDITION_FAILED
    larger = {":v": text("x" * (ITEM_MAX_BYTES - charge + 1))}
    assert table.refusal("UpdateItem", Key=fresh_key(), ExpressionAttributeValues=larger, **members) == too_large


def test_of_a_set_only_members_that_are_added_weigh(table: DataTable) -> None:
    """A statement with all members of :v would be too heavy, but members that the set has already do not count."""
    key = fresh_key()
    members = [f"{place}-" + "x" * 1000 for place in range(300)]
    table.put(key | {"a": {"SS": members}, "kept": number(1)})
    table.update(
        key, "ADD a :v SET b = if_not_exists(kept, :w)",
        ExpressionAttributeValues={":v": {"SS": members}, ":w": text("y" * 150_000)},
    )  # fmt: skip
    assert (table.get(key) or {})["b"] == number(1)


def test_attribute_updates_are_limited_by_the_item_alone(table: DataTable) -> None:
    """The weight of a statement belongs to expressions."""
    too_large = "Item size to update has exceeded the maximum allowed size"
    key = fresh_key()
    rest = ITEM_MAX_BYTES - 2 - len(key["pk"]["S"]) - 1
    largest = {"a": {"Action": "PUT", "Value": text("x" * rest)}}
    table.ask("UpdateItem", Key=key, AttributeUpdates=largest)
    assert table.get(key) == key | {"a": text("x" * rest)}
    larger = {"a": {"Action": "PUT", "Value": text("x" * (rest + 1))}}
    for one in (key, {"pk": text("y" * len(key["pk"]["S"]))}):
        assert table.refusal("UpdateItem", Key=one, AttributeUpdates=larger) == too_large
    table.ask("UpdateItem", Key=key, AttributeUpdates=largest, Expected={"a": {"ComparisonOperator": "NOT_NULL"}})
    replaced = {"b": {"Action": "PUT", "Value": text("x" * rest)}, "a": {"Action": "DELETE"}}
    table.ask("UpdateItem", Key=key, AttributeUpdates=replaced)
    assert table.get(key) == key | {"b": text("x" * rest)}


@pytest.mark.parametrize("length", [ITEM_MAX_BYTES - 30, ITEM_MAX_BYTES, ITEM_MAX_BYTES + 1000])
def test_a_failing_expected_beside_a_large_item_is_told_as_a_condition(table: DataTable, length: int) -> None:
    members: dict[str, Any] = {
        "AttributeUpdates": {"a": {"Action": "PUT", "Value": text("x" * length)}},
        "Expected": {"pk": {"Exists": True, "Value": text("other")}},
    }
    assert table.fault("UpdateItem", Key=fresh_key(), **members) == CONDITION_FAILED
    key = fresh_key()
    table.put(key)
    assert table.fault("UpdateItem", Key=key, **members) == CONDITION_FAILED


def test_a_list_that_is_added_weighs_whole(table: DataTable) -> None:
    """AttributeUpdates may add to a list; only members of sets are left out if they are stored already."""
    key = fresh_key()
    table.put(key | {"l": {"L": [text("x")]}})
    updates = {"l": {"Action": "ADD", "Value": {"L": [text("x" * ITEM_MAX_BYTES)]}}}
    too_large = "Item size to update has exceeded the maximum allowed size"
    assert table.refusal("UpdateItem", Key=key, AttributeUpdates=updates) == too_large


def test_a_value_cannot_move_too_deep(table: DataTable) -> None:
    too_deep = (
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested"
        " levels beyond supported limit"
    )
    key = fresh_key()
    table.put(key | {"deep": nested(31), "flatter": nested(30), "m": {"M": {}}})
    assert table.refusal("UpdateItem", Key=key, UpdateExpression="SET m.a = deep") == too_deep
    table.update(key, "SET m.a = flatter, b = deep")


def test_what_a_value_was_does_not_hide_what_it_is(table: DataTable) -> None:
    """Compiled expressions are kept by the types of their values."""
    key = fresh_key()
    for value in (number(1), text("a"), {"L": [number(1)]}, number(2)):
        table.update(key, "SET a = :v", ExpressionAttributeValues={":v": value})
        assert table.get(key) == key | {"a": value}
    expression = "ADD b :v"
    table.update(key, expression, ExpressionAttributeValues={":v": number(1)})
    assert table.refusal(
        "UpdateItem", Key=key, UpdateExpression=expression, ExpressionAttributeValues={":v": text("a")}
    ) == (PREFIX + "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, " + ADDABLE)
