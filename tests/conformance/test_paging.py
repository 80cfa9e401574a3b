"""Where pages end, to the byte: 1 MB of evaluated items, before filter and projection; Limit; continue keys."""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Item, Value, fresh_key, make_table, number, text
from tests.support.raw_client import RawClient

MEGABYTE = 1_048_576
QUARTER = MEGABYTE // 4


@pytest.fixture(scope="module")
def sorted_table(raw: RawClient) -> DataTable:
    """A table that only this file uses, because whole megabytes are put into it."""
    return make_table(raw, "S", "S")


def sized(partition: Value, sort: int, size_bytes: int) -> Item:
    """An item of this many bytes, names included."""
    item = {"pk": partition, "sk": text(f"{sort:04}"), "x": text("")}
    used = sum(len(name) + len(value["S"]) for name, value in item.items())
    return item | {"x": text("x" * (size_bytes - used))}


def filled(table: DataTable, *sizes: int) -> Value:
    """A new partition key with items of these sizes."""
    partition = fresh_key()["pk"]
    for sort, size_bytes in enumerate(sizes):
        table.put(sized(partition, sort, size_bytes))
    return partition


def page(table: DataTable, partition: Value, **members: Any) -> Any:
    values = members.pop("values", {})
    return table.query(ExpressionAttributeValues={":pk": partition} | values, **members)


def counts(reply: Any) -> tuple[int, int, str | None]:
    """Count, ScannedCount and the sort key to continue from."""
    last = reply.get("LastEvaluatedKey")
    return reply["Count"], reply["ScannedCount"], None if last is None else last["sk"]["S"]


def test_a_page_below_a_megabyte_is_the_last(sorted_table: DataTable) -> None:
    partition = filled(sorted_table, QUARTER, QUARTER, QUARTER, QUARTER - 1)
    assert counts(page(sorted_table, partition)) == (4, 4, None)


def test_the_item_that_reaches_a_megabyte_is_the_last_of_its_page(sorted_table: DataTable) -> None:
    exactly = filled(sorted_table, QUARTER, QUARTER, QUARTER, QUARTER, 100)
    assert counts(page(sorted_table, exactly)) == (4, 4, "0003")
    below = filled(sorted_table, QUARTER, QUARTER, QUARTER, QUARTER - 1, 100, 100)
    assert counts(page(sorted_table, below)) == (5, 5, "0004")
    beyond = filled(sorted_table, QUARTER - 1, QUARTER, QUARTER, QUARTER, QUARTER, 100)
    assert counts(page(sorted_table, beyond)) == (5, 5, "0004")


def test_a_megabyte_at_the_very_end_leaves_a_continue_key(sorted_table: DataTable) -> None:
    partition = filled(sorted_table, QUARTER, QUARTER, QUARTER, QUARTER)
    first = page(sorted_table, partition)
    assert counts(first) == (4, 4, "0003")
    assert page(sorted_table, partition, ExclusiveStartKey=first["LastEvaluatedKey"]) == (
        {"Items": [], "Count": 0, "ScannedCount": 0}
    )


