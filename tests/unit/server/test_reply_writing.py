"""Encoding of replies as JSON: same as from plain values, wherever rows occur; long ones give way,
and few large ones are made at a time.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hashrange.items import steps
from hashrange.items.growing_bytes import GrowingBytes
from hashrange.items.row_layout import NUMBER_SETS_VERSION, PACKED_NUMBER_SETS_VERSION, PACKED_VERSION, row_json
from hashrange.items.rows import encode_row, part_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.operations.reply import Items, Records, Reply, Rows, Structure, plain_values
from hashrange.server.protocols.dynamodb_json import writing
from hashrange.server.protocols.dynamodb_json.writing import OPENED_MAX, reply_json
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.tables.stream_records import record_encoder
from hashrange.tables.streams import ALL_IMAGES, Stream, stream_of
from tests.support.samples import table_maker
from tests.support.working import give_way_always, lines_between_looks

NAMES = ("Item", "Items", "Count", 'a "quoted" name', "arn:aws:dynamodb:us-east-1:000000000000:table/t", "é\x01")
KEYS: Item = {"pk": {"S": 'a"é'}, "sk": {"S": "b"}}


def row_of(value: Any) -> Row:
    return encode_row(*check_item(KEYS | {"v": value}))


SMALL, LONG, DENSE = row_of({"S": "x"}), row_of({"S": "é\n" * 5_000}), row_of({"L": [{"NULL": True}] * 20_000})
SETS, DENSE_SETS = row_of({"NS": ["1", "2"]}), row_of({"L": [{"NS": ["1", "2"]}, *[{"NULL": True}] * 20_000]})
ROWS = [
    SMALL,
    LONG,
    DENSE,
    SETS,
    DENSE_SETS,
    part_row({"v": {"N": "1"}, "a": {"L": []}}),
    part_row({}),
]
TABLE = OpenTable(
    replace(table_maker("t")(1), stream_view_type="NEW_AND_OLD_IMAGES", stream_label="2026-10-01T12:00:00.123", tags={})
)
STREAM: Stream = stream_of(TABLE.schema, 7, 1.0)


def record_of(old: Row | None, new: Row | None, origin: Any = "client") -> bytes:
    encode = record_encoder(ALL_IMAGES, TABLE.keys)
    return encode(Change(TABLE, TABLE.item_key(KEYS), old, new, (), origin, 0.0, 1), b"")


RECORDS = [
    record_of(None, SMALL),
    record_of(SMALL, LONG),
    record_of(DENSE, None, "ttl"),
]


def random_value(random: Random, depth: int = 0) -> Any:
    """A random reply value: nested containers of rows, some of them empty."""
    kind = random.randrange(5 if depth > 3 else 9)
    count = random.choice((0, 1, 1, 2, 3))
    match kind:
        case 0:
            return random.choice([0, -7, 10**12, 0.5, True, None, "", 'text "é\x02'])
        case 1:
            return {"pk": {"S": "a"}, "l": [{"N": "1"}, []]} if random.random() < 0.5 else [{}, [1, 2.5]]
        case 2:
            return random.choice(ROWS)
        case 3:
            return Rows([random.choice(ROWS) for _ in range(count)])
        case 4:
            return Records(STREAM, [(10**20 + number, random.choice(RECORDS)) for number in range(count)])
        case 5 | 6:
            return Items([random_value(random, depth + 1) for _ in range(count)])
        case _:
            return random_structure(random, depth + 1)


def random_structure(random: Random, depth: int) -> Structure:
    names = random.sample(NAMES, random.randrange(len(NAMES)))
    return Structure({name: random_value(random, depth) for name in names})


def plainly(reply: Reply) -> bytes:
    """The JSON of the reply by a plain encoder."""
    return msgspec.json.encode(plain_values(Structure(reply)))


def test_rows_of_all_versions_are_among_the_values() -> None:
    versions = [1, 1, PACKED_VERSION, NUMBER_SETS_VERSION, PACKED_NUMBER_SETS_VERSION]
    assert [row[0] for row in ROWS[:5]] == versions


@pytest.mark.parametrize("seed", range(12))
def test_random_replies_are_what_plain_values_give(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        reply: Reply = dict(random_structure(random, 0))
        assert reply_json(reply) == plainly(reply)


@pytest.mark.parametrize("row", ROWS)
def test_one_item_is_what_plain_values_give(row: Row) -> None:
    for reply in ({"Item": row}, {"Item": row, "Count": 1}, {"Attributes": row}):
        assert reply_json(reply) == plainly(reply)


def test_an_operation_without_output_has_an_empty_body_and_one_with_nothing_to_tell_has_none_of_its_members() -> None:
    assert (reply_json(None), reply_json({})) == (b"", b"{}")


def test_more_names_than_are_kept_are_written_all_the_same() -> None:
    reply = {f"name {number}": number for number in range(OPENED_MAX + 10)}
    assert reply_json(reply) == plainly(reply)


# --- long replies -----------------------------------------------------------------------------------

MIDDLING = row_of({"S": "x" * 1_000})
MANY = 4_000
LARGE: dict[str, Callable[[int], Any]] = {
    "rows": lambda count: Rows([MIDDLING] * count),
    "structures": lambda count: Items([Structure(Item=MIDDLING)] * count),
    "items": lambda count: Items([MIDDLING] * count),
    "records": lambda count: Records(STREAM, [(number, record_of(None, MIDDLING)) for number in range(count)]),
    "lists of tables": lambda count: Structure({str(place): Rows([MIDDLING] * (count // 20)) for place in range(20)}),
    "long rows": lambda count: Rows([LONG] * (count // 10)),
    "packed rows": lambda count: Rows([DENSE] * (count // 250)),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_long_reply_gives_way_while_it_is_written(kind: str) -> None:
    reply = {"Responses": LARGE[kind](MANY)}

    async def write() -> bytes:
        return reply_json(reply)

    ways_given, body = give_way_always(write())
    assert ways_given >= 5
    assert body == plainly(reply)
    assert lines_between_looks(lambda: reply_json(reply)) < MANY


@pytest.mark.parametrize("kind", LARGE)
def test_few_large_replies_are_made_at_a_time(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "REPLY_BYTES", 2 * 1024 * 1024)
    held: list[int] = []
    monkeypatch.setattr(steps, "_queue", held.append)
    reply_json({"Responses": LARGE[kind](MANY // 8)})
    assert steps.REPLY_ALONE_BYTES not in held
    reply_json({"Responses": LARGE[kind](MANY)})
    assert held.count(steps.REPLY_ALONE_BYTES) == 1


def test_the_texts_of_a_long_reply_are_joined_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    written = [0]
    monkeypatch.setattr(steps, "_look", lambda: written.append(0))

    class Counted(GrowingBytes):
        def write(self, piece: Any) -> int:
            written[-1] += len(piece)
            return super().write(piece)

    monkeypatch.setattr(writing, "GrowingBytes", Counted)
    reply = {"Responses": LARGE["packed rows"](MANY)}
    body = reply_json(reply)
    assert body == plainly(reply)
    assert sum(written) == len(body) > writing.JOINED_BYTES_MAX
    assert max(written) <= len(row_json(DENSE)) + len('{"Responses":[,]}')
