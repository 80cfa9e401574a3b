"""Refusals of PartiQL operations for faults of members and tables, and the order of their checks."""

import re
from typing import Any

import pytest

from tests.conformance.item_tables import NOT_FOUND, DataTable, fresh_key, make_table, nested, number, text
from tests.conformance.partiql import execute, failure, items, refused, statement
from tests.conformance.tables import fault, index, validation
from tests.support.raw_client import RawClient

ONE = "1 validation error detected: "
SELECT = "SELECT * FROM {t} WHERE pk = 'a'"
SYNTAX = "SELECT * FROM {t} WHERE"
SYNTAX_REFUSED = "Statement wasn't well formed, can't be processed: Unexpected term"
COUNT_REFUSED = "Number of parameters in request and statement don't match."
DELETE = "DELETE FROM {t} WHERE pk = ?"


# --- members ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "Value null at 'statement' failed to satisfy constraint: Member must not be null"),
        (
            {"Statement": ""},
            "Value '' at 'statement' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        (
            {"Statement": "x", "Parameters": []},
            (
                "Value '[]' at 'parameters' failed to satisfy constraint: Member must have length"
                " greater than or equal to 1"
            ),
        ),
        (
            {"Statement": "x", "Limit": 0},
            "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
        ),
        (
            {"Statement": "x", "NextToken": ""},
            "Value '' at 'nextToken' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
    ],
)
def test_constraints_of_members(raw: RawClient, members: dict[str, Any], message: str) -> None:
    assert validation(raw, "ExecuteStatement", members) == ONE + message


@pytest.mark.parametrize(
    ("operation", "members", "paths"),
    [
        (
            "ExecuteStatement",
            {
                "Statement": "",
                "Parameters": [],
                "Limit": 0,
                "ReturnConsumedCapacity": "X",
                "ReturnValuesOnConditionCheckFailure": "X",
            },
            ["returnValuesOnConditionCheckFailure", "limit", "statement", "returnConsumedCapacity", "parameters"],
        ),
        (
            "ExecuteTransaction",
            {"TransactStatements": [{"Statement": ""}], "ClientRequestToken": "", "ReturnConsumedCapacity": "X"},
            ["clientRequestToken", "transactStatements.1.member.statement", "returnConsumedCapacity"],
        ),
        (
            "BatchExecuteStatement",
            {
                "Statements": [{"Statement": "", "Parameters": [], "ReturnValuesOnConditionCheckFailure": "X"}],
                "ReturnConsumedCapacity": "X",
            },
            [
                "statements.1.member.statement",
                "statements.1.member.parameters",
                "statements.1.member.returnValuesOnConditionCheckFailure",
                "returnConsumedCapacity",
            ],
        ),
    ],
)
def test_faults_of_several_members(raw: RawClient, operation: str, members: dict[str, Any], paths: list[str]) -> None:
    message = str(validation(raw, operation, members))
    assert message.startswith(f"{len(paths)} validation errors detected: ")
    assert re.findall(r"at '([^']*)' failed", message) == paths


def test_a_statement_has_a_length(table: DataTable) -> None:
    select = f'SELECT * FROM "{table.name}"'
    assert execute(table, select.ljust(8192), Limit=1)
    assert "less than or equal to 8192" in str(refused(table, select.ljust(8193), Limit=1))