@pytest.mark.parametrize("forward", [True, False])
def test_many_small_items_end_a_page_too(raw: RawClient, forward: bool) -> None:
    """The store reads fewer items at once than a page of the reply has."""
    table = make_table(raw, "S", "S")
    partition = text("p")
    size_bytes, count = 20_000, 60
    for sort in range(count):
        table.put(sized(partition, sort, size_bytes))
    first = -(-MEGABYTE // size_bytes)
    reply = page(table, partition, ScanIndexForward=forward)
    last = first - 1 if forward else count - first
    assert counts(reply) == (first, first, f"{last:04}")
    rest = page(table, partition, ScanIndexForward=forward, ExclusiveStartKey=reply["LastEvaluatedKey"])
    assert counts(rest) == (count - first, count - first, None)
    order = [item["sk"]["S"] for item in reply["Items"] + rest["Items"]]
    assert order == [f"{sort:04}" for sort in (range(count) if forward else reversed(range(count)))]


def test_filter_projection_and_count_do_not_lengthen_a_page(sorted_table: DataTable) -> None:
    partition = filled(sorted_table, *[QUARTER] * 5)
    for members, count in (
        ({"FilterExpression": "attribute_exists(absent)"}, 0),
        ({"FilterExpression": "x > :a", "values": {":a": text("a")}}, 4),
        ({"ProjectionExpression": "sk"}, 4),
        ({"Select": "COUNT"}, 4),
        ({"Select": "COUNT", "FilterExpression": "attribute_not_exists(x)"}, 0),
    ):
        assert counts(page(sorted_table, partition, **members)) == (count, 4, "0003")


def test_a_scan_ends_pages_alike(raw: RawClient) -> None:
    table = make_table(raw, "S", "S")
    for partition in range(5):
        table.put(sized(text(f"{partition:04}"), 0, QUARTER))
    for members, count in (({}, 4), ({"Select": "COUNT"}, 4), ({"FilterExpression": "attribute_not_exists(x)"}, 0)):
        reply = table.ask("Scan", **members)
        assert (reply["Count"], reply["ScannedCount"]) == (count, 4)
        rest = table.ask("Scan", ExclusiveStartKey=reply["LastEvaluatedKey"], **members)
        assert (rest["ScannedCount"], "LastEvaluatedKey" in rest) == (1, False)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1, (1, 1, "0000")), (2, (2, 2, "0001")), (3, (3, 3, "0002")), (4, (3, 3, None)), (2**31 - 1, (3, 3, None))],
)
def test_a_limit_reached_leaves_a_continue_key_even_at_the_end(
    sorted_table: DataTable, limit: int, expected: tuple[int, int, str | None]
) -> None:
    partition = filled(sorted_table, 50, 50, 50)
    reply = page(sorted_table, partition, Limit=limit)
    assert counts(reply) == expected
    if expected[2] is not None:
        rest = page(sorted_table, partition, Limit=limit, ExclusiveStartKey=reply["LastEvaluatedKey"])
        assert rest["Count"] == min(limit, 3 - limit)
    backwards = page(sorted_table, partition, Limit=limit, ScanIndexForward=False)
    assert [item["sk"]["S"] for item in backwards["Items"]] == ["0002", "0001", "0000"][:limit]
    assert ("LastEvaluatedKey" in backwards) == (limit <= 3)


def test_the_megabyte_comes_before_the_limit(sorted_table: DataTable) -> None:
    partition = filled(sorted_table, *[QUARTER] * 5)
    assert counts(page(sorted_table, partition, Limit=5)) == (4, 4, "0003")
    assert counts(page(sorted_table, partition, Limit=4)) == (4, 4, "0003")
    assert counts(page(sorted_table, partition, Limit=3)) == (3, 3, "0002")


def test_a_page_without_matches_goes_on(sorted_table: DataTable) -> None:
    partition = filled(sorted_table, 50, 50, 50)
    start = None
    scanned = 0
    for _ in range(4):
        reply = page(
            sorted_table,
            partition,
            Limit=1,
            FilterExpression="x = :no",
            values={":no": text("no")},
            ExclusiveStartKey=start,
        )
        assert reply["Items"] == []
        scanned += reply["ScannedCount"]
        start = reply.get("LastEvaluatedKey")
    assert (scanned, start) == (3, None)


def test_continue_keys_hold_against_writes(sorted_table: DataTable) -> None:
    partition = filled(sorted_table, 50, 50, 50, 50)
    first = page(sorted_table, partition, Limit=2)
    sorted_table.ask("DeleteItem", Key=first["LastEvaluatedKey"])
    sorted_table.put({"pk": partition, "sk": text("0000a")})
    rest = page(sorted_table, partition, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert [item["sk"]["S"] for item in rest["Items"]] == ["0002", "0003"]


def test_continue_keys_of_all_types(raw: RawClient) -> None:
    values = {
        "S": [text(value) for value in ("a", "ä", "\U0001f600")],
        "N": [number(value) for value in ("-1.5", "0", "1e125")],
        "B": [{"B": value} for value in ("AA==", "AAA=", "/w==")],
    }
    for partition in "SNB":
        for sort in "SNB":
            table = make_table(raw, partition, sort)
            for value in values[partition]:
                for other in values[sort]:
                    table.put({"pk": value, "sk": other})
            whole = table.ask("Scan")["Items"]
            assert len(whole) == 9
            found: list[Item] = []
            start = None
            for _ in range(9):
                reply = table.ask("Scan", Limit=1, ExclusiveStartKey=start)
                found += reply["Items"]
                start = reply["LastEvaluatedKey"]
                assert start == reply["Items"][0]
            assert found == whole
            assert table.ask("Scan", ExclusiveStartKey=start)["Items"] == []
