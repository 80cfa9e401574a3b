"""Keys in statements of PartiQL: too large, of a wrong type, fixed twice or not at all, updated, ordered by."""

from typing import Any

import pytest

from tests.conformance.item_tables import INVALID, DataTable, Value, fresh_key, make_table, number, text
from tests.conformance.partiql import execute, items, refused, statement
from tests.conformance.tables import fault, index, validation
from tests.support.raw_client import RawClient

HASH_TOO_LARGE = INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
RANGE_TOO_LARGE = INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
NO_KEY_TYPE = "Key value must be of type S, N, or B. Key name: {}, Key type: {}"
OTHER_TYPE = "Key attribute's data type should match its data type in table's schema: Key {}"
SCHEMA = "The provided key element does not match the schema"
NOT_FIXED = "Where clause does not contain a mandatory equality on all key attributes"
TWICE = "Multiple conditions on same key {}. Only single item Update/Insert/Delete are supported"
UPDATED = INVALID + "Cannot update attribute {}. This attribute is part of the key"
LONG, LONG_SORT = text("k" * 2049), text("k" * 1025)


@pytest.fixture(scope="module")
def keyed(raw: RawClient) -> DataTable:
    """A table with keys `pk` and `sk`, a global index `global` on `g` and `h`, and a local one,
    `local`, on `l`; all strings.
    """
    return make_table(
        raw, sort="S", definitions={"g": "S", "h": "S", "l": "S"},
        GlobalSecondaryIndexes=[index("global", "g", "h")], LocalSecondaryIndexes=[index("local", "pk", "l")],
    )  # fmt: skip


def batch(table: DataTable, said: str, *parameters: Value, **members: Any) -> Any:
    """The reply of a batch to its only statement."""
    request = {"Statements": [statement(table, said, *parameters) | members]}
    (reply,) = table.raw("BatchExecuteStatement", request).json()["Responses"]
    return reply


def reasons(table: DataTable, said: str, *parameters: Value) -> Any:
    """The reasons for which a transaction with this statement, and another one before it, is cancelled."""
    other = (
        "SELECT * FROM {t} WHERE pk = 'o' AND sk = 'o'"
        if said[0] == "S"
        else "DELETE FROM {t} WHERE pk = 'o' AND sk = 'o'"
    )
    request = {"TransactStatements": [statement(table, other), statement(table, said, *parameters)]}
    return table.raw("ExecuteTransaction", request).json()["CancellationReasons"][1]


