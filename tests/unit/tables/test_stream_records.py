"""Stream records: encoded from a change, shown as a view has them, and reported in replies."""

from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from hashrange.errors import StorageCorruption, StorageFormatUnknown
from hashrange.items.row_layout import PACKED_VERSION
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import KeySchema, StreamViewType
from hashrange.tables.stream_records import (
    EVENT_USER_IDENTITY,
    USER_IDENTITY,
    decode_record,
    event_forms_of,
    forms_of,
    keys_of,
    record_encoder,
    record_json,
    record_values,
    shown_record,
)
from hashrange.tables.streams import ALL_IMAGES, IMAGES, NO_IMAGES, stream_of
from hashrange.triggers.events import RECORD_MEMBERS
from tests.support.samples import table_maker

SCHEMA = KeySchema(("pk",), ("S",), ("sk",), ("S",))
NAMES = SCHEMA.names
KEYS: Item = {"pk": {"S": 'a"é'}, "sk": {"S": "b"}}
OLD: Item = KEYS | {"n": {"N": "1"}}
NEW: Item = KEYS | {"n": {"N": "22"}, "l": {"L": [{"S": ""}] * 20_000}}
"""An item whose row is packed."""
VIEW_TYPES: tuple[StreamViewType, ...] = get_args(StreamViewType)
EVENTS = {"INSERT": (None, NEW), "MODIFY": (OLD, NEW), "REMOVE": (OLD, None)}


def row_of(item: Item | None) -> Row | None:
    return None if item is None else encode_row(*check_item(item))


def change_of(old: Item | None, new: Item | None, *, has_items: bool) -> Change:
    table = OpenTable(table_maker("t")(1))
    items = (old, new) if has_items else (None, None)
    return Change(table, table.item_key(KEYS), row_of(old), row_of(new), (), "client", 0.0, 1, *items)


@pytest.mark.parametrize("view_type", VIEW_TYPES)
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("has_items", [True, False])
def test_a_record_tells_its_change(view_type: StreamViewType, event: str, has_items: bool) -> None:
    old, new = EVENTS[event]
    told_old = old if view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") else None
    told_new = new if view_type in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") else None
    record = record_encoder(IMAGES[view_type], SCHEMA)(change_of(old, new, has_items=has_items), b"")
    found = decode_record(record, IMAGES[view_type], NAMES)
    assert (keys_of(found, NAMES), found.old, found.new) == (KEYS, row_of(told_old), row_of(told_new))
    assert found.new is None or found.new[0] == PACKED_VERSION

    stream = stream_of(
        replace(table_maker("t")(1), stream_view_type=view_type, stream_label="2026-10-01T12:00:00.123"), 7, 1.0
    )
    told = record_json(forms_of(stream), 5, record)
    content: dict[str, Any] = msgspec.json.decode(told)
    sizes = [check_item(item)[1] for item in (KEYS, told_old, told_new) if item is not None]
    assert (content["eventName"], content["dynamodb"]["SizeBytes"]) == (event, sum(sizes))
    assert record_values(forms_of(stream), 5, record) == content
    images = {"Keys": KEYS, "OldImage": told_old, "NewImage": told_new}
    assert {name: content["dynamodb"].get(name) for name in images} == images

    whole = record_encoder(ALL_IMAGES, SCHEMA)(change_of(old, new, has_items=has_items), b"")
    assert shown_record(whole, IMAGES[view_type]) == record


KEYS_OF_TYPES: list[tuple[KeySchema, Item]] = [
    (KeySchema(("p",), ("S",)), {"p": {"S": "é" * 30}}),
    (KeySchema(("p",), ("S",)), {"p": {"S": "a\\n"}}),
    (KeySchema(('%d"é',), ("S",)), {'%d"é': {"S": "%b"}}),
    (KeySchema(("%d",), ("S",), ("é",), ("S",)), {"%d": {"S": "%b"}, "é": {"S": "b"}}),
    (KeySchema(("p",), ("N",)), {"p": {"N": "-12.5"}}),
    (KeySchema(("p",), ("S",), ("s",), ("B",)), {"p": {"S": "a"}, "s": {"B": "AAAA"}}),
    (KeySchema(("p",), ("B",), ("s",), ("N",)), {"p": {"B": "AA=="}, "s": {"N": "100"}}),
]


@pytest.mark.parametrize(("schema", "keys"), KEYS_OF_TYPES)
@pytest.mark.parametrize("has_items", [True, False])
def test_a_record_tells_keys_of_any_type_and_their_size(schema: KeySchema, keys: Item, has_items: bool) -> None:
    table = OpenTable(replace(table_maker("t", region="a%b")(1), keys=schema, stream_view_type="KEYS_ONLY"))
    item = keys | {"n": {"N": "1"}}
    change = Change(table, table.item_key(keys), None, row_of(item), (), "client", 0.0, 1, None, item)
    record = record_encoder(NO_IMAGES, schema)(change if has_items else replace(change, new_item=None), b"")
    assert keys_of(decode_record(record, NO_IMAGES, schema.names), schema.names) == keys

    stream = stream_of(replace(table.schema, stream_label="label"), 7, 1.0)
    told: dict[str, Any] = msgspec.json.decode(record_json(forms_of(stream), 5, record))
    assert told == record_values(forms_of(stream), 5, record)
    assert (told["awsRegion"], told["dynamodb"]["SizeBytes"]) == ("a%b", check_item(keys)[1])


def test_a_function_gets_the_same_record_with_the_arn_of_the_stream() -> None:
    stream = stream_of(replace(table_maker("t")(1), stream_view_type="NEW_IMAGE", stream_label="label"), 7, 1.0)
    encode = record_encoder(IMAGES["NEW_IMAGE"], SCHEMA)
    for origin in ("client", "ttl"):
        record = encode(replace(change_of(OLD, None, has_items=True), origin=origin), b"")
        told: dict[str, Any] = msgspec.json.decode(record_json(forms_of(stream), 5, record))
        event: dict[str, Any] = msgspec.json.decode(record_json(event_forms_of(stream), 5, record))
        assert event.keys() | {"userIdentity"} == RECORD_MEMBERS
        assert event.pop("eventSourceARN") == stream.arn
        identities = told.pop("userIdentity", None), event.pop("userIdentity", None)
        assert identities == ((None, None) if origin == "client" else (USER_IDENTITY, EVENT_USER_IDENTITY))
        assert event == told


@pytest.mark.parametrize("view_type", VIEW_TYPES)
def test_damage_is_told(view_type: StreamViewType) -> None:
    images = IMAGES[view_type]
    record = record_encoder(images, SCHEMA)(change_of(OLD, NEW, has_items=True), b"")
    for place in (3, 5, 9, 14) if images == NO_IMAGES else (3, 5, 9, 14, 22):
        spoilt = record[:place] + bytes((record[place] ^ 1,)) + record[place + 1 :]
        with pytest.raises(StorageCorruption):
            decode_record(spoilt, images, NAMES)
    for other in (b"\x02" + record[1:], record[:1] + b"\x03" + record[2:]):
        with pytest.raises(StorageFormatUnknown):
            decode_record(other, images, NAMES)