@pytest.mark.parametrize("operation", ["BatchExecuteStatement", "ExecuteTransaction"])
def test_constraints_inside_lists(raw: RawClient, operation: str) -> None:
    member = {"BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}[operation]
    message = validation(raw, operation, {member: [{"Statement": "x"}, {"Statement": "", "Parameters": []}]})
    path = member[0].lower() + member[1:]
    assert f"Value '' at '{path}.2.member.statement' failed to satisfy constraint" in str(message)
    assert f"Value '[]' at '{path}.2.member.parameters' failed to satisfy constraint" in str(message)


def test_parameters_have_json_types(raw: RawClient) -> None:
    for operation, member in (("BatchExecuteStatement", "Statements"), ("ExecuteTransaction", "TransactStatements")):
        batch: dict[str, Any] = {member: [{"Statement": "SELECT * FROM t WHERE a = ?", "Parameters": [{"S": 5}]}]}
        assert fault(raw, operation, batch)[0] == "SerializationException"
    wrong: list[Any] = [{"S": 5}, {"B": "!"}, {"L": [{"N": 1}]}, "x"]
    for parameter in wrong:
        request = {"Statement": "SELECT * FROM t WHERE a = ?", "Parameters": [parameter]}
        assert fault(raw, "ExecuteStatement", request)[0] == "SerializationException", parameter


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (number("x"), "The parameter cannot be converted to a numeric value: x"),
        (number("1e200"), "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        (
            nested(33),
            (
                "Nesting Levels have exceeded supported limits: Attributes in the item have nested"
                " levels beyond supported limit"
            ),
        ),
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
    ],
)
@pytest.mark.parametrize(
    "text_", [DELETE, "SELECT * FROM {t} WHERE a = ?", "INSERT INTO {t} VALUE {'pk': 'a', 'x': ?}"]
)
def test_parameters_are_worded_as_in_the_older_layer(
    table: DataTable, text_: str, parameter: Any, message: str
) -> None:
    assert refused(table, text_, parameter) == message


def test_too_few_parameters_are_refused_before_anything_is_read(table: DataTable) -> None:
    for said in ("SELECT * FROM nowhere WHERE pk = ?", "DELETE FROM nowhere WHERE pk = ? AND a = ? AND b < true"):
        assert refused(table, said) == COUNT_REFUSED
        assert refused(table, said.replace("pk = ?", "pk = ? AND c = ?"), number("x")) == COUNT_REFUSED


@pytest.mark.parametrize("count", [1, 2, 300])
def test_too_many_parameters_are_ignored(table: DataTable, count: int) -> None:
    key = fresh_key()
    more = [number(7)] * count
    execute(table, "INSERT INTO {t} VALUE {'pk': ?}", key["pk"], *more)
    assert items(table, "SELECT * FROM {t} WHERE pk = ?", key["pk"], *more) == [key]
    assert items(table, f"SELECT * FROM {{t}} WHERE pk = '{key['pk']['S']}'", *more) == [key]
    updated = items(table, "UPDATE {t} SET a = ? WHERE pk = ? RETURNING ALL NEW *", number(1), key["pk"], *more)
    assert updated == [key | {"a": number(1)}]
    read = statement(table, "SELECT a FROM {t} WHERE pk = ?", key["pk"], *more)
    for operation, request in (
        ("BatchExecuteStatement", {"Statements": [read | {"ConsistentRead": True}]}),
        ("ExecuteTransaction", {"TransactStatements": [read]}),
    ):
        assert table.raw(operation, request).json()["Responses"][0]["Item"] == {"a": number(1)}


# --- the table ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    return make_table(raw, definitions={"g": "S"}, GlobalSecondaryIndexes=[index("by-g", "g")])


def test_an_index_must_be_there_and_can_be_read_only(indexed: DataTable) -> None:
    assert refused(indexed, 'SELECT * FROM {t}."other"') == "The table does not have the specified index"
    consistent = refused(indexed, "SELECT * FROM {t}.\"by-g\" WHERE g = 'x'", ConsistentRead=True)
    assert consistent == "Strongly consistent read is not supported on Global Secondary Indexes"
    assert refused(indexed, "DELETE FROM {t}.\"by-g\" WHERE g = 'x'") == "This operation is not supported on an index"


