"""ExecuteStatement: SELECT as lookup, Query and Scan; order, paging, capacity."""

from typing import Any

import pytest

from tests.conformance.item_tables import NOT_FOUND, DataTable, Value, fresh_key, number, text
from tests.conformance.partiql import execute, failure, items

LETTERS = ["a", "ab", "abc", "b", "ba", "c", "z"]


@pytest.fixture(scope="module")
def letters(sorted_table: DataTable) -> Value:
    """The partition key of items whose sort keys are LETTERS; `n` counts them, every second item has `even`."""
    partition = fresh_key()["pk"]
    for place, sort in enumerate(LETTERS):
        item = {"pk": partition, "sk": text(sort), "n": number(place), "m": {"M": {"x": number(place), "y": text("y")}}}
        sorted_table.put(item | ({"even": {"BOOL": True}} if place % 2 == 0 else {}))
    return partition


def sort_keys(found: Any) -> list[str]:
    return [item["sk"]["S"] for item in found]


def test_a_full_key_gives_its_item(sorted_table: DataTable, letters: Value) -> None:
    found = items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'b'", letters)
    assert found == [sorted_table.get({"pk": letters, "sk": text("b")})]
    assert items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'bb'", letters) == []
    assert items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'b' AND n = 3", letters) == found
    assert items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'b' AND n = 4", letters) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("", LETTERS),
        ("AND sk = 'b'", ["b"]),
        ("AND sk < 'b'", ["a", "ab", "abc"]),
        ("AND 'b' <= sk", ["b", "ba", "c", "z"]),
        ("AND sk BETWEEN 'ab' AND 'b'", ["ab", "abc", "b"]),
        ("AND begins_with(sk, 'ab')", ["ab", "abc"]),
        ("AND sk IN ['z', 'a', 'a', 'q']", ["a", "z"]),
        ("AND sk <> 'b' AND NOT sk > 'c'", ["a", "ab", "abc", "ba", "c"]),
        ("AND even IS MISSING", ["ab", "b", "c"]),
        ("AND (n < 2 OR n >= 5)", ["a", "ab", "c", "z"]),
        ("AND m.x = 3", ["b"]),
        ("AND even IS BOOL", ["a", "abc", "ba", "z"]),
        ("AND attribute_exists(even) = true", ["a", "abc", "ba", "z"]),
        ("ORDER BY sk DESC", LETTERS[::-1]),
        ("AND sk > 'b' ORDER BY pk, sk DESC", ["z", "c", "ba"]),
    ],
)
def test_a_partition_key_gives_its_items(
    sorted_table: DataTable, letters: Value, condition: str, expected: list[str]
) -> None:
    assert sort_keys(items(sorted_table, f"SELECT * FROM {{t}} WHERE pk = ? {condition}", letters)) == expected


def test_a_missing_table_is_not_found(table: DataTable) -> None:
    assert failure(table, "SELECT * FROM nowhere WHERE pk = 'a'") == NOT_FOUND
    assert failure(table, 'SELECT * FROM "a b"') == NOT_FOUND


# --- writes -------------------------------------------------------------------------------------


def test_insert_puts_a_new_item_only(sorted_table: DataTable) -> None:
    key = fresh_key()["pk"]
    insert = (
        "INSERT INTO {t} VALUE {'pk': ?, 'sk': 'a', 'n': 1.50, 'l': [1, ?, {'k': null}], 's': <<'b', 'a'>>, 't': true}"
    )
    assert execute(sorted_table, insert, key, text("x")) == {"Items": []}
    assert sorted_table.get({"pk": key, "sk": text("a")}) == {
        "pk": key,
        "sk": text("a"),
        "n": number("1.5"),
        "l": {"L": [number(1), text("x"), {"M": {"k": {"NULL": True}}}]},
        "s": {"SS": ["a", "b"]},
        "t": {"BOOL": True},
    }
    assert failure(sorted_table, insert, key, text("y")) == (
        "DuplicateItemException",
        "Duplicate primary key exists in table",
    )


