"""`check` finds every kind of damage that can be planted; `inspect` tells what is there. Neither changes anything."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import StorageError, StorageLocked
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.store.embedded import layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.inspect import inspect_row, inspect_store
from hashrange.store.interface import Statistics
from hashrange.tables.keys import item_key
from hashrange.tables.schema import Table
from tests.support.samples import finish, table_maker

ITEM: Item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "1"}, "s": {"SS": ["x", "y"]}}


def put(row: Row, _old: Row | None) -> Row:
    """A plan."""
    return row


SIZE = check_item(ITEM)[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed store with two tables and three items."""
    folder = tmp_path / "data"
    store = open_store(str(folder), SystemClock(), None)
    for name in ("orders", "users"):
        table = finish(store.catalog.create(table_maker(name)))
        assert table is not None
        for sort in ("b", "c")[: 2 if name == "orders" else 1]:
            item = ITEM | {"sk": {"S": sort}}
            row = encode_row(*check_item(item))
            finish(store.mutate(table, item_key(table, item), partial(put, row)))
    store.close_now()
    return folder


def plant(folder: Path, write: Callable[[Any], None]) -> list[str]:
    """The faults that a check finds after `write` has changed the engine."""
    engine = open_engine(str(folder))
    write(engine)
    engine.close()
    before = sorted(path.name for path in (folder / "engine").glob("*.sst"))
    faults = check_store(str(folder)).faults
    assert sorted(path.name for path in (folder / "engine").glob("*.sst")) == before
    return faults


def table_of(folder: Path, name: str) -> Table:
    return next(table for table, _ in inspect_store(str(folder)).tables if table.name == name)


def stored(folder: Path, sort: str = "b") -> tuple[bytes, bytes]:
    """Engine key and row of an item of `orders`."""
    table = table_of(folder, "orders")
    item = ITEM | {"sk": {"S": sort}}
    return table.source + item_key(table, item), encode_row(*check_item(item))


def test_a_sound_store(folder: Path) -> None:
    heard: list[int] = []
    assert check_store(str(folder), heard.append) == (2, 3, [])


def test_an_overview(folder: Path) -> None:
    overview = inspect_store(str(folder))
    assert [(table.name, figures) for table, figures in overview.tables] == [
        ("orders", Statistics(2, 2 * SIZE)),
        ("users", Statistics(1, SIZE)),
    ]
    assert (overview.format_version, overview.next_table_id) == (3, 3)
    assert overview.disk_size_bytes > 0


def test_a_row_by_its_key(folder: Path) -> None:
    ((table, item),) = inspect_row(str(folder), "orders", {"pk": {"S": "a"}, "sk": {"S": "b"}})
    assert (table.name, item) == ("orders", ITEM)
    ((_, nothing),) = inspect_row(str(folder), "orders", {"pk": {"S": "a"}, "sk": {"S": "z"}})
    assert nothing is None
    with pytest.raises(StorageError, match="no table"):
        inspect_row(str(folder), "missing", {"pk": {"S": "a"}})


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        (lambda key, row: (key, b"\x01"), "cannot be read"),
        (lambda key, row: (key, b"\x09" + row[1:]), "cannot be read"),
        (lambda key, row: (key, row[:-2]), "cannot be read"),
        (lambda key, row: (key, row[:5] + b" " + row[5:]), "not in canonical form"),
        (lambda key, row: (key, row[:5] + row[5:].replace(b'"1"', b'"1.0"')), "not in canonical form"),
        (lambda key, row: (key, row[:1] + (SIZE + 1).to_bytes(4, "big") + row[5:]), "not in canonical form"),
        (lambda key, row: (key + b"x", row), "does not stand at its item's key"),
        (lambda key, row: (b"\0\0\0\x09\0\0" + key[6:], row), "belongs to no table"),
    ],
)
def test_a_spoilt_row_is_found(folder: Path, spoil: Callable[[bytes, bytes], tuple[bytes, Row]], finding: str) -> None:
    spoilt = spoil(*stored(folder))
    faults = plant(folder, lambda engine: engine.put(*spoilt))
    assert any(finding in fault for fault in faults), faults


def test_wrong_figures_are_found(folder: Path) -> None:
    key, _ = stored(folder)
    faults = plant(folder, lambda engine: engine.delete(key))
    assert faults == [f"source {key[:6].hex()} is said to hold 2 rows of {2 * SIZE} bytes, and holds 1 of {SIZE}"]


@pytest.mark.parametrize("prefix", [layout.TOKEN_PREFIX, layout.EXPIRY_PREFIX])
def test_half_a_token_is_found(folder: Path, prefix: bytes) -> None:
    expiry = (5).to_bytes(8, "big")
    rows = {layout.TOKEN_PREFIX + b"t": expiry + b"d" * 16, layout.EXPIRY_PREFIX + expiry + b"t": b""}
    other = next(engine_key for engine_key in rows if not engine_key.startswith(prefix))

    def put_both(engine: Any) -> None:
        for engine_key, row in rows.items():
            engine.put(engine_key, row)

    assert plant(folder, put_both) == []
    assert plant(folder, lambda engine: engine.delete(other)) == ["the token b't' has only one of its two rows"]


def test_a_table_id_not_given_out_is_found(folder: Path) -> None:
    faults = plant(folder, lambda engine: engine.put(layout.NEXT_TABLE_ID_KEY, layout.encode_number(2)))
    assert faults == ["table users has id 2, but the next id to be given out is 2"]


def test_a_description_at_another_id_is_found(folder: Path) -> None:
    table = table_of(folder, "users")
    faults = plant(folder, lambda engine: engine.put(layout.catalog_key(7), layout.encode_table(table)))
    assert any("two tables are named users" in fault for fault in faults)


def test_damaged_blocks_are_reported_not_raised(folder: Path) -> None:
    data_file = max((folder / "engine").glob("*.sst"), key=lambda path: path.stat().st_size)
    content = bytearray(data_file.read_bytes())
    content[40:60] = bytes(20)
    data_file.write_bytes(content)
    try:
        faults = check_store(str(folder)).faults
    except StorageError as error:
        faults = [str(error)]
    assert any("damaged" in fault for fault in faults)


def test_a_folder_in_use_or_without_data_is_refused(folder: Path, tmp_path: Path) -> None:
    store = open_store(str(folder), SystemClock(), None)
    with pytest.raises(StorageLocked):
        check_store(str(folder))
    store.close_now()
    with pytest.raises(StorageError, match="holds no Hashrange data"):
        inspect_store(str(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()