def test_items_must_fit_the_table(indexed: DataTable) -> None:
    invalid = "One or more parameter values were invalid: "
    assert refused(indexed, "INSERT INTO {t} VALUE {'x': 1}") == invalid + "Missing the key pk in the item"
    other_type = "Key attribute's data type should match its data type in table's schema: Key "
    assert refused(indexed, "INSERT INTO {t} VALUE {'pk': 1}") == other_type + "pk"
    assert "Type mismatch for Index Key g" in str(refused(indexed, "INSERT INTO {t} VALUE {'pk': 'a', 'g': 1}"))
    assert "empty string value" in str(refused(indexed, "INSERT INTO {t} VALUE {'pk': ''}"))
    assert refused(indexed, "UPDATE {t} SET pk = 'b' WHERE pk = 'a'") == (
        invalid + "Cannot update attribute pk. This attribute is part of the key"
    )
    assert "Type mismatch for Index Key g" in str(refused(indexed, "UPDATE {t} SET g = 1 WHERE pk = 'a'"))
    assert refused(indexed, "DELETE FROM {t} WHERE pk = 1") == other_type + "pk"
    assert refused(indexed, "SELECT * FROM {t} WHERE pk = 1") == other_type + "pk"
    assert refused(indexed, 'SELECT * FROM {t}."by-g" WHERE g = 1') == other_type + "g"


def test_only_the_item_itself_has_a_size(table: DataTable) -> None:
    key = fresh_key()
    assert refused(table, "INSERT INTO {t} VALUE {'pk': 'a', 'x': ?}", text("x" * 409_600)) == (
        "Item size has exceeded the maximum allowed size"
    )
    table.put(key)
    fits = text("x" * (409_600 - len("pk") - len(key["pk"]["S"]) - len("x")))
    execute(table, "UPDATE {t} SET x = ? WHERE pk = ?", fits, key["pk"])
    assert refused(table, "UPDATE {t} SET y = 1 WHERE pk = ?", key["pk"]) == (
        "Item size to update has exceeded the maximum allowed size"
    )


def test_updates_are_refused_as_expressions_are(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"s": text("x")})
    for set_, message in (
        ("a = b", "The provided expression refers to an attribute that does not exist in the item"),
        ("a.b = 1", "The document path provided in the update expression is invalid for update"),
        ("a = s + 1", "An operand in the update expression has an incorrect data type"),
        ("s = set_add(s, <<1>>)", "An operand in the update expression has an incorrect data type"),
    ):
        assert refused(table, f"UPDATE {{t}} SET {set_} WHERE pk = ?", key["pk"]) == message


def test_exists_is_for_transactions(table: DataTable) -> None:
    exists = "EXISTS(SELECT * FROM {t} WHERE pk = 'a' AND b = 1)"
    assert refused(table, exists) == "EXISTS can only be used in ExecuteTransaction write requests."
    reply = table.raw("BatchExecuteStatement", {"Statements": [statement(table, exists)]}).json()
    assert reply["Responses"][0]["Error"]["Code"] == "ValidationError"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("FOO", "Unsupported operation: Id"),
        ("FOO.BAR;", "Unsupported operation: Path"),
        ("?", "Unsupported operation: Parameter"),
        ("FOO IS MISSING", "Unsupported operation: IsType"),
        ("FOO = 1", "EXISTS can only be used in ExecuteTransaction write requests."),
        ("EXISTS(SELECT * FROM t) OR FOO", "EXISTS can only be used in ExecuteTransaction write requests."),
        (
            "INSRT INTO t VALUE {'pk': 1}",
            "Statement wasn't well formed, can't be processed: Unexpected token after expression",
        ),
        ("SLECT * FROM t", "Statement wasn't well formed, can't be processed: Expected data manipulation"),
        ("FOO IS DOUBLE", "Statement wasn't well formed, can't be processed: Expected type name"),
    ],
)
def test_text_without_a_verb_is_an_expression(table: DataTable, said: str, message: str) -> None:
    for parameters in ([], [number(1)]):
        assert refused(table, said, *parameters) == message
        asked = statement(table, said, *parameters)
        (reply,) = table.raw("BatchExecuteStatement", {"Statements": [asked]}).json()["Responses"]
        assert reply == {"Error": {"Code": "ValidationError", "Message": message}}
        told = validation(table.raw, "ExecuteTransaction", {"TransactStatements": [asked]})
        assert told == f"Validation failed in TransactStatements[0]: {message}"