def test_update_changes_an_item_that_is_there(table: DataTable) -> None:
    key = fresh_key()
    update = "UPDATE {t} SET n = n + ? SET l = list_append(l, [2]), s = set_add(s, <<'b'>>) REMOVE gone WHERE pk = ?"
    assert failure(table, update, number(1), key["pk"])[0] == "ConditionalCheckFailedException"
    table.put(key | {"n": number(1), "l": {"L": [number(1)]}, "s": {"SS": ["a"]}, "gone": text("x")})
    assert execute(table, update, number(1), key["pk"]) == {"Items": []}
    changed = {"n": number(2), "l": {"L": [number(1), number(2)]}, "s": {"SS": ["a", "b"]}}
    assert table.get(key) == key | changed
    returning = "UPDATE {t} SET s = set_delete(s, ?), m = 'x' WHERE pk = ? AND n = 2 RETURNING "
    parameters = ({"SS": ["a"]}, key["pk"])
    assert items(table, returning + "MODIFIED OLD *", *parameters) == [{"s": {"SS": ["a", "b"]}}]
    assert items(table, returning + "MODIFIED NEW *", *parameters) == [{"s": {"SS": ["b"]}, "m": text("x")}]
    whole = key | {"n": number(2), "l": changed["l"], "s": {"SS": ["b"]}, "m": text("x")}
    assert items(table, returning + "ALL OLD *", *parameters) == [whole]
    assert items(table, returning + "ALL NEW *", *parameters) == [whole]


def test_an_update_may_begin_with_its_source(table: DataTable) -> None:
    key = fresh_key()
    table.put(key)
    assert items(table, "FROM {t} WHERE pk = ? SET a = 1 RETURNING ALL NEW *", key["pk"]) == [key | {"a": number(1)}]


def test_delete_removes_an_item_and_may_return_it(table: DataTable) -> None:
    key = fresh_key()
    delete = "DELETE FROM {t} WHERE pk = ? RETURNING ALL OLD *"
    assert execute(table, delete, key["pk"]) == {"Items": []}
    table.put(key | {"a": number(1)})
    assert failure(table, "DELETE FROM {t} WHERE pk = ? AND a > 1", key["pk"])[0] == "ConditionalCheckFailedException"
    assert items(table, delete, key["pk"]) == [key | {"a": number(1)}]
    assert table.get(key) is None


def test_a_missing_item_is_deleted_whatever_its_conditions(table: DataTable) -> None:
    key = fresh_key()
    for condition in ("a = 1", "attribute_exists(a)", "a IS MISSING", "NOT a = 1", "pk > 'other'"):
        assert items(table, f"DELETE FROM {{t}} WHERE pk = ? AND {condition} RETURNING ALL OLD *", key["pk"]) == []
        assert failure(table, f"UPDATE {{t}} SET b = 1 WHERE pk = ? AND {condition}", key["pk"])[0] == (
            "ConditionalCheckFailedException"
        )
    assert table.get(key) is None


@pytest.mark.parametrize(
    ("clauses", "old", "new"),
    [
        ("REMOVE tags[1]", {"tags": {"L": [text("b")]}}, {"tags": {"L": [text("c")]}}),
        ("REMOVE tags[2]", {"tags": {"L": [text("c")]}}, None),
        ("REMOVE m.l[0]", {"m": {"M": {"l": {"L": [number(1)]}}}}, {"m": {"M": {"l": {"L": [number(2)]}}}}),
        ("REMOVE m.x", {"m": {"M": {"x": number(0)}}}, None),
        ("REMOVE n", {"n": number(7)}, None),
        ("REMOVE n SET x = 1", {"n": number(7)}, {"x": number(1)}),
        (
            "SET n = 8 REMOVE tags[0]",
            {"n": number(7), "tags": {"L": [text("a")]}},
            {"n": number(8), "tags": {"L": [text("b")]}},
        ),
    ],
)
def test_what_was_modified_is_what_stands_at_the_targets(table: DataTable, clauses: str, old: Any, new: Any) -> None:
    item = {
        "tags": {"L": [text("a"), text("b"), text("c")]}, "n": number(7),
        "m": {"M": {"x": number(0), "l": {"L": [number(1), number(2)]}}},
    }  # fmt: skip
    for image, expected in (("OLD", old), ("NEW", new)):
        key = fresh_key()
        table.put(key | item)
        update = f"UPDATE {{t}} {clauses} WHERE pk = ? RETURNING MODIFIED {image} *"
        assert items(table, update, key["pk"]) == ([] if expected is None else [expected])


