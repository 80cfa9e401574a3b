"""`check` compares streams, shards and records with tables, partitions and items:
missing, left over or wrong rows are found.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.errors import StorageCorruption
from hashrange.items.keys import encode_partition_key
from hashrange.operations.overlong_deadlines import shorten_overlong_deadlines
from hashrange.store.embedded import check_streams, layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.streams import Shard, Stream
from tests.support.clocks import SetClock
from tests.unit.jobs.streaming import BOTH, ROLL, change, pass_time, switch_off, switch_on
from tests.unit.jobs.world import World, drive

ITEMS = 6
Engine = Any
Keys = list[bytes]


def make(folder: Path, view_type: str = BOTH) -> World:
    """A closed store with an ended stream and an active one, which has a closed shard and its two open children; all
    have records."""
    world = World(folder, partition_size_max_bytes=2000)
    switch_on(world, "KEYS_ONLY")
    change(world, 0, 0)
    switch_off(world)
    switch_on(world, view_type)
    for number in range(ITEMS):
        change(world, number, 1, size_bytes=400)
    assert world.split() is None
    for number in range(ITEMS):
        change(world, number, 2)
    world.ask("DeleteItem", Key={"id": {"S": "o0"}})
    assert world.close() == []
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path / "data")


def plant(world: World, write: Callable[[Engine], None]) -> list[str]:
    """The faults, except those of statistics, that `check` finds after `write(engine)`."""
    assert world.data_dir is not None
    engine = open_engine(world.data_dir)
    write(engine)
    engine.close()
    faults = check_store(world.data_dir, clock=world.clock).faults
    return [fault for fault in faults if "said to hold" not in fault]


def records(engine: Engine, stream_id: int = 2, shard: int | None = None) -> list[tuple[bytes, bytes]]:
    """Record rows of a stream, or of one shard."""
    found = []
    for key, row in scan_prefix(engine, layout.SHARD_PREFIX + layout.encode_short(stream_id)):
        one = layout.decode_shard(key, row)
        if shard in (None, one.number):
            last = 10**27 if one.last is None else one.last
            found += [
                record
                for record in scan_prefix(engine, layout.log_prefix(1, one.partition))
                if one.first <= layout.record_sequence(record[0]) <= last
            ]
    return found


def partition_of(engine: Engine, shard: int) -> int:
    """The partition of a shard of the second stream."""
    key = layout.shard_key(2, shard)
    return layout.decode_shard(key, engine.get(key)).partition


def change_stream(engine: Engine, stream_id: int = 2, **members: Any) -> None:
    stream: Stream = layout.decode_stream(engine.get(layout.stream_key(stream_id)))
    engine.put(layout.stream_key(stream_id), layout.encode_stream(msgspec.structs.replace(stream, **members)))


def change_shard(engine: Engine, number: int, stream_id: int = 2, **members: Any) -> None:
    key = layout.shard_key(stream_id, number)
    shard: Shard = layout.decode_shard(key, engine.get(key))
    engine.put(key, layout.encode_shard(shard._replace(**members)))


def test_each_kind_of_row_is_there(world: World) -> None:
    def look(engine: Engine) -> None:
        assert len(list(scan_prefix(engine, layout.STREAM_PREFIX))) == 2
        assert len(list(scan_prefix(engine, layout.SHARD_PREFIX))) == 4
        assert len(records(engine, 1)) == 1
        assert len(records(engine, shard=1)) == ITEMS
        assert min(len(records(engine, shard=number)) for number in (2, 3)) > 0

    assert plant(world, look) == []


# --- streams ----------------------------------------------------------------------------------------


def test_a_stream_that_is_missing(world: World) -> None:
    found = plant(world, lambda engine: engine.delete(layout.stream_key(2)))
    assert "table orders has a stream, and 0 of its streams are on" in found
    assert sum("belongs to no stream" in one for one in found) == 3
    assert sum("belongs to no shard" in one for one in found) == 2 * ITEMS + 1


def test_two_streams_that_are_on(world: World) -> None:
    found = plant(world, lambda engine: change_stream(engine, 1, is_on=True))
    assert "table orders has a stream, and 2 of its streams are on" in found
    assert any("is not as table orders describes it" in one for one in found)


def test_a_stream_of_a_table_that_is_gone(world: World) -> None:
    found = plant(world, lambda engine: engine.delete(layout.catalog_key(1)))
    assert any("is on, and its table is gone" in one for one in found)


def test_a_stream_of_a_table_that_has_none(world: World) -> None:
    def write(engine: Engine) -> None:
        table = layout.decode_table(engine.get(layout.catalog_key(1)))
        changed = msgspec.structs.replace(table, stream_view_type=None)
        engine.put(layout.catalog_key(1), layout.encode_table(changed))

    (fault,) = plant(world, write)
    assert "is on, and its table is gone or has none" in fault


@pytest.mark.parametrize("members", [{"label": "other"}, {"view_type": "NEW_IMAGE"}, {"table_name": "other"}])
def test_a_stream_that_is_another_one(world: World, members: dict[str, Any]) -> None:
    found = plant(world, lambda engine: change_stream(engine, **members))
    assert "is not as table orders describes it" in found[0]


def test_a_stream_with_an_id_that_was_not_given_out(world: World) -> None:
    (fault,) = plant(world, lambda engine: engine.put(layout.NEXT_STREAM_ID_KEY, layout.encode_counter(2)))
    assert "the next id to be given out is 2" in fault


def test_a_stream_that_ended_before_it_began_because_the_clock_was_set_back_is_sound(tmp_path: Path) -> None:
    """After a restart of a server whose clock was moved, service time is that of the machine again."""
    world = World(tmp_path / "data", clock=SetClock())
    switch_on(world, BOTH)
    world.clock = SetClock(world.clock.wall_time() - 14_400)
    world.restart()
    tables = [table.schema for table in world.embedded.catalog.all_tables()]
    drive(shorten_overlong_deadlines(world.embedded, tables, world.clock.service_time(), 0.0))
    switch_off(world)
    assert world.close() == []


def test_a_stream_that_cannot_be_read(world: World) -> None:
    (fault,) = plant(world, lambda engine: engine.put(layout.stream_key(2), b"{"))
    assert "a stream's description cannot be read" in fault


# --- shards -----------------------------------------------------------------------------------------


def test_a_shard_that_is_missing(world: World) -> None:
    found = plant(world, lambda engine: engine.delete(layout.shard_key(2, 3)))
    assert "are not those of its table's partitions" in found[0]
    assert any("belongs to no shard" in one for one in found)


def test_a_stream_without_shards(world: World) -> None:
    def write(engine: Engine) -> None:
        for key, _ in records(engine, 1):
            engine.delete(key)
        engine.delete(layout.shard_key(1, 1))

    (fault,) = plant(world, write)
    assert "the open shards of stream" in fault


def test_an_open_shard_of_a_stream_that_is_off(world: World) -> None:
    (fault,) = plant(world, lambda engine: change_shard(engine, 1, 1, last=None))
    assert "the open shards of stream" in fault


def test_a_closed_parent_that_is_open_again(world: World) -> None:
    found = plant(world, lambda engine: change_shard(engine, 1, last=None))
    assert any("are not those of its table's partitions" in one for one in found)
    assert any("begins before its parent ends" in one for one in found)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"parent": 3}, "is said to follow shard 3"),
        ({"first": 5}, "begins before its parent ends"),
        ({"partition": 9}, "are not those of its table's partitions"),
        ({"last": 5}, "ends before it begins"),
    ],
)
def test_a_shard_that_is_wrong(world: World, members: dict[str, Any], words: str) -> None:
    assert any(words in one for one in plant(world, lambda engine: change_shard(engine, 3, **members)))


def test_a_shard_that_cannot_be_read(world: World) -> None:
    (fault,) = plant(world, lambda engine: engine.put(layout.shard_key(2, 1), b"short"))
    assert "the row of a shard" in fault


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_server_says_what_is_missing(world: World, is_stream: bool) -> None:
    """The server does not start if a shard's stream is missing, or if an active stream lacks its shards."""

    def write(engine: Engine) -> None:
        if is_stream:
            engine.delete(layout.stream_key(2))
        else:
            for number in (2, 3):
                engine.delete(layout.shard_key(2, number))

    plant(world, write)
    with pytest.raises(StorageCorruption, match="stream"):
        world.open()


