"""SELECT in pages: Limit, LastEvaluatedKey, NextToken and the requests for which a token is valid."""

import base64
from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Value, fresh_key, make_table, number, text
from tests.conformance.partiql import execute, failure, items, refused
from tests.conformance.propagation import propagated
from tests.support.raw_client import RawClient

MISMATCH = "NextToken does not match request"
INDEXES: dict[str, Any] = {
    "definitions": {"g": "S", "l": "N"},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


@pytest.fixture(scope="module")
def pages(raw: RawClient) -> DataTable:
    """Three partitions of seven items; `l` descends as `sk` ascends, `big` makes an item 2 KB."""
    made = make_table(raw, "S", "N", **INDEXES)
    for partition in "abc":
        for place in range(7):
            made.put(
                {
                    "pk": text(partition),
                    "sk": number(place),
                    "g": text("x"),
                    "l": number(-place),
                    "big": text("x" * 2000),
                    "n": number(place),
                }
            )
    propagated(raw)
    return made


def all_pages(table: DataTable, statement: str, *parameters: Value, **members: Any) -> list[list[tuple[str, int]]]:
    """(pk, sk) of the items of each page."""
    found = []
    token: dict[str, str] = {}
    while True:
        page = execute(table, statement, *parameters, **members, **token)
        found.append([(item["pk"]["S"], int(item["sk"]["N"])) for item in page["Items"]])
        assert ("NextToken" in page) or "LastEvaluatedKey" not in page
        if "NextToken" not in page:
            return found
        token = {"NextToken": page["NextToken"]}


def whole(partitions: str, places: Any = range(7)) -> list[tuple[str, int]]:
    return [(partition, place) for partition in partitions for place in places]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM {t} WHERE pk = 'b'", whole("b")),
        ("SELECT * FROM {t} WHERE pk = 'b' AND sk > 2", whole("b", range(3, 7))),
        ("SELECT * FROM {t} WHERE pk = 'b' ORDER BY sk DESC", whole("b", range(6, -1, -1))),
        ("SELECT * FROM {t} WHERE pk IN ['c', 'a', 'c']", whole("ca")),
        ("SELECT * FROM {t} WHERE pk = 'c' OR pk = 'a'", whole("ca")),
        ("SELECT * FROM {t} WHERE pk IN ['c', 'a'] ORDER BY pk", whole("ac")),
        ("SELECT * FROM {t} WHERE pk IN ['c', 'a'] ORDER BY pk DESC, sk DESC", whole("ca", range(6, -1, -1))),
        ("SELECT * FROM {t} WHERE pk IN ['c', 'a'] AND sk >= 5", whole("ca", (5, 6))),
        ("SELECT * FROM {t} WHERE pk IN ['c', 'q', 'a'] AND sk IN [6, 1]", whole("ca", (1, 6))),
        (
            "SELECT * FROM {t} WHERE (pk = 'c' AND n > 4) OR (pk = 'a' AND n < 2)",
            [("c", 5), ("c", 6), ("a", 0), ("a", 1)],
        ),
        ("SELECT * FROM {t}.\"local\" WHERE pk = 'b'", whole("b", range(6, -1, -1))),
        ("SELECT * FROM {t}.\"local\" WHERE pk = 'b' AND l > -3 ORDER BY l DESC", whole("b", range(3))),
        ("SELECT pk, sk, n FROM {t}.\"local\" WHERE pk = 'b' AND sk < 2", whole("b", (1, 0))),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 5, 7, 100])
def test_pages_come_to_the_whole(pages: DataTable, statement: str, expected: list[tuple[str, int]], limit: int) -> None:
    found = all_pages(pages, statement, Limit=limit, ConsistentRead=True)
    assert [key for page in found for key in page] == expected
    assert all(len(page) <= limit for page in found)


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_a_global_index_in_pages(pages: DataTable, limit: int) -> None:
    found = all_pages(pages, "SELECT * FROM {t}.\"global\" WHERE g = 'x' AND l <= -5", Limit=limit)
    assert sorted(key for page in found for key in page) == whole("abc", (5, 6))