def test_what_is_missing_cannot_be_assigned(table: DataTable) -> None:
    key = fresh_key()
    update = "UPDATE {t} SET n = missing WHERE pk = ?"
    assert failure(table, update, key["pk"])[0] == "ConditionalCheckFailedException"
    table.put(key)
    assert failure(table, update, key["pk"]) == (
        "ValidationException",
        "The provided expression refers to an attribute that does not exist in the item",
    )


def test_further_conditions_on_a_key_are_conditions_of_a_write(sorted_table: DataTable) -> None:
    key = fresh_key()["pk"]
    sorted_table.put({"pk": key, "sk": text("b")})
    for condition in ("sk < 'a'", "sk IN ['c']", "pk > 'x'", "NOT sk = 'b'", "sk > 'a' AND sk < 'b'"):
        for statement in ("UPDATE {t} SET a = 1", "DELETE FROM {t}"):
            found = failure(sorted_table, f"{statement} WHERE pk = ? AND sk = 'b' AND {condition}", key)
            assert found[0] == "ConditionalCheckFailedException", (statement, condition)
    execute(sorted_table, "UPDATE {t} SET a = 1 WHERE pk = ? AND sk = 'b' AND sk > 'a' AND sk < 'c'", key)
    execute(sorted_table, "DELETE FROM {t} WHERE pk = ? AND sk = 'b' AND sk > 'a' AND sk < 'c'", key)
    assert sorted_table.get({"pk": key, "sk": text("b")}) is None


# --- types and truths -------------------------------------------------------------------------------

VALUES: dict[str, Value] = {
    "s": text("x"),
    "n": number(1),
    "b": {"B": "eA=="},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "l": {"L": [number(1)]},
    "m": {"M": {"x": text("x")}},
    "ss": {"SS": ["a"]},
    "ns": {"NS": ["1"]},
    "bs": {"BS": ["eA=="]},
}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("STRING", "s"), ("BOOL BOOLEAN", "t"), ("NULL", "z"), ("NUMERIC NUMERIC(10,2)", "n"), ("BLOB", "b"),
        ("LIST", "l"), ("STRUCT TUPLE", "m"),
    ],
)  # fmt: skip
def test_is_asks_for_a_type(table: DataTable, words: str, names: str) -> None:
    key = fresh_key()
    table.put(key | VALUES)
    for word in words.split():
        for name in (*VALUES, "m.x", "nothing"):
            fits = name in names.split() or (name == "m.x" and word == "STRING")
            select = f"SELECT pk FROM {{t}} WHERE pk = ? AND {name} IS "
            assert items(table, select + word, key["pk"]) == ([key] if fits else []), (name, word)
            assert items(table, select + f"NOT {word}", key["pk"]) == ([] if fits else [key]), (name, word)