# --- too large ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "parameters", "message"),
    [
        ("SELECT * FROM {t} WHERE pk = ?", [LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk IN [?]", [LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = ? AND sk = 'a'", [LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t} WHERE sk = ? AND pk = ?", [LONG_SORT, LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t} WHERE sk > ? AND pk = ?", [LONG_SORT, LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk < ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND ? <= sk", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND begins_with(sk, ?)", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk BETWEEN 'a' AND ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk IN ['a', ?]", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND (sk = 'a' OR sk = ?)", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk > 'a' AND sk < ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk = 'a' AND sk < ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND NOT sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND sk <> ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk IN ['a', 'b'] AND sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t} WHERE pk = 'a' AND x = 1 OR pk = 'a' AND sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
        ('SELECT * FROM {t}."global" WHERE g = ?', [LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t}.\"global\" WHERE g = 'a' AND h >= ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("SELECT * FROM {t}.\"local\" WHERE pk = ? AND l = 'a'", [LONG], HASH_TOO_LARGE),
        ("SELECT * FROM {t}.\"local\" WHERE pk = 'a' AND l = ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("INSERT INTO {t} VALUE {'pk': ?, 'sk': 'a'}", [LONG], HASH_TOO_LARGE),
        ("INSERT INTO {t} VALUE {'sk': ?, 'pk': ?}", [LONG_SORT, LONG], HASH_TOO_LARGE),
        ("INSERT INTO {t} VALUE {'pk': 'a', 'sk': ?}", [LONG_SORT], RANGE_TOO_LARGE),
        ("INSERT INTO {t} VALUE {'pk': 'a', 'sk': 'a', 'g': ?}", [LONG], HASH_TOO_LARGE),
        ("INSERT INTO {t} VALUE {'pk': 'a', 'sk': 'a', 'l': ?}", [LONG_SORT], RANGE_TOO_LARGE),
        ("UPDATE {t} SET x = 1 WHERE pk = ? AND sk = 'a'", [LONG], HASH_TOO_LARGE),
        ("UPDATE {t} SET x = 1 WHERE pk = 'a' AND sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
        ("DELETE FROM {t} WHERE sk = ? AND pk = ?", [LONG_SORT, LONG], HASH_TOO_LARGE),
    ],
)  # fmt: skip
def test_a_key_is_too_large(keyed: DataTable, said: str, parameters: list[Value], message: str) -> None:
    assert refused(keyed, said, *parameters) == message


def test_of_several_partitions_one_may_be_too_large(keyed: DataTable) -> None:
    key = fresh_key() | {"sk": text("a")}
    keyed.put(key | {"g": key["pk"], "h": text("a")})
    for where in ("pk IN [?, ?]", "pk = ? OR pk = ?", "pk = ? AND x = 1 OR pk = ?", "pk IN [?, ?] AND sk = 'a'"):
        assert len(items(keyed, f"SELECT * FROM {{t}} WHERE {where}", LONG, key["pk"])) == 1, where
    assert items(keyed, "SELECT * FROM {t} WHERE pk IN [?, ?]", LONG, text("k" * 2050)) == []
    assert items(keyed, "SELECT * FROM {t} WHERE pk > ?", LONG) == []


TABLE_NAMED = [
    ("DELETE FROM {t} WHERE pk = ? AND sk = 'a'", [LONG], HASH_TOO_LARGE),
    ("UPDATE {t} SET x = 1 WHERE pk = 'a' AND sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
    ("INSERT INTO {t} VALUE {'pk': ?, 'sk': 'a'}", [LONG], HASH_TOO_LARGE),
    ("INSERT INTO {t} VALUE {'pk': 'a', 'sk': 'a', 'g': ?}", [LONG], HASH_TOO_LARGE),
    ("SELECT * FROM {t} WHERE pk = ? AND sk = 'a'", [LONG], HASH_TOO_LARGE),
    ("SELECT * FROM {t} WHERE pk = 'a' AND sk = ?", [LONG_SORT], RANGE_TOO_LARGE),
    ("UPDATE {t} SET sk = 'b' WHERE pk = 'a' AND sk = 'a'", [], UPDATED.format("sk")),
    ("UPDATE {t} REMOVE pk WHERE pk = 'a' AND sk = 'a'", [], UPDATED.format("pk")),
]


@pytest.mark.parametrize(("said", "parameters", "message"), TABLE_NAMED)
def test_a_batch_names_the_table_of_a_faulty_key(
    keyed: DataTable, said: str, parameters: list[Value], message: str
) -> None:
    error = {"Code": "ValidationError", "Message": message}
    assert batch(keyed, said, *parameters) == {"Error": error, "TableName": keyed.name}
    assert reasons(keyed, said, *parameters) == error


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("DELETE FROM {t} WHERE pk = 'a'", NOT_FIXED),
        ("DELETE FROM {t} WHERE pk = 1 AND sk = 'a'", OTHER_TYPE.format("pk")),
        ("UPDATE {t} SET g = 1 WHERE pk = 'a' AND sk = 'a'", "Type mismatch for Index Key g"),
        ("UPDATE {t} SET pk.x = 1 WHERE pk = 'a' AND sk = 'a'", "Key attributes must be scalars"),
        ("INSERT INTO {t} VALUE {'pk': 'a'}", "Missing the key sk in the item"),
        ("INSERT INTO {t} VALUE {'pk': '', 'sk': 'a'}", "cannot contain an empty string value"),
    ],
)
def test_a_batch_names_no_table_of_other_faults(keyed: DataTable, said: str, message: str) -> None:
    reply = batch(keyed, said)
    assert list(reply) == ["Error"]
    assert message in reply["Error"]["Message"]


def test_an_update_of_the_key_is_refused_before_the_item_is_read(keyed: DataTable) -> None:
    assert refused(keyed, "UPDATE {t} SET pk = 'b' WHERE pk = 'nobody' AND sk = 'a'") == UPDATED.format("pk")
    assert refused(keyed, "UPDATE {t} SET sk = sk WHERE pk = 'nobody' AND sk = 'a' AND x = 1") == UPDATED.format("sk")


# --- which conditions are the key -------------------------------------------------------------------

NOT_THE_KEY = [
    ("pk = 'a' OR pk = 'b'", NOT_FIXED),
    ("pk IN ['a', 'b']", NOT_FIXED),
    ("pk IN ['a']", NOT_FIXED),
    ("(pk = 'a' OR pk = 'a')", NOT_FIXED),
    ("pk = 'a' AND sk = 'a' OR pk = 'a' AND sk = 'a'", NOT_FIXED),
    ("sk IN ['a'] AND pk = 'a'", NOT_FIXED),
    ("NOT pk <> 'a' AND sk = 'a'", NOT_FIXED),
    ("pk = x AND sk = 'a'", NOT_FIXED),
    ("pk = 'a' AND pk = 'b' AND sk = 'a'", TWICE.format("pk")),
    ("pk = 'a' AND sk = 'a' AND (x = 1 AND 'a' = pk)", TWICE.format("pk")),
    ("sk = 'a' AND pk = 'a' AND sk = 'b'", TWICE.format("sk")),
    ("pk = 'a' AND pk = 'b'", TWICE.format("pk")),
]


@pytest.mark.parametrize(("where", "message"), NOT_THE_KEY)
@pytest.mark.parametrize("write", ["DELETE FROM {t}", "UPDATE {t} SET x = 1"])
def test_only_equalities_at_the_top_are_the_key(keyed: DataTable, where: str, message: str, write: str) -> None:
    said = f"{write} WHERE {where}"
    assert refused(keyed, said) == message
    assert batch(keyed, said) == {"Error": {"Code": "ValidationError", "Message": message}}
    request = {"TransactStatements": [statement(keyed, said)]}
    heard = validation(keyed.raw, "ExecuteTransaction", request)
    assert heard == f"Validation failed in TransactStatements[0]: {message}"


def test_an_or_beside_the_key_is_a_condition(keyed: DataTable) -> None:
    one, two = fresh_key()["pk"], fresh_key()["pk"]
    for key in (one, two):
        keyed.put({"pk": key, "sk": text("a"), "x": number(1)})
    delete = "DELETE FROM {t} WHERE (pk = ? OR x = 1) AND pk = ? AND sk = 'a'"
    batched = [statement(keyed, delete, one, two), statement(keyed, "DELETE FROM {t} WHERE pk = ? AND sk = 'a'", two)]
    for operation, member, twice in (
        ("BatchExecuteStatement", "Statements", "Provided list of item keys contains duplicates"),
        (
            "ExecuteTransaction",
            "TransactStatements",
            "Transaction request cannot include multiple operations on one item",
        ),
    ):
        assert validation(keyed.raw, operation, {member: batched}) == twice
    execute(keyed, delete, one, two)
    assert keyed.get({"pk": one, "sk": text("a")}) is not None
    assert keyed.get({"pk": two, "sk": text("a")}) is None


# --- types ------------------------------------------------------------------------------------------

NO_KEY = {"BOOL": "true", "NULL": "null", "L": "[1]", "M": "{'a': 1}", "SS": "<<'a'>>", "NS": "<<1>>"}
PLACES = [
    ("SELECT * FROM {t} WHERE pk = %s", "pk"),
    ("SELECT * FROM {t} WHERE pk = 'a' AND sk = %s", "sk"),
    ("SELECT * FROM {t} WHERE pk = %s AND sk = 'a'", "pk"),
    ("SELECT * FROM {t} WHERE pk IN ['a', %s]", "pk"),
    ("SELECT * FROM {t} WHERE pk IN ['a', 'b'] AND sk IN ['a', %s]", "sk"),
    ("SELECT * FROM {t} WHERE pk = 'a' AND sk IN ['a', %s]", "sk"),
    ('SELECT * FROM {t}."global" WHERE g = %s', "g"),
    ("SELECT * FROM {t}.\"global\" WHERE g = 'a' AND h = %s", "h"),
    ("SELECT * FROM {t}.\"local\" WHERE pk = 'a' AND l = %s", "l"),
    ("UPDATE {t} SET x = 1 WHERE pk = %s AND sk = 'a'", "pk"),
    ("DELETE FROM {t} WHERE pk = 'a' AND sk = %s", "sk"),
]


@pytest.mark.parametrize(("said", "name"), PLACES)
def test_a_key_has_a_wrong_type(keyed: DataTable, said: str, name: str) -> None:
    for type_name, literal in NO_KEY.items():
        assert refused(keyed, said % literal) == NO_KEY_TYPE.format(name, type_name), literal
    assert refused(keyed, said % "1") == OTHER_TYPE.format(name)
    assert refused(keyed, said % "?", {"B": "YQ=="}) == OTHER_TYPE.format(name)


@pytest.mark.parametrize("condition", ["sk < 1", "sk BETWEEN 1 AND 2", "sk >= 1 AND sk < 'b'", "sk <> 1", "NOT sk = 1"])
def test_every_condition_on_the_sort_key_has_its_type(keyed: DataTable, condition: str) -> None:
    assert refused(keyed, f"SELECT * FROM {{t}} WHERE pk = 'a' AND {condition}") == OTHER_TYPE.format("sk")


def test_an_inserted_key_has_a_wrong_type(keyed: DataTable) -> None:
    for literal in (*NO_KEY.values(), "1"):
        assert refused(keyed, f"INSERT INTO {{t}} VALUE {{'pk': {literal}, 'sk': 'a'}}") == OTHER_TYPE.format("pk")
        assert refused(keyed, f"INSERT INTO {{t}} VALUE {{'pk': 'a', 'sk': {literal}}}") == OTHER_TYPE.format("sk")


@pytest.mark.parametrize("said", [
    "SELECT * FROM {t} WHERE pk = %s AND sk = 'a'", "UPDATE {t} SET x = 1 WHERE pk = %s AND sk = 'a'",
    "DELETE FROM {t} WHERE pk = %s AND sk = 'a'",
])  # fmt: skip
def test_a_key_of_a_wrong_type_cancels_a_transaction(keyed: DataTable, said: str) -> None:
    assert reasons(keyed, said % "1") == {"Code": "ValidationError", "Message": SCHEMA}
    assert batch(keyed, said % "1") == {"Error": {"Code": "ValidationError", "Message": OTHER_TYPE.format("pk")}}
    no_key = NO_KEY_TYPE.format("pk", "BOOL")
    assert batch(keyed, said % "true") == {"Error": {"Code": "ValidationError", "Message": no_key}}
    if said[0] == "S":
        assert reasons(keyed, said % "true") == {"Code": "ValidationError", "Message": SCHEMA}
        return
    code, message = fault(keyed.raw, "ExecuteTransaction", {"TransactStatements": [statement(keyed, said % "true")]})
    assert (code, message) == ("ValidationException", f"Validation failed in TransactStatements[0]: {no_key}")


# --- ORDER BY ---------------------------------------------------------------------------------------

BOTH = "WHERE pk = 'a' AND x = 1 OR pk = 'a' AND sk = '2'"
HASH_CONDITION = "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
HASH_IN_ORDER = "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
NO_WHERE = "Must have WHERE clause in the statement when using ORDER BY clause."


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("ORDER BY x", NO_WHERE),
        ("ORDER BY sk", NO_WHERE),
        ("WHERE sk = '1' ORDER BY x", "Attribute x in ORDER BY clause must be part of the primary key"),
        ("WHERE pk IN ['a', 'b'] ORDER BY x", "Attribute x in ORDER BY clause must be part of the primary key"),
        (f"{BOTH} ORDER BY pk, x", "Attribute x in ORDER BY clause must be part of the primary key"),
        (f"{BOTH} ORDER BY sk", OVERLAP),
        ("WHERE sk = '1' ORDER BY sk", HASH_CONDITION),
        ("WHERE sk = '1' ORDER BY pk", HASH_CONDITION),
        ("WHERE pk > '1' ORDER BY pk", HASH_CONDITION),
        ("WHERE pk IN ['a', 'b'] ORDER BY sk", HASH_IN_ORDER),
        ("WHERE pk = 'a' OR pk = 'b' ORDER BY sk", HASH_IN_ORDER),
        ("WHERE pk = 'a' AND sk = '1' OR pk = 'b' ORDER BY sk DESC", HASH_IN_ORDER),
    ],
)
def test_what_can_be_ordered_by(keyed: DataTable, rest: str, message: str) -> None:
    assert refused(keyed, f"SELECT * FROM {{t}} {rest}") == message
    assert refused(keyed, "SELECT * FROM {t}.\"local\" WHERE pk = 'a' ORDER BY sk") == (
        "Attribute sk in ORDER BY clause must be part of the primary key"
    )
