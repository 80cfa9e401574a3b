"""`check` finds every kind of planted damage, and `inspect` describes a store; neither changes anything."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import Malformed, StorageError, StorageLocked, ValidationException
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.store.embedded import layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.inspect import inspect_row, inspect_store
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable
from tests.support.samples import finish, table_maker

ITEM: Item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "1"}, "s": {"SS": ["x", "y"]}}


def put(row: Row, _old: Row | None) -> Row:
    """A plan that puts `row`."""
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
            finish(store.mutate(table, table.item_key(item), partial(put, row)))
    store.close_now()
    return folder


def plant(folder: Path, write: Callable[[Any], None]) -> list[str]:
    """The faults that `check` finds after `write` changed the engine."""
    engine = open_engine(str(folder))
    write(engine)
    engine.close()
    before = sorted(path.name for path in (folder / "engine").glob("*.sst"))
    faults = check_store(str(folder)).faults
    assert sorted(path.name for path in (folder / "engine").glob("*.sst")) == before
    return faults


def table_of(folder: Path, name: str) -> OpenTable:
    return next(table for table, _ in inspect_store(str(folder)).tables if table.name == name)


def stored(folder: Path, sort: str = "b") -> tuple[bytes, bytes]:
    """Engine key and stored row of one item of `orders`."""
    table = table_of(folder, "orders")
    item = ITEM | {"sk": {"S": sort}}
    return table.source_id + table.item_key(item), encode_row(*check_item(item))


def test_a_sound_store(folder: Path) -> None:
    heard: list[int] = []
    assert check_store(str(folder), heard.append) == (2, 3, [])


def test_an_overview(folder: Path) -> None:
    overview = inspect_store(str(folder))
    assert [(table.name, figures) for table, figures in overview.tables] == [
        ("orders", Statistics(2, 2 * SIZE)),
        ("users", Statistics(1, SIZE)),
    ]
    assert overview.format_version == 16
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
        (lambda key, row: (key, b"\x0b" + row[1:]), "cannot be read"),
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


@pytest.mark.parametrize("prefix", [layout.TOKEN_PREFIX, layout.TOKEN_EXPIRY_PREFIX])
def test_half_a_token_is_found(folder: Path, prefix: bytes) -> None:
    expiry = (5).to_bytes(8, "big")
    rows = {layout.TOKEN_PREFIX + b"t": expiry + b"d" * 16, layout.TOKEN_EXPIRY_PREFIX + expiry + b"t": b""}
    other = next(engine_key for engine_key in rows if not engine_key.startswith(prefix))

    def put_both(engine: Any) -> None:
        for engine_key, row in rows.items():
            engine.put(engine_key, row)

    assert plant(folder, put_both) == []
    assert plant(folder, lambda engine: engine.delete(other)) == ["the token b't' has only one of its two rows"]


def test_a_table_id_not_given_out_is_found(folder: Path) -> None:
    faults = plant(folder, lambda engine: engine.put(layout.NEXT_TABLE_ID_KEY, layout.encode_counter(2)))
    assert faults == ["table users has id 2, but the next id to be given out is 2"]


def test_a_description_at_another_id_is_found(folder: Path) -> None:
    table = table_of(folder, "users")
    faults = plant(folder, lambda engine: engine.put(layout.catalog_key(7), layout.encode_table(table.schema)))
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


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a folder: its modification time and its content."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def look_at_all(folder: Path) -> None:
    """Run `check` and `inspect` on an undamaged folder."""
    assert check_store(str(folder)).faults == []
    assert len(inspect_store(str(folder)).tables) == 2
    assert inspect_row(str(folder), "orders", {"pk": {"S": "a"}, "sk": {"S": "b"}})[0][1] == ITEM


@pytest.mark.parametrize("missing", ["", "lock"])
def test_nothing_in_the_folder_is_written(folder: Path, missing: str, tmp_path: Path) -> None:
    (folder / missing).unlink() if missing else None
    before = contents(folder)
    look_at_all(folder)
    assert contents(folder) == before


def test_what_only_the_log_holds_is_seen(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "data"), SystemClock(), None)
    for name in ("orders", "users"):
        table = finish(store.catalog.create(table_maker(name)))
        assert table is not None
        finish(store.mutate(table, table.item_key(ITEM), partial(put, encode_row(*check_item(ITEM)))))
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    store.close_now()
    look_at_all(tmp_path / "copy")


NOBODY = 65534


@contextmanager
def stranger() -> Iterator[None]:
    """Run as an unprivileged user, because file modes do not restrict root."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder(folder: Path) -> Iterator[Path]:
    """A copy of the folder in a place that every user can reach."""
    place = Path(tempfile.mkdtemp(prefix="hashrange-test-"))
    place.chmod(0o755)
    shutil.copytree(folder, place / "data")
    yield place / "data"
    for path in [*place.rglob("*"), place]:
        path.chmod(0o700)
    shutil.rmtree(place)


def set_modes(folder: Path, folder_mode: int, file_mode: int) -> None:
    """Set the modes of the folder and of everything in it, innermost first."""
    for path in [*sorted(folder.rglob("*"), reverse=True), folder]:
        path.chmod(folder_mode if path.is_dir() else file_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_folder_that_may_only_be_read_will_do(open_folder: Path) -> None:
    set_modes(open_folder, 0o555, 0o444)
    with stranger():
        look_at_all(open_folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o000, 0o444), (0o555, 0o000), (0o444, 0o444)])
def test_a_folder_that_may_not_be_read_is_told_so(open_folder: Path, folder_mode: int, file_mode: int) -> None:
    set_modes(open_folder, folder_mode, file_mode)
    with stranger():
        for look in (check_store, inspect_store):
            with pytest.raises(StorageError, match=r"cannot be read.*Give this user the right to read"):
                look(str(open_folder))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_files_of_the_engine_that_may_not_be_read_are_told(open_folder: Path) -> None:
    set_modes(open_folder, 0o555, 0o444)
    for path in (open_folder / "engine").glob("*.sst"):
        path.chmod(0o000)
    with stranger(), pytest.raises(StorageError, match=r"cannot be read\. Give this user the right to read"):
        inspect_store(str(open_folder))


def test_damage_names_the_folder_and_not_its_copy(folder: Path) -> None:
    for path in (folder / "engine").glob("MANIFEST-*"):
        path.unlink()
    with pytest.raises(StorageError, match=r"cannot read its files") as caught:
        check_store(str(folder))
    assert str(folder / "engine" / "MANIFEST") in str(caught.value)
    assert "hashrange-" not in str(caught.value)


@pytest.mark.parametrize("pk", [{"S": "a", "N": "1"}, {}, {"X": "a"}, {"N": "one"}])
def test_a_key_that_is_none_is_refused(folder: Path, pk: dict[str, str]) -> None:
    with pytest.raises((ValidationException, Malformed)):
        inspect_row(str(folder), "orders", {"pk": pk, "sk": {"S": "b"}})
