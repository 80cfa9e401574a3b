"""ExecuteStatement on indexes and over several partition keys: which attributes a condition sees there,
and which key conditions overlap.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Value, fresh_key, make_table, number, text
from tests.conformance.partiql import failure, items, refused
from tests.conformance.propagation import propagated
from tests.conformance.tables import index, keys
from tests.support.raw_client import RawClient

OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
KEYS_ONLY = {"ProjectionType": "KEYS_ONLY"}


def sort_keys(found: Any) -> list[str]:
    return [item["sk"]["S"] for item in found]


# --- OR over partition keys ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def partitions(sorted_table: DataTable) -> tuple[Value, Value]:
    """Two partitions with the items 1, 2 and 3, whose `x` is the same."""
    one, two = fresh_key()["pk"], fresh_key()["pk"]
    for partition in (one, two):
        for sort in "123":
            sorted_table.put({"pk": partition, "sk": text(sort), "x": text(sort), "p": partition})
    return one, two


@pytest.mark.parametrize(
    "where",
    [
        "pk = {a} AND x = '1' OR pk = {a} AND sk = '2'",
        "pk = {a} AND x <> '1' OR pk = {a} AND sk = '2'",
        "pk = {a} AND x = '1' OR pk = {a} AND x = '2'",
        "pk = {a} AND sk = '1' OR pk = {a}",
        "pk = {a} OR pk = {b} OR pk = {a}",
        "pk = {a} AND sk = '1' OR pk = {a} AND sk = '1'",
        "pk = {a} AND sk < '2' OR pk = {b} OR pk = {a} AND '1' >= sk",
        "pk = {a} AND sk BETWEEN '1' AND '2' OR pk = {a} AND sk >= '2'",
        "pk = {a} AND begins_with(sk, '1') OR pk = {a} AND sk = '10'",
        "pk = {a} AND sk IN ['1'] OR pk = {a} AND x = '2'",
        "pk = {a} AND sk IN ['3', '1'] OR pk = {a} AND sk < '2'",
        "pk = {a} AND (sk = '1' OR sk > '2') OR pk = {a} AND sk = '3'",
        "pk = {a} AND sk > '1' AND '1' < sk OR pk = {a} AND sk = '2'",
        "pk IN [{a}, {b}] AND x = '1' OR pk = {b} AND begins_with(sk, '2')",
        "(pk = {a} OR pk = {b} AND x = '1') OR pk = {a} AND sk BETWEEN '1' AND '2'",
        "(pk = {a} OR pk = {a} AND x = '1') AND sk = '2'",
    ],
)
def test_branches_that_share_a_key_overlap(
    sorted_table: DataTable, partitions: tuple[Value, Value], where: str
) -> None:
    one, two = (partition["S"] for partition in partitions)
    assert refused(sorted_table, "SELECT * FROM {t} WHERE " + where.format(a=f"'{one}'", b=f"'{two}'")) == OVERLAP


def test_parameters_overlap_as_literals_do(sorted_table: DataTable, partitions: tuple[Value, Value]) -> None:
    one, two = partitions
    select = "SELECT * FROM {t} WHERE pk = ? AND x = '1' OR pk = ? AND sk = '2'"
    assert refused(sorted_table, select, one, one) == OVERLAP
    assert sort_keys(items(sorted_table, select, one, two)) == ["1", "2"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("pk = {a} AND (sk = '3' OR sk = '1')", ["a1", "a3"]),
        ("pk = {a} AND (sk < '2' OR sk = '1')", ["a1"]),
        ("pk = {a} AND (sk = '1' OR sk = '1')", ["a1"]),
        ("pk IN [{a}, {a}]", ["a1", "a2", "a3"]),
        ("pk = {a} AND sk = '3' OR pk = {a} AND sk = '1'", ["a1", "a3"]),
        ("pk = {a} AND sk < '2' OR pk = {b} OR pk = {a} AND sk > '2'", ["a1", "a3", "b1", "b2", "b3"]),
        ("pk = {a} AND (sk = '1' OR sk > '2') OR pk = {a} AND sk = '2'", ["a1", "a2", "a3"]),
        ("pk = {a} AND (sk < '2' OR sk = '1' OR sk = '1') OR pk = {a} AND sk = '2'", ["a1", "a2"]),
        ("pk = {a} AND NOT sk = '1' OR pk = {a} AND sk = '2'", ["a2", "a3"]),
        ("pk = {a} AND sk <> '1' OR pk = {a} AND sk = '2'", ["a2", "a3"]),
        ("pk = {a} AND NOT begins_with(sk, '1') OR pk = {a} AND sk = '2'", ["a2", "a3"]),
        ("pk = {a} AND sk NOT IN ['1'] OR pk = {a} AND sk = '2'", ["a2", "a3"]),
        ("pk = {a} AND NOT (x = '1' OR sk = '3') OR pk = {a} AND sk = '2'", ["a2"]),
        ("(pk = {a} AND x = '1' OR pk = {a}) AND sk <> '2'", ["a1", "a3"]),
        ("pk = {a} AND sk > '1' AND sk < '3' OR pk = {a} AND sk = '2'", ["a2"]),
        ("pk = {a} AND sk > '1' AND sk < '3' OR pk = {b}", ["a2", "b1", "b2", "b3"]),
        ("(pk = {a} AND sk > '1' OR pk = {b} AND x = '1') AND sk < '3'", ["a2", "b1"]),
        ("(pk = {a} OR pk = {b}) AND sk > '1' AND sk < '3'", ["a2", "b2"]),
        ("(pk = {a} OR pk = {a}) AND sk > '1' AND sk < '3'", ["a2"]),
        ("(pk = {b} OR pk = {a}) AND sk IN ['3', '1'] AND sk < '2'", ["b1", "a1"]),
        ("pk = {a} AND sk > '1' AND sk < '3'", ["a2"]),
        ("pk = {a} AND sk = '1' AND sk = '2'", []),
        ("pk = {a} AND '3' = sk AND sk > '1'", ["a3"]),
        ("pk = {a} AND sk = '1' OR pk = {b}", ["a1", "b1", "b2", "b3"]),
        ("pk = {a} AND sk = '1' OR pk = {b} AND sk >= '2'", ["a1", "b2", "b3"]),
        ("pk = {b} AND sk IN ['3', '1'] OR pk = {a} AND sk BETWEEN '2' AND '3'", ["b1", "b3", "a2", "a3"]),
        ("(pk = {a} OR pk = {b} AND x = '3') AND sk > '1'", ["a2", "a3", "b3"]),
        ("pk = {a} AND sk <> '1' OR pk = {a} AND NOT sk = '3'", ["a1", "a2", "a3"]),
        ("pk = {a} AND (x = '1' OR sk = '2')", ["a1", "a2"]),
        ("pk IN [{a}, {a}] AND sk = '1' OR pk = {b} AND '2' < sk", ["a1", "b3"]),
        ("(pk = {a} AND x > '1' AND sk = '2') OR (pk = {b} AND NOT sk = '2')", ["a2", "b1", "b3"]),
    ],
)
def test_other_branches_are_read(
    sorted_table: DataTable, partitions: tuple[Value, Value], where: str, expected: list[str]
) -> None:
    one, two = (partition["S"] for partition in partitions)
    found = items(sorted_table, "SELECT * FROM {t} WHERE " + where.format(a=f"'{one}'", b=f"'{two}'"))
    names = {one: "a", two: "b"}
    assert [names[item["pk"]["S"]] + item["sk"]["S"] for item in found] == expected


def test_overlap_is_told_after_the_table(sorted_table: DataTable) -> None:
    where = "WHERE pk = 'a' AND x = '1' OR pk = 'a' AND sk = '2'"
    assert failure(sorted_table, f"SELECT * FROM nowhere {where}")[0] == "ResourceNotFoundException"
    assert refused(sorted_table, f"SELECT * FROM nowhere {where} AND sk = sk") != OVERLAP
    assert refused(sorted_table, f"SELECT * FROM {{t}} {where}") == OVERLAP


def test_a_table_without_a_sort_key_has_no_ranges(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"x": text("1")})
    found = items(table, "SELECT * FROM {t} WHERE pk = ? AND x = '1' OR pk = ? AND x = '2'", key["pk"], key["pk"])
    assert found == [key | {"x": text("1")}]


def test_the_ranges_of_one_partition_are_read_in_the_order_of_keys(
    sorted_table: DataTable, partitions: tuple[Value, Value]
) -> None:
    one, two = partitions
    select = "SELECT * FROM {t} WHERE pk = ? AND sk = '2' OR pk = ? AND sk <= '3' OR pk = ? AND sk IN ['3', '1']"
    assert sort_keys(items(sorted_table, select, one, two, one)) == ["1", "2", "3", "1", "2", "3"]
    backwards = f"{select} ORDER BY pk, sk DESC"
    assert sort_keys(items(sorted_table, backwards, one, two, one)) == ["3", "2", "1", "3", "2", "1"]
    assert sort_keys(
        items(
            sorted_table,
            "SELECT * FROM {t} WHERE pk = ? AND sk = '2' OR pk = ? AND sk = '1' ORDER BY pk, sk DESC",
            one,
            one,
        )
    ) == ["2", "1"]


def test_branches_are_paged(sorted_table: DataTable, partitions: tuple[Value, Value]) -> None:
    one, two = partitions
    select = "SELECT * FROM {t} WHERE pk = ? AND sk > '1' OR pk = ? AND sk = '2' OR pk = ? AND sk < '2'"
    request = {"Statement": select.replace("{t}", f'"{sorted_table.name}"'), "Parameters": [one, two, two], "Limit": 1}
    found, token = [], None
    while True:
        reply = sorted_table.raw("ExecuteStatement", request | ({} if token is None else {"NextToken": token})).json()
        found += sort_keys(reply["Items"])
        token = reply.get("NextToken")
        if token is None:
            break
    assert found == ["2", "3", "1", "2"]


# --- what an index does not project ---------------------------------------------------------------


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    """Two items with `x`, which no index projects; one of them has `y`."""
    table = make_table(
        raw, sort="S", definitions={"g": "S", "h": "S"},
        GlobalSecondaryIndexes=[
            index("global", "g", Projection=KEYS_ONLY),
            index("many", "g", None, KeySchema=[*keys("g"), *keys("h")]),
        ],
        LocalSecondaryIndexes=[index("local", "pk", "h", Projection=KEYS_ONLY)],
    )  # fmt: skip
    for sort, more in (("1", {}), ("2", {"y": number(1)})):
        table.put({"pk": text("a"), "sk": text(sort), "g": text(sort), "h": text(sort), "x": text("v")} | more)
    propagated(raw)
    return table


@pytest.mark.parametrize("name", ["global", "local"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x = 'v'", []),
        ("x > 'a'", []),
        ("x BETWEEN 'a' AND 'z'", []),
        ("x IN ['v']", []),
        ("begins_with(x, 'v')", []),
        ("x IS STRING", []),
        ("attribute_exists(y)", []),
        ("NOT x = 'v'", ["1", "2"]),
        ("x IS MISSING", ["1", "2"]),
        ("attribute_exists(x) = false", ["1", "2"]),
        ("x = 'v' OR sk = '2'", ["2"]),
        ("NOT x = 'v' AND sk = '1'", ["1"]),
    ],
)
def test_an_index_read_whole_lacks_what_it_does_not_project(
    indexed: DataTable, name: str, condition: str, expected: list[str]
) -> None:
    found = items(indexed, f'SELECT * FROM {{t}}."{name}" WHERE {condition}', ConsistentRead=False)
    assert sorted(sort_keys(found)) == expected


def test_items_fetched_for_a_local_index_are_not_looked_at_by_conditions(indexed: DataTable) -> None:
    assert items(indexed, "SELECT x, sk FROM {t}.\"local\" WHERE x = 'v'") == []
    found = items(indexed, "SELECT x, sk FROM {t}.\"local\" WHERE NOT x = 'v' AND sk = '2'")
    assert found == [{"x": text("v"), "sk": text("2")}]


@pytest.mark.parametrize(
    ("name", "key"),
    [("global", "g = '1'"), ("local", "pk = 'a'"), ("local", "pk = 'a' AND h > '0'"), ("global", "g IN ['1', '2']")],
)
@pytest.mark.parametrize(
    ("condition", "names"),
    [("x = 'v'", "x"), ("NOT y = 1", "y"), ("(y = 1 OR x = 'v')", "x, y"), ("x IS MISSING", "x")],
)
def test_an_index_read_by_its_key_must_project_what_is_tested(
    indexed: DataTable, name: str, key: str, condition: str, names: str
) -> None:
    message = (
        "One or more parameter values were invalid: Secondary index {} does not project one or more filter attributes:"
        " [{}]"
    )
    for chosen in ("*", "sk"):
        found = refused(
            indexed, f'SELECT {chosen} FROM {{t}}."{name}" WHERE {key} AND {condition}', ConsistentRead=False
        )
        assert found == message.format(name, names)


def test_a_local_index_still_fetches_what_is_only_returned(indexed: DataTable) -> None:
    assert items(indexed, "SELECT x FROM {t}.\"local\" WHERE pk = 'a' AND sk = '2'") == [{"x": text("v")}]


def test_a_branch_with_a_condition_on_what_an_index_lacks_finds_nothing(indexed: DataTable) -> None:
    select = 'SELECT * FROM {t}."global" WHERE '
    found = items(indexed, select + "g = '1' AND x = 'v' OR g = '2'", ConsistentRead=False)
    assert sort_keys(found) == ["2"]
    assert items(indexed, select + "g = '1' AND x = 'v' OR g = '2' AND y = 1", ConsistentRead=False) == []
    found = items(indexed, select + "g = '1' AND NOT x = 'v' OR g = '2'", ConsistentRead=False)
    assert sort_keys(found) == ["1", "2"]


def test_what_is_computed_is_told_only_when_the_table_is_known(indexed: DataTable) -> None:
    many = (
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
    )
    for chosen in ("COUNT(*)", "*", "size(g)", "1", "g, COUNT(*)"):
        assert refused(indexed, f'SELECT {chosen} FROM {{t}}."many"') == many
    assert refused(indexed, 'SELECT COUNT(*) FROM {t}."none"') == "The table does not have the specified index"
    assert refused(indexed, 'SELECT COUNT(*) FROM {t}."global"') == "Unexpected path component at 1:8:5"
    assert refused(indexed, "SELECT COUNT(*) FROM {t} WHERE") == (
        "Statement wasn't well formed, can't be processed: Unexpected term"
    )
    assert failure(indexed, "SELECT COUNT(*) FROM nowhere")[0] == "ResourceNotFoundException"