# --- records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 10**27])
def test_a_record_beyond_its_shard(world: World, at: int) -> None:
    def write(engine: Engine) -> None:
        _, row = records(engine, shard=1)[0]
        engine.put(layout.log_prefix(1, 1) + layout.encode_sequence(at), row)

    found = plant(world, write)
    assert "belongs to no shard of a stream" in found[0]


def test_a_record_in_another_shard(world: World) -> None:
    def write(engine: Engine) -> None:
        key, row = records(engine, shard=2)[-1]
        engine.put(layout.log_prefix(1, partition_of(engine, 3)) + key[-12:], row)

    assert "of an item whose hash is not in its shard" in plant(world, write)[0]


def test_a_record_with_a_key_that_is_too_long(world: World) -> None:
    def write(engine: Engine) -> None:
        key, row = records(engine, shard=2)[0]
        engine.put(key + b"x", row)

    assert "belongs to no shard of a stream" in plant(world, write)[0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: b"",
        lambda row: row[:8],
        lambda row: b"\x07" + row[1:],
        lambda row: row[:1] + b"\x03" + row[2:],
        lambda row: row[:1] + b"\x00" + row[2:],
        lambda row: row[:2] + b"\x05" + row[3:],
        lambda row: row[:-5],
        lambda row: row[:-30] + b"\x00" + row[-29:],
        lambda row: row[:6] + b"\xff" * 4 + row[10:],
        lambda row: row[:4] + b"\x00\x01" + row[6:],
    ],
)
def test_a_record_that_cannot_be_read(world: World, spoil: Callable[[bytes], bytes]) -> None:
    def write(engine: Engine) -> None:
        key, row = records(engine, shard=2)[0]
        assert row[1] == 1, "a change of an item that was there"
        engine.put(key, spoil(row))

    assert "cannot be read" in plant(world, write)[0]


