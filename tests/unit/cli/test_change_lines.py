"""`change_line`: how a stream record is printed as one line for a person."""

from typing import Any

import pytest

from hashrange.cli.change_lines import change_line

KEYS = {"pk": {"S": "user-1"}}


def line(
    event: str,
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    view: str = "NEW_AND_OLD_IMAGES",
    **members: Any,
) -> str:
    """The printed line of a change, without its timestamp."""
    content: dict[str, Any] = {"ApproximateCreationDateTime": 1_800_000_000, "Keys": KEYS, "StreamViewType": view}
    content |= {name: KEYS | image for name, image in (("OldImage", old), ("NewImage", new)) if image is not None}
    told = "".join(change_line({"eventName": event, "dynamodb": content, **members})[:2])
    assert told.startswith("2027-01-15 08:00:00  ")
    return told.removeprefix("2027-01-15 08:00:00  ")


def test_events() -> None:
    old, new = {"n": {"N": "1"}, "gone": {"BOOL": True}}, {"n": {"N": "2"}, "s": {"S": "a"}}
    assert line("INSERT", None, new) == 'INSERT  pk "user-1": + n 2, + s "a"'
    assert line("MODIFY", old, new) == 'MODIFY  pk "user-1": n 1 → 2, + s "a", - gone true'
    assert line("REMOVE", old) == 'REMOVE  pk "user-1": - n 1, - gone true'
    assert line("INSERT", None, {}) == 'INSERT  pk "user-1"'


def test_deletion_by_time_to_live_is_told() -> None:
    identity = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert line("REMOVE", {}, userIdentity=identity) == 'REMOVE by time to live  pk "user-1"'


@pytest.mark.parametrize(
    ("view", "told"),
    [("KEYS_ONLY", ""), ("NEW_IMAGE", ": now n 2"), ("OLD_IMAGE", ": was n 1"), ("NEW_AND_OLD_IMAGES", ": n 1 → 2")],
)
def test_a_view_tells_what_it_knows(view: str, told: str) -> None:
    old = {"n": {"N": "1"}} if "OLD" in view else None
    new = {"n": {"N": "2"}} if "NEW" in view else None
    assert line("MODIFY", old, new, view) == f'MODIFY  pk "user-1"{told}'


def test_maps_are_compared_member_by_member() -> None:
    old = {"m": {"M": {"a": {"N": "1"}, "in": {"M": {"x y": {"S": "v"}, "same": {"NULL": True}}}}}}
    new = {"m": {"M": {"a": {"N": "2"}, "in": {"M": {"same": {"NULL": True}, "z": {"L": [{"N": "1"}]}}}}}}
    assert line("MODIFY", old, new) == 'MODIFY  pk "user-1": m.a 1 → 2, + m.in.z [1], - m.in."x y" "v"'


def test_a_map_that_becomes_something_else_is_told_as_a_whole() -> None:
    assert line("MODIFY", {"m": {"M": {"a": {"N": "1"}}}}, {"m": {"N": "1"}}) == 'MODIFY  pk "user-1": m {a: 1} → 1'


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"B": "AAE="}, 'b64 "AAE="'),
        ({"SS": ["a", "b"]}, '<<"a", "b">>'),
        ({"NS": ["1", "2"]}, "<<1, 2>>"),
        ({"BS": ["AA=="]}, '<<b64 "AA==">>'),
        ({"BOOL": False}, "false"),
        ({"NULL": True}, "null"),
        ({"L": [{"M": {}}, {"S": "é"}]}, '[{}, "é"]'),
        ({"S": "a\n\x1b[31m\x9b\u202e\U0001f600"}, r'"a\n\u001b[31m\u009b\u202e' + "\U0001f600" + '"'),
        ({"S": "x" * 80}, f'"{"x" * 80}"'),
        ({"S": '"' * 80}, '"' + r"\"" * 80 + '"'),
        ({"S": "x" * 500}, f'"{"x" * 80}"… (500 characters)'),
        ({"S": "é" * 81}, f'"{"é" * 80}"… (81 characters)'),
        ({"B": "AAAA" * 20}, f'b64 "{"AAAA" * 20}"'),
        ({"B": "AAAA" * 20 + "AA=="}, f'b64 "{"AAAA" * 20}"… (61 bytes)'),
        ({"NS": ["1" * 38] * 4}, f"<<{'1' * 38}, {'1' * 38}… (162 characters)"),
    ],
)
def test_values(value: dict[str, Any], told: str) -> None:
    assert line("INSERT", None, {"v": value}) == f'INSERT  pk "user-1": + v {told}'


def test_a_set_in_another_order_has_not_changed() -> None:
    old, new = {"s": {"SS": ["a", "b"]}, "n": {"N": "1"}}, {"s": {"SS": ["b", "a"]}, "n": {"N": "2"}}
    assert line("MODIFY", old, new) == 'MODIFY  pk "user-1": n 1 → 2'
