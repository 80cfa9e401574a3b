"""Scan: every item once, segments, filters, start keys."""

from typing import Any

import pytest

from tests.conformance.item_tables import INVALID, DataTable, Item, make_table, number, text
from tests.support.raw_client import RawClient

COUNT = 60
INVALID_START = "The provided starting key is invalid"


def item_of(place: int) -> Item:
    return {
        "pk": text(f"p{place % 20}"),
        "sk": text(f"s{place // 20}"),
        "n": number(place),
        "m": {"M": {"x": text("x")}},
    }


@pytest.fixture(scope="module")
def filled(raw: RawClient) -> DataTable:
    """60 items under 20 partition keys."""
    table = make_table(raw, "S", "S")
    for place in range(COUNT):
        table.put(item_of(place))
    return table


def places(reply: Any) -> list[int]:
    return [int(item["n"]["N"]) for item in reply["Items"]]


def pages(table: DataTable, **members: Any) -> list[Any]:
    """All pages of a Scan."""
    replies = [table.ask("Scan", **members)]
    while "LastEvaluatedKey" in replies[-1]:
        replies.append(table.ask("Scan", ExclusiveStartKey=replies[-1]["LastEvaluatedKey"], **members))
    return replies


def test_everything_is_there_once(filled: DataTable) -> None:
    reply = filled.ask("Scan")
    assert sorted(places(reply)) == list(range(COUNT))
    assert (reply["Count"], reply["ScannedCount"]) == (COUNT, COUNT)
    assert sorted(reply["Items"], key=lambda item: int(item["n"]["N"])) == [item_of(place) for place in range(COUNT)]
    assert "LastEvaluatedKey" not in reply
    assert filled.ask("Scan", ConsistentRead=True) == reply


def test_a_partition_stays_together_in_order(filled: DataTable) -> None:
    found = [(item["pk"]["S"], item["sk"]["S"]) for item in filled.ask("Scan")["Items"]]
    partitions = [partition for partition, _ in found]
    for partition in set(partitions):
        first = partitions.index(partition)
        assert [sort for name, sort in found if name == partition] == ["s0", "s1", "s2"]
        assert set(partitions[first : first + 3]) == {partition}
    assert partitions != sorted(partitions)


@pytest.mark.parametrize("limit", [1, 7, 59, 60, 61])
def test_pages_put_together_are_the_whole(filled: DataTable, limit: int) -> None:
    replies = pages(filled, Limit=limit)
    assert [place for reply in replies for place in places(reply)] == places(filled.ask("Scan"))
    assert [reply["ScannedCount"] for reply in replies[:-1]] == [limit] * (COUNT // limit)
    assert replies[-1]["ScannedCount"] == COUNT % limit
    for reply in replies[:-1]:
        assert reply["LastEvaluatedKey"] == {name: reply["Items"][-1][name] for name in ("pk", "sk")}


# --- segments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [1, 2, 3, 7, 64, 1_000_000])
def test_segments_share_everything(filled: DataTable, total: int) -> None:
    asked = range(total) if total < 1000 else [0, 1, 999_999]
    found = [place for segment in asked for place in places(filled.ask("Scan", Segment=segment, TotalSegments=total))]
    assert len(found) == len(set(found))
    if total < 1000:
        assert found == places(filled.ask("Scan"))


def test_segments_have_pages(filled: DataTable) -> None:
    found: list[int] = []
    for segment in range(3):
        replies = pages(filled, Limit=4, Segment=segment, TotalSegments=3)
        found += [place for reply in replies for place in places(reply)]
        assert replies[0]["LastEvaluatedKey"].keys() == {"pk", "sk"}
    assert sorted(found) == list(range(COUNT))


def test_segments_are_stable_under_writes(raw: RawClient) -> None:
    """Items that exist throughout are seen exactly once by Scans that run during writes."""
    table = make_table(raw)
    for place in range(40):
        table.put({"pk": text(f"old{place}"), "n": number(place)})
    owner = {
        place: segment for segment in range(4) for place in places(table.ask("Scan", Segment=segment, TotalSegments=4))
    }
    starts: dict[int, Any] = dict.fromkeys(range(4))
    found: list[tuple[int, int]] = []
    fresh = 0
    while starts:
        for segment, start in list(starts.items()):
            reply = table.ask("Scan", Segment=segment, TotalSegments=4, Limit=3, ExclusiveStartKey=start)
            found += [(place, segment) for place in places(reply) if place < 1000]
            if "LastEvaluatedKey" in reply:
                starts[segment] = reply["LastEvaluatedKey"]
            else:
                del starts[segment]
            if fresh < 90:
                for place in range(fresh, fresh + 3):
                    table.put({"pk": text(f"new{place}"), "n": number(1000 + place)})
                table.ask("DeleteItem", Key={"pk": text(f"new{fresh}")})
                fresh += 3
    assert sorted(found) == sorted(owner.items())


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"Segment": 0},
            (
                "The TotalSegments parameter is required but was not present in the request when Segment parameter is"
                " present"
            ),
        ),
        (
            {"TotalSegments": 1},
            (
                "The Segment parameter is required but was not present in the request when parameter TotalSegments"
                " is present"
            ),
        ),
        (
            {"Segment": 999_999, "TotalSegments": 1},
            ("The Segment parameter is zero-based and must be less than parameter TotalSegments"),
        ),
    ],
)
def test_segments_are_refused_alone_and_beyond_their_total(
    filled: DataTable, members: dict[str, Any], message: str
) -> None:
    assert filled.refusal("Scan", **members) == message