def test_keys_that_cannot_be_read(world: World) -> None:
    def write(engine: Engine) -> None:
        ((key, row),) = records(engine, 1)
        engine.put(key, row[:-2] + b"!!")

    (fault,) = plant(world, write)
    assert "cannot be read" in fault


# --- records compared with items --------------------------------------------------------------------


@pytest.mark.parametrize("view_type", [BOTH, "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"])
@pytest.mark.parametrize("what", ["changed", "deleted", "appeared"])
def test_an_item_that_is_not_what_its_last_record_tells(tmp_path: Path, view_type: str, what: str) -> None:
    world = make(tmp_path / "data", view_type)

    def write(engine: Engine) -> None:
        (one, row), *_ = scan_prefix(engine, b"\0\0\0\1\0\0")
        if what == "deleted":
            engine.delete(one)
        elif what == "changed":
            size = len(row) - len(b'{"N":"2"}}')
            assert row[size:] == b'{"N":"2"}}'
            engine.put(one, row[:size] + b'{"N":"3"}}')
        else:
            engine.put(b"\0\0\0\1\0\0" + encode_partition_key("S", "o0"), row)

    found = [one for one in plant(world, write) if "is the last of row" in one]
    assert len(found) == (view_type in (BOTH, "NEW_IMAGE"))


def test_a_record_that_is_missing(world: World) -> None:
    """Each item's last record is deleted, so that an earlier record is compared with the item."""

    def write(engine: Engine) -> None:
        for number in (2, 3):
            for key, _ in records(engine, shard=number):
                engine.delete(key)

    found = plant(world, write)
    assert len(found) == ITEMS
    assert all("is the last of row" in one for one in found)


def test_only_so_many_items_are_compared(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the items that changed last are compared."""
    monkeypatch.setattr(check_streams, "LAST_RECORDS_MAX", 2)
    rows: list[bytes] = []

    def write(engine: Engine) -> None:
        for key, _ in scan_prefix(engine, b"\0\0\0\1\0\0"):
            rows.append(key)
            engine.delete(key)

    found = plant(world, write)
    assert len(rows) == ITEMS - 1
    assert 1 <= len(found) <= 2


def test_a_sound_folder_after_many_shards(tmp_path: Path) -> None:
    world = World(tmp_path / "data", partition_size_max_bytes=2000)
    switch_on(world, "NEW_IMAGE")
    for value in range(12):
        for number in range(value + 1):
            change(world, number, value, size_bytes=300)
        world.ask("DeleteItem", Key={"id": {"S": f"o{value // 2}"}})
        world.split()
        pass_time(world, ROLL * 0.7)
    assert world.close() == []