@pytest.mark.parametrize("limit", [1, 4, 21, 100])
def test_a_scan_in_pages(pages: DataTable, limit: int) -> None:
    for statement in ("SELECT * FROM {t}", 'SELECT * FROM {t}."global"', 'SELECT * FROM {t}."local"'):
        found = all_pages(pages, statement, Limit=limit)
        assert sorted(key for page in found for key in page) == whole("abc"), statement
    found = all_pages(pages, "SELECT * FROM {t} WHERE n = 3", Limit=limit)
    assert sorted(key for page in found for key in page) == whole("abc", (3,))


def test_the_limit_counts_what_was_evaluated(pages: DataTable) -> None:
    page = execute(pages, "SELECT * FROM {t} WHERE pk = 'b' AND n = 6", Limit=2)
    assert page["Items"] == []
    assert page["LastEvaluatedKey"] == {"pk": text("b"), "sk": number(1)}


def test_a_page_ends_at_a_megabyte(raw: RawClient) -> None:
    table = make_table(raw, "S", "N")
    for partition in "ab":
        for place in range(4):
            table.put({"pk": text(partition), "sk": number(place), "x": text("x" * 200_000)})
    statement = "SELECT pk, sk FROM {t} WHERE pk IN ['a', 'b']"
    found = all_pages(table, statement, ConsistentRead=True)
    assert [len(page) for page in found] == [6, 2]


# --- tokens -------------------------------------------------------------------------------------

STATEMENT = "SELECT * FROM {t} WHERE pk = ?"


@pytest.fixture(scope="module")
def token(pages: DataTable) -> str:
    return str(execute(pages, STATEMENT, text("a"), Limit=2)["NextToken"])


def test_a_token_may_be_used_again_with_another_limit(pages: DataTable, token: str) -> None:
    for limit in (1, 3):
        found = items(pages, STATEMENT, text("a"), Limit=limit, NextToken=token)
        assert [int(item["sk"]["N"]) for item in found] == list(range(2, 2 + limit))


def test_a_token_belongs_to_statement_and_parameters(pages: DataTable, token: str) -> None:
    for statement, parameters in [
        (STATEMENT, [text("b")]),
        (STATEMENT + " ", [text("a")]),
        ("SELECT * FROM {t} WHERE pk = 'a'", []),
        ("SELECT * FROM {t}", []),
        ("SELECT * FROM {t} WHERE pk = ? AND sk = 1", [text("a")]),
    ]:
        assert refused(pages, statement, *parameters, NextToken=token) == MISMATCH, statement


@pytest.mark.parametrize(
    ("first", "then", "fits"),
    [
        (number("1e2"), number("1E2"), True),
        (number("-0"), number("0"), True),
        (number("1.5E1"), number("15"), True),
        (number("007"), number("+7"), True),
        (number("1.0"), number("1"), False),
        (number("1"), number("1.00"), False),
        (number("100"), number("1E2"), False),
        (number("1"), number("-1"), False),
        (number("0"), number("0.0"), False),
        ({"NS": ["1", "2"]}, {"NS": ["2", "1.0"]}, True),
        ({"NS": ["100"]}, {"NS": ["1E2"]}, True),
        ({"NS": ["1", "2"]}, {"NS": ["1", "3"]}, False),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}, True),
        ({"BS": ["YQ==", "Yg=="]}, {"BS": ["Yg==", "YQ=="]}, True),
        ({"L": [text("a")]}, {"L": [text("a")]}, False),
        ({"L": []}, {"L": []}, False),
        ({"M": {"a": text("a")}}, {"M": {"a": text("a")}}, False),
        (text("x"), text("x"), True),
        (text("1"), number("1"), False),
        ({"BOOL": True}, {"BOOL": True}, True),
        ({"NULL": True}, {"NULL": True}, True),
        ({"B": "YQ=="}, {"B": "YQ=="}, True),
    ],
)
def test_a_token_fits_parameters_of_equal_value_and_scale(
    pages: DataTable, first: Value, then: Value, fits: bool
) -> None:
    select = "SELECT * FROM {t} WHERE pk = ? AND n <> ?"
    page = execute(pages, select, text("a"), first, Limit=1)
    if not fits:
        assert refused(pages, select, text("a"), then, NextToken=page["NextToken"]) == MISMATCH
        return
    (found,) = items(pages, select, text("a"), then, Limit=1, NextToken=page["NextToken"])
    assert found["sk"] == number(1)