def test_a_start_key_belongs_to_its_segment(filled: DataTable) -> None:
    for segment in (0, 1):
        last = filled.ask("Scan", Segment=segment, TotalSegments=2, Limit=1)["LastEvaluatedKey"]
        other = 1 - segment
        assert filled.refusal("Scan", Segment=other, TotalSegments=2, ExclusiveStartKey=last) == (
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with"
            f" correct Segment. TotalSegments: 2 Segment: {other}"
        )


# --- start keys, filters, projections -----------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({}, INVALID_START), ({"pk": text("p")}, INVALID_START), ({"pk": text("p"), "x": text("b")}, INVALID_START),
        ({"pk": number(1), "sk": text("b")}, INVALID_START),
        ({"pk": text("p"), "sk": text("b"), "x": text("b")}, INVALID_START),
        ({"pk": {"NULL": False}, "sk": text("b")},
         "The provided starting key is invalid: " + INVALID + "Null attribute value types must have the value of true"),
        ({"pk": {"SS": ["a", "a"]}, "sk": text("b")},
         INVALID + 'Input collection ["a", "a"] contains duplicates.'),
        ({"pk": {"BS": ["AA==", "AA=="]}, "sk": text("b")},
         INVALID + 'Input collection ["AA==","AA=="]of type BS contains duplicates.'),
        ({"pk": {"SS": []}, "sk": text("b")},
         "The provided starting key is invalid: " + INVALID + "An string set  may not be empty"),
        ({"pk": {"NS": []}, "sk": text("b")},
         "The provided starting key is invalid: " + INVALID + "An number set  may not be empty"),
        ({"pk": {"NS": ["1", "1.0"]}, "sk": text("b")}, INVALID + "Input collection contains duplicates."),
        ({"pk": {"N": ""}, "sk": text("b")}, "The parameter cannot be converted to a numeric value: "),
    ],
)  # fmt: skip
def test_a_bad_start_key_is_refused(filled: DataTable, start: Item, message: str) -> None:
    assert filled.refusal("Scan", ExclusiveStartKey=start) == message


def test_a_start_key_need_not_exist(filled: DataTable) -> None:
    whole = filled.ask("Scan")["Items"]
    start = {"pk": whole[9]["pk"], "sk": text(whole[9]["sk"]["S"] + "!")}
    assert filled.ask("Scan", ExclusiveStartKey=start)["Items"] == whole[10:]


def test_a_filter_comes_after_the_read(filled: DataTable) -> None:
    values = {":n": number(54)}
    reply = filled.ask("Scan", FilterExpression="n > :n", ExpressionAttributeValues=values)
    assert sorted(places(reply)) == [55, 56, 57, 58, 59]
    assert (reply["Count"], reply["ScannedCount"]) == (5, COUNT)
    replies = pages(filled, FilterExpression="n > :n", ExpressionAttributeValues=values, Limit=7)
    assert sum(reply["Count"] for reply in replies) == 5
    assert [reply["ScannedCount"] for reply in replies] == [7] * 8 + [4]
    keys = filled.ask(
        "Scan", FilterExpression="pk = :p AND sk > :s", ExpressionAttributeValues={":p": text("p3"), ":s": text("s0")}
    )
    assert sorted(places(keys)) == [23, 43]


def test_a_projection(filled: DataTable) -> None:
    reply = filled.ask("Scan", ProjectionExpression="m.x", Limit=2)
    assert reply["Items"] == [{"m": {"M": {"x": text("x")}}}] * 2
    assert filled.ask("Scan", AttributesToGet=["absent"], Limit=2)["Items"] == [{}, {}]
    assert filled.ask("Scan", AttributesToGet=["m"], Select="SPECIFIC_ATTRIBUTES", Limit=1)["Items"] == (
        [{"m": {"M": {"x": text("x")}}}]
    )


def test_counts(filled: DataTable) -> None:
    assert filled.ask("Scan", Select="COUNT") == {"Count": COUNT, "ScannedCount": COUNT}
    values = {":n": number(9)}
    reply = filled.ask("Scan", Select="COUNT", FilterExpression="n <= :n", ExpressionAttributeValues=values)
    assert reply == {"Count": 10, "ScannedCount": COUNT}


def test_an_empty_table(raw: RawClient) -> None:
    table = make_table(raw, "N")
    assert table.ask("Scan") == {"Items": [], "Count": 0, "ScannedCount": 0}
    assert table.ask("Scan", Limit=1, Segment=0, TotalSegments=2) == {"Items": [], "Count": 0, "ScannedCount": 0}
    assert table.ask("Scan", ExclusiveStartKey={"pk": number(1)}) == {"Items": [], "Count": 0, "ScannedCount": 0}