def test_functions_are_true_or_false(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": text("xyz")})
    for condition, is_true in (
        ("attribute_exists(a)", True), ("attribute_exists(b)", False), ("attribute_not_exists(a)", False),
        ("begins_with(a, 'x')", True), ("contains(a, 'q')", False), ("attribute_type(a, 'S')", True),
    ):  # fmt: skip
        for comparison, means in (
            ("{} = true", True),
            ("{} = false", False),
            ("true <> {}", False),
            ("{} != FALSE", True),
        ):
            select = f"SELECT pk FROM {{t}} WHERE pk = ? AND {comparison.format(condition)}"
            assert items(table, select, key["pk"]) == ([key] if is_true == means else []), (condition, comparison)
        for wanted in (True, False):
            select = f"SELECT pk FROM {{t}} WHERE pk = ? AND {condition} = ?"
            assert items(table, select, key["pk"], {"BOOL": wanted}) == ([key] if is_true == wanted else [])


def test_a_failed_condition_shows_the_item_when_asked(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    request = {"Statement": f'UPDATE "{table.name}" SET a = 2 WHERE pk = ? AND a = 3', "Parameters": [key["pk"]]}
    reply = table.raw("ExecuteStatement", request | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}).json()
    assert reply["Item"] == key | {"a": number(1)}
    assert "Item" not in table.raw("ExecuteStatement", request).json()


# --- statements as people write them ----------------------------------------------------------------


def test_a_statement_may_name_its_table_by_arn(table: DataTable) -> None:
    key = fresh_key()
    table.put(key)
    for source in (f'"{table.arn}"', f'"{table.name}"'):
        assert items(table, f"SELECT * FROM {source} WHERE pk = ?", key["pk"]) == [key]


def test_a_result_is_flat(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": {"M": {"b": {"L": [number(1), {"M": {"c": text("x")}}]}}}, "d": number(2)})
    select = "SELECT a.b[1].c, a.b[0], d, a.nothing FROM {t} WHERE pk = ?"
    assert items(table, select, key["pk"]) == [{"c": text("x"), "b[0]": number(1), "d": number(2)}]


def test_a_life_of_an_item(sorted_table: DataTable) -> None:
    artist = fresh_key()["pk"]
    where = " WHERE pk = ? AND sk = 'Rocks'"

    def say(statement: str, *parameters: Value) -> Any:
        return items(sorted_table, statement, *parameters, artist)

    execute(sorted_table, "INSERT INTO {t} value {'pk' : ?,'sk' : 'Rocks'}", artist)
    say("UPDATE {t} SET won=1 SET \"detail\"={'grammys':[2020, 2018]}" + where)
    say('UPDATE {t} SET "detail".grammys =list_append("detail".grammys,[2016])' + where)
    say('UPDATE {t} REMOVE "detail".grammys[2]' + where)
    say("UPDATE {t} set members =<<'a', 'b'>>, scores = <<1, ?>>" + where, number("2.50"))
    say("UPDATE {t} SET members =set_add(members, <<'newbie'>>)" + where)
    (changed,) = say("UPDATE {t} SET members =set_delete(members, <<'a'>>)" + where + " RETURNING ALL NEW *")
    assert changed == {
        "pk": artist,
        "sk": text("Rocks"),
        "won": number(1),
        "detail": {"M": {"grammys": {"L": [number(2020), number(2018)]}}},
        "members": {"SS": ["b", "newbie"]},
        "scores": {"NS": ["2.5", "1"]},
    }
    for condition in (
        "size(members) = 2 AND contains(members, 'newbie')",
        "attribute_type(\"detail\", 'M') AND begins_with(sk, 'Ro')",
        "awards IS MISSING AND won IS NOT MISSING",
        '"detail".grammys[0] = 2020 and won in (1, 2) and not won between 5 and 6',
        "scores = <<2.5, 1>> AND \"detail\" = {'grammys': [2020, 2018]}",
    ):
        assert items(sorted_table, f"SELECT * FROM {{t}} WHERE pk = ? AND {condition}", artist) == [changed], condition
    (gone,) = say("DELETE FROM {t}" + where + " AND won >= 1 RETURNING ALL OLD *")
    assert gone == changed
    assert say("SELECT * FROM {t}" + where) == []
