"""`check` compares items with index entries, and finds entries that are missing, left over, wrong or still pending."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded import layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.reading import scan_prefix
from tests.unit.jobs.world import World, item

INDEX = b"\0\0\0\1\0\1"
TABLE = b"\0\0\0\1\0\0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed store with three items and their index entries."""
    world = World(tmp_path / "data")
    world.create()
    world.put(3)
    assert world.close() == []
    return tmp_path / "data"


def plant(folder: Path, write: Callable[[Any, list[bytes], list[bytes]], None]) -> list[str]:
    """The faults, except those of statistics, that `check` finds after `write(engine, keys of items, keys of
    entries)`."""
    engine = open_engine(str(folder))
    keys = [key for key in list(engine.keys()) if key[:4] == TABLE[:4]]
    write(engine, [key for key in keys if key[:6] == TABLE], [key for key in keys if key[:6] == INDEX])
    engine.close()
    return [fault for fault in check_store(str(folder)).faults if "said to hold" not in fault]


def test_an_entry_that_is_missing(folder: Path) -> None:
    (fault,) = plant(folder, lambda engine, items, entries: engine.delete(entries[0]))
    assert "has no entry, or another one, in index by-status" in fault


def test_an_entry_without_item(folder: Path) -> None:
    (fault,) = plant(folder, lambda engine, items, entries: engine.delete(items[0]))
    assert "has no item" in fault


def test_an_entry_with_other_content(folder: Path) -> None:
    def swap(engine: Any, items: list[bytes], entries: list[bytes]) -> None:
        row = engine.get(entries[0])
        engine.put(entries[0], row.replace(b'"n":{"N":"', b'"m":{"N":"'))

    assert any("has no entry, or another one" in fault for fault in plant(folder, swap))


def test_an_entry_at_another_key(folder: Path) -> None:
    (fault,) = plant(folder, lambda engine, items, entries: engine.put(entries[0] + b"x", engine.get(entries[0])))
    assert "is not where its item's entry stands" in fault


def test_an_entry_of_no_index(folder: Path) -> None:
    def move(engine: Any, items: list[bytes], entries: list[bytes]) -> None:
        engine.put(INDEX[:5] + b"\x09" + entries[0][6:], engine.get(entries[0]))

    (fault,) = plant(folder, move)
    assert "belongs to no index of table orders" in fault


def test_a_position_of_no_index_that_is_built(folder: Path) -> None:
    faults = plant(folder, lambda engine, items, entries: engine.put(layout.BACKFILL_PREFIX + INDEX, b"x"))
    assert faults == [f"source {INDEX.hex()} is said to be an index that is being built"]


def test_an_index_built_halfway_is_sound_and_its_other_half_empty(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.put(600)
    world.create()
    assert world.close() == []
    engine = open_engine(str(tmp_path / "data"))
    items = [key for key in list(engine.keys()) if key[:6] == TABLE]
    entries = [key for key in list(engine.keys()) if key[:6] == INDEX]
    engine.put(layout.BACKFILL_PREFIX + INDEX, items[200][6:])
    engine.close()
    faults = check_store(str(tmp_path / "data")).faults
    assert len(entries) == 256
    assert len(faults) == 55
    assert all("lies ahead of how far the index has been built" in fault for fault in faults)


@pytest.mark.parametrize(
    ("lost", "findings"),
    [(0, ["has no entry", "is not where its item's"]), (1, ["has no entry, or another one"]), (2, ["has no item"])],
)
def test_what_waits_counts_as_written(tmp_path: Path, lost: int, findings: list[str]) -> None:
    world = World(tmp_path / "data", index_delay=lambda: 5.0)
    world.create()
    world.put(3)
    world.clock.advance(5.0)
    world.apply()
    world.ask("PutItem", Item=item(0) | {"status": {"S": "moved"}})
    world.ask("PutItem", Item=item(1) | {"n": {"N": "100"}})
    world.ask("DeleteItem", Key={"id": {"S": "o2"}})
    waiting = [engine_key for engine_key, _ in scan_prefix(world.embedded.engine, layout.LOG_PREFIX)]
    assert world.close() == []
    row_key = waiting[lost]
    faults = plant(tmp_path / "data", lambda engine, items, entries: engine.delete(row_key))
    assert len(faults) == len(findings)
    assert all(finding in fault for finding, fault in zip(findings, faults, strict=True)), faults