@pytest.mark.parametrize("odd", [5, True, {}, [1], [0, [1], 0]])
def test_a_parameter_that_nothing_uses_may_be_anything(pages: DataTable, token: str, odd: Any) -> None:
    parameters: list[Any] = [text("a"), {"N": odd}]
    page = execute(pages, STATEMENT, *parameters, Limit=2)
    found = items(pages, STATEMENT, *parameters, NextToken=page["NextToken"])
    assert [int(item["sk"]["N"]) for item in found] == [2, 3, 4, 5, 6]
    code, message = failure(pages, STATEMENT, *parameters, NextToken=token)
    assert (code, message) == failure(pages, STATEMENT + " AND n = ?", *parameters), "a faulty one that is used"


def test_a_token_belongs_to_its_table(pages: DataTable, raw: RawClient) -> None:
    other = make_table(raw, "S", "N")
    other.put({"pk": text("a"), "sk": number(0)})
    page = execute(other, "SELECT * FROM {t} WHERE pk = ?", text("a"), Limit=1)
    assert refused(pages, STATEMENT, text("a"), NextToken=page["NextToken"]) == MISMATCH


def test_a_token_is_not_to_be_touched(pages: DataTable, token: str) -> None:
    signed = bytearray(base64.b64decode(token))
    for place in (0, 15, 16, len(signed) - 1):
        changed = bytearray(signed)
        changed[place] ^= 1
        bad = base64.b64encode(changed).decode()
        assert refused(pages, STATEMENT, text("a"), NextToken=bad) == MISMATCH
    for bad in ("x", "AAAA", "ä", token[:-4], token + "AAAA", "%%%%"):
        assert refused(pages, STATEMENT, text("a"), NextToken=bad) == MISMATCH


def test_a_token_is_for_reads(table: DataTable, token: str) -> None:
    message = "NextToken is only valid on a SELECT statement"
    assert refused(table, "DELETE FROM {t} WHERE pk = ?", fresh_key()["pk"], NextToken=token) == message


@pytest.mark.parametrize(("projected", "condition"), [("n", ""), ("n, big", ""), ("n", " AND sk = 9")])
def test_items_fetched_for_a_local_index_fill_one_page_over_all_partitions(
    raw: RawClient, projected: str, condition: str
) -> None:
    table = make_table(raw, "S", "N", **INDEXES)
    for partition in "abcdef":
        table.put({"pk": text(partition), "sk": number(1), "l": number(1), "n": number(1), "big": text("x" * 390_000)})
    select = (
        f'SELECT {projected} FROM {{t}}."local" WHERE pk IN [{", ".join(repr(one) for one in "abcdef")}]{condition}'
    )
    token: dict[str, str] = {}
    units = []
    while True:
        page = execute(table, select, ReturnConsumedCapacity="INDEXES", ConsistentRead=True, **token)
        units.append(page["ConsumedCapacity"]["Table"]["CapacityUnits"])
        assert len(page["Items"]) == (0 if condition else 3)
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert units == [288.0, 288.0]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("big = 'y'", 0), ("big > 'a'", 0), ("big <> 'y'", 21), ("NOT big = 'y'", 21), ("big IS MISSING", 21),
        ("attribute_not_exists(big)", 21), ("big = 'y' OR pk = 'a'", 7),
    ],
)  # fmt: skip
def test_a_global_index_read_whole_knows_nothing_of_what_it_does_not_project(
    pages: DataTable, condition: str, count: int
) -> None:
    page = execute(pages, f'SELECT pk FROM {{t}}."global" WHERE {condition}', ReturnConsumedCapacity="INDEXES")
    assert len(page["Items"]) == count
    assert page["ConsumedCapacity"]["GlobalSecondaryIndexes"]["global"]["CapacityUnits"] > 0
