"""`check` recounts item collections, and finds size rows that are wrong, missing or left over."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hashrange.items.keys import encode_partition_key
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.inspect import inspect_store
from hashrange.store.statistics import Statistics
from tests.unit.store.collections_world import Collections, item

SIZES = b"\0\0\0\1\xff\xff"
P, Q, R = (encode_partition_key("S", name) for name in "pqr")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed store with the collections `p` (70 bytes) and `q` (40)."""
    world = Collections(tmp_path / "data")
    world.put(item("a", 20, l="x"))
    world.put(item("b", 30))
    world.put(item("a", 40, "q"))
    world.put(item("a", 40), world.plain)
    world.store.close_now()
    return tmp_path / "data"


def plant(folder: Path, write: Callable[[Any], None]) -> list[str]:
    """The faults that `check` finds after `write(engine)`."""
    engine = open_engine(str(folder))
    write(engine)
    engine.close()
    return check_store(str(folder)).faults


def test_a_sound_store(folder: Path) -> None:
    assert check_store(str(folder)) == (2, 5, [])
    figures = [(table.name, figures) for table, figures in inspect_store(str(folder)).tables]
    assert figures == [("orders", Statistics(3, 90)), ("plain", Statistics(1, 40))]


@pytest.mark.parametrize(
    ("write", "finding"),
    [
        (lambda engine: engine.put(SIZES + P, (71).to_bytes(8, "big")), "has 70 bytes, and its row says 71"),
        (lambda engine: engine.put(SIZES + P, (70).to_bytes(4, "big")), "its row has 4 bytes instead of 8"),
        (lambda engine: engine.put(SIZES + P, b""), "its row has 0 bytes instead of 8"),
        (lambda engine: engine.delete(SIZES + Q), "has 40 bytes, and no row says so"),
        (lambda engine: engine.put(SIZES + R, (5).to_bytes(8, "big")), "has 0 bytes, and its row says 5"),
        (lambda engine: engine.put(SIZES + R, bytes(8)), "has 0 bytes, and its row says 0"),
        (lambda engine: engine.put(SIZES + P + b"x", (70).to_bytes(8, "big")), "has 0 bytes, and its row says 70"),
    ],
)
def test_a_spoilt_row_is_found(folder: Path, write: Callable[[Any], None], finding: str) -> None:
    (fault,) = plant(folder, write)
    assert finding in fault
    assert "of table orders" in fault


def test_a_size_in_a_table_without_local_indexes(folder: Path) -> None:
    faults = plant(folder, lambda engine: engine.put(b"\0\0\0\2\xff\xff" + P, (40).to_bytes(8, "big")))
    assert any("of table plain cannot be read" in fault for fault in faults), faults


def test_an_item_that_is_missing(folder: Path) -> None:
    def lose(engine: Any) -> None:
        (key,) = [key for key in list(engine.keys()) if key[:6] == b"\0\0\0\1\0\0" and b"q" in key[16:17]]
        engine.delete(key)

    faults = plant(folder, lose)
    assert any("has 0 bytes, and its row says 40" in fault for fault in faults), faults