# --- the order of checks --------------------------------------------------------------------------

ORDER: list[tuple[str, Any]] = [
    ("member", {"Limit": 0}),
    ("text", {"Statement": "DELETE FROM nowhere WHERE"}),
    ("count", {"Statement": "DELETE FROM nowhere WHERE pk = ? AND a = ?", "Parameters": [{"N": "x"}]}),
    ("value", {"Parameters": [{"N": "x"}]}),
    ("static", {"Statement": "DELETE FROM nowhere WHERE pk = ? AND a < true"}),
    ("token", {"NextToken": "AAAA"}),
    ("table", {"Statement": "DELETE FROM nowhere WHERE pk = ?"}),
]
HEARD = {
    "member": ONE
    + "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
    "text": "Statement wasn't well formed, can't be processed: Unexpected term",
    "count": COUNT_REFUSED,
    "value": "The parameter cannot be converted to a numeric value: x",
    "static": "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
    "token": "NextToken is only valid on a SELECT statement",
    "table": "Requested resource not found",
}


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_of_two_faults_the_first_is_heard(table: DataTable, place: int) -> None:
    name, members = ORDER[place]
    sound = {"Statement": f'DELETE FROM "{table.name}" WHERE pk = ?', "Parameters": [text("a")]}
    assert fault(table.raw, "ExecuteStatement", sound | members)[1] == HEARD[name]
    for later, others in ORDER[place + 1 :]:
        both = sound | others | members
        assert fault(table.raw, "ExecuteStatement", both)[1] == HEARD[name], later


def test_a_missing_table_comes_before_its_keys(table: DataTable) -> None:
    assert failure(table, "UPDATE nowhere SET a = 1") == NOT_FOUND
    assert failure(table, "SELECT * FROM nowhere ORDER BY a") == NOT_FOUND
    assert items(table, SELECT) == []
    assert refused(table, SYNTAX) == SYNTAX_REFUSED


NO_NUMBER = "The parameter cannot be converted to a numeric value: x"


@pytest.mark.parametrize(
    ("text_", "parameters", "message"),
    [
        ("SELECT * FROM {t} WHERE a = [1, ?] AND n = ?", [{"N": "x"}, {"N": "1e126"}], NO_NUMBER),
        ("SELECT * FROM {t} WHERE n = ? AND a = [1, ?]", [{"N": "x"}, {"N": "1e126"}], NO_NUMBER),
        ("UPDATE {t} SET l = list_append(l, [?]), x = ? WHERE pk = 'e'", [{"N": "x"}, {"N": "1e126"}], NO_NUMBER),
        ("SELECT * FROM {t} WHERE n = ? AND m = ?", [{"N": "x"}, {}], NO_NUMBER),
    ],
)
def test_the_first_faulty_parameter_is_told(
    table: DataTable, text_: str, parameters: list[dict[str, str]], message: str
) -> None:
    assert refused(table, text_, *parameters) == message
    sound: list[dict[str, str]] = [{"S": "sound"} if one.get("N") == "x" else one for one in parameters]
    assert refused(table, text_, *sound) not in (None, message)


@pytest.mark.parametrize(
    ("opener", "closer"), [("(", ")"), ("[", "]"), ("<<", ">>"), ("{'a': ", "}"), ("f(", ")"), ("x[", "]")]
)
def test_nested_expressions_are_bounded(table: DataTable, opener: str, closer: str) -> None:
    assert str(refused(table, opener * 100 + "FOO" + closer * 100)).startswith(
        ("Unsupported operation: ", "EXISTS can only")
    )
    for count in (101, 1000):
        assert "too many operators" in str(refused(table, opener * count + "FOO" + closer * count))
