"""A body decoded in pieces becomes the same struct, or is refused, as in one call,
whichever maps are wide; wide maps are not copied.
"""

import random
from typing import Annotated, Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.operations.items.batch_write_item import WriteRequest
from hashrange.operations.items.write_item import PutItemRequest
from hashrange.operations.partiql.execute_statement import ExecuteStatementRequest
from hashrange.wire import wide_maps
from hashrange.wire.body_members import decode_large
from hashrange.wire.wide_maps import WIDE, convert_in_pieces

VALUE = {"S": "x"}
MAPS: list[Any] = [
    {},
    {"pk": VALUE},
    {f"a{number}": VALUE for number in range(9)},
    {f"a{number}": "text" for number in range(9)},
    {f"a{number}": [] for number in range(9)},
    {**{f"a{number}": VALUE for number in range(9)}, "z": None},
    [VALUE] * 9,
    "text",
    None,
    5,
]
LISTS: list[Any] = [[], [VALUE], [VALUE] * 9, [*[VALUE] * 9, "text"], {}, None, "text"]


class Bounded(msgspec.Struct, frozen=True):
    """A struct with a map of at most five members."""

    values: Annotated[dict[str, dict[str, Any]], msgspec.Meta(max_length=5)]


class Texts(msgspec.Struct, frozen=True):
    """A struct with a map of texts."""

    names: dict[str, str] | None = None


def outcome(convert: Any, members: Any, kind: Any) -> Any:
    try:
        return convert(members, kind)
    except msgspec.ValidationError:
        return "refused"


CASES: list[tuple[Any, Any]] = [
    *[
        ({"TableName": "Tab", "Item": one, "ExpressionAttributeValues": two}, PutItemRequest)
        for one in MAPS
        for two in MAPS
    ],
    *[({"PutRequest": {"Item": one}, "DeleteRequest": {"Key": two}}, WriteRequest) for one in MAPS for two in MAPS],
    *[({"PutRequest": one}, WriteRequest) for one in MAPS],
    *[({"Statement": "SELECT", "Parameters": one}, ExecuteStatementRequest) for one in LISTS],
    *[({"values": one}, Bounded) for one in MAPS],
    *[({"names": one}, Texts) for one in MAPS],
    *[(one, PutItemRequest) for one in MAPS],
    ({"TableName": "Tab"}, PutItemRequest),
    ({"TableName": 5, "Item": MAPS[2]}, PutItemRequest),
]


@pytest.mark.parametrize("wide", [0, 3, WIDE])
def test_the_same_struct_comes_out_as_in_one_call(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide_maps, "WIDE", wide)
    outcomes = [outcome(msgspec.convert, members, kind) for members, kind in CASES]
    assert outcomes.count("refused") > 50
    assert [outcome(convert_in_pieces, members, kind) for members, kind in CASES] == outcomes


def test_a_wide_map_is_looked_at_in_pieces_and_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    names = [str(number) for number in range(20 * WIDE)]
    random.Random(1).shuffle(names)
    item = dict.fromkeys(names, VALUE)
    request = convert_in_pieces({"TableName": "Tab", "Item": item}, PutItemRequest)
    assert request.Item is item
    assert len(looks) > 100
    written = convert_in_pieces({"PutRequest": {"Item": item}}, WriteRequest)
    assert written.PutRequest is not None
    assert written.PutRequest.Item is item
    texts = dict.fromkeys(names, "text")
    looks.clear()
    assert convert_in_pieces({"names": texts}, Texts).names is texts
    assert len(looks) > 100


def test_so_is_a_body_that_is_decoded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[int] = []
    convert = msgspec.convert

    def counted(members: Any, kind: Any) -> Any:
        converted.append(len(members["Item"]))
        return convert(members, kind)

    monkeypatch.setattr(msgspec, "convert", counted)
    item = {f"a{number}": VALUE for number in range(20 * WIDE)}
    body = msgspec.json.encode({"TableName": "Tab", "Item": item})
    assert decode_large(body, msgspec.json.Decoder(PutItemRequest)).Item == item
    assert converted == [0]
