"""Which processes may open which data folder, and which files a store leaves."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from hashrange.clock import SystemClock
from hashrange.errors import (
    StorageCorruption,
    StorageError,
    StorageFormatUnknown,
    StorageFull,
    StorageLocked,
    StorageReadOnly,
)
from hashrange.settings import SettingUnusable
from hashrange.store.embedded import files, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.inspect import inspect_row, inspect_store
from hashrange.store.embedded.layout import (
    FORMAT_KEY,
    FORMAT_VERSION,
    SHARD_PREFIX,
    STREAM_PREFIX,
    catalog_key,
    encode_table,
    partition_key,
)
from hashrange.store.embedded.offline import read_offline
from hashrange.store.embedded.partitions import read_partitions
from hashrange.tables.partitions import WHOLE, first_partitions
from tests.support.samples import finish, row_of, table_maker
from tests.unit.store.collections_world import LOCAL

CLOCK = SystemClock()


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    open_store(str(tmp_path / "a" / "b"), CLOCK, None).close_now()
    assert sorted(entry.name for entry in (tmp_path / "a" / "b").iterdir()) == ["engine", "lock"]


def test_the_same_folder_opens_only_once(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), CLOCK, None)
    with pytest.raises(StorageLocked, match=f"process {os.getpid()}"):
        open_store(str(tmp_path), CLOCK, None)
    store.close_now()
    open_store(str(tmp_path), CLOCK, None).close_now()


def test_a_second_process_is_refused_with_a_sentence(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), CLOCK, None)
    program = (
        "import sys; from hashrange.clock import SystemClock; from hashrange.store.embedded import open_store\n"
        "open_store(sys.argv[1], SystemClock(), None)"
    )
    second = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert second.returncode != 0
    assert f"is in use by another Hashrange (process {os.getpid()})" in second.stderr
    store.close_now()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="is not a folder"):
        open_store(str(tmp_path / "file"), CLOCK, None)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"thesis\.txt"):
        open_store(str(tmp_path), CLOCK, None)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_can_be_no_data_folder_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below", "", "x" * 300):
        with pytest.raises(SettingUnusable, match=r"^[^A-Z][^.]*\. Name an") as caught:
            open_store(str(tmp_path / name), CLOCK, None)
        assert isinstance(caught.value, StorageError)


def test_a_folder_that_is_free_names_no_process(tmp_path: Path) -> None:
    open_store(str(tmp_path), CLOCK, None).close_now()
    assert (tmp_path / "lock").read_bytes() == b""


def test_damage_that_is_met_after_the_engine_is_open_is_told_like_any(tmp_path: Path) -> None:
    open_store(str(tmp_path), CLOCK, None).close_now()
    (path,) = (tmp_path / "engine").glob("*.sst")
    content = bytearray(path.read_bytes())
    content[20:28] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(StorageCorruption, match="block checksum mismatch"):
        open_engine(str(tmp_path))


def test_a_missing_file_of_the_engine_is_told_with_a_way_out(tmp_path: Path) -> None:
    open_store(str(tmp_path), CLOCK, None).close_now()
    for path in (tmp_path / "engine").glob("MANIFEST-*"):
        path.unlink()
    with pytest.raises(StorageError, match=r"^the engine of .* cannot open its files\. See that all are there"):
        open_engine(str(tmp_path))


def test_an_engine_whose_first_file_is_missing_is_not_made_anew_over_its_data(tmp_path: Path) -> None:
    engine = open_engine(str(tmp_path))
    engine.flush()
    engine.close()
    for path in [*(tmp_path / "engine").glob("*.log"), tmp_path / "engine" / "CURRENT"]:
        path.unlink()
    data = {path.name for path in (tmp_path / "engine").glob("*.sst")}
    assert data
    for tool in (check_store, inspect_store):
        with pytest.raises(StorageError, match=r"engine/CURRENT, which leads to them, is missing\. Put it back"):
            tool(str(tmp_path))
    with pytest.raises(StorageError, match=r"engine/CURRENT, which leads to them, is missing\. Put it back"):
        open_engine(str(tmp_path))
    assert {path.name for path in (tmp_path / "engine").glob("*.sst")} == data


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hashrange.store.embedded.identity.os.open", refuse)
    with pytest.raises(StorageReadOnly, match="cannot be written"):
        open_store(str(tmp_path), CLOCK, None)


@pytest.mark.parametrize("method", ["open", "mkdir"])
def test_a_disk_that_is_full_when_a_server_starts_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    tmp_path = tmp_path / "data"
    tmp_path.mkdir()

    def refuse(*_arguments: object, **_options: object) -> int:
        raise OSError(28, "No space left on device")

    if method == "open":
        monkeypatch.setattr("hashrange.store.embedded.identity.os.open", refuse)
    else:
        monkeypatch.setattr(files, "make_engine_folder", refuse)
    with pytest.raises(StorageFull, match=r"is full\. Make room, and start the server again\. "):
        open_store(str(tmp_path), CLOCK, None)


def test_a_reopening_on_a_full_disk_asks_for_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_folder: object) -> None:
        raise OSError(28, "No space left on device")

    open_engine(str(tmp_path)).close()
    monkeypatch.setattr(files, "require_way_in", refuse)
    with pytest.raises(StorageFull, match="start the server again"):
        open_engine(str(tmp_path))
    with pytest.raises(StorageFull, match="Make room: writing then goes on by itself"):
        open_engine(str(tmp_path), may_make=False)


UNFIT = ["IDENTITY", "LOCK", "LOG", "LOG.old.1", "rocksdict-config.json"]


@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize("is_loop", [False, True])
def test_a_file_of_the_engine_that_is_none_is_found_and_told_as_what_it_is(
    tmp_path: Path, name: str, is_loop: bool
) -> None:
    data = tmp_path / "data"
    open_store(str(data), CLOCK, None).close_now()
    path = data / "engine" / name
    path.unlink(missing_ok=True)
    if is_loop:
        path.symlink_to(name)
    else:
        path.mkdir()
    faults = check_store(str(data)).faults
    assert faults == [
        f"engine/{name} is not a file, so a server may refuse to start: remove it, the engine makes it anew"
    ]
    shutil.copytree(data, tmp_path / "started", symlinks=True)
    try:
        open_store(str(tmp_path / "started"), CLOCK, None).close_now()
    except StorageError as error:
        assert type(error) is StorageError
        assert "Is a directory" in str(error) or "Too many levels of symbolic links" in str(error)
    if is_loop:
        path.unlink()
    else:
        path.rmdir()
    open_store(str(data), CLOCK, None).close_now()
    assert check_store(str(data)).faults == []


def test_a_lock_of_ours_that_is_no_file_is_not_told_as_a_missing_right(tmp_path: Path) -> None:
    open_store(str(tmp_path), CLOCK, None).close_now()
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").mkdir()
    with pytest.raises(StorageError, match=r"See that all are there.*Is a directory"):
        check_store(str(tmp_path))
    with pytest.raises(StorageError, match=r"See that all are there.*Is a directory"):
        open_store(str(tmp_path), CLOCK, None)


@pytest.mark.parametrize("version", [2, 17])
def test_an_unknown_format_is_refused_and_unharmed(tmp_path: Path, version: int) -> None:
    open_store(str(tmp_path), CLOCK, None).close_now()
    engine = open_engine(str(tmp_path))
    engine.put(FORMAT_KEY, version.to_bytes(4, "big"))
    engine.close()
    with pytest.raises(StorageFormatUnknown, match=f"format {version}; this Hashrange reads format 16"):
        open_store(str(tmp_path), CLOCK, None)
    with pytest.raises(StorageFormatUnknown):
        open_store(str(tmp_path), CLOCK, None)


def test_a_folder_of_format_8_gets_the_members_of_today(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), CLOCK, None)
    made = finish(store.catalog.create(table_maker("t")))
    assert made is not None
    store.close_now()
    engine = open_engine(str(tmp_path))
    description = msgspec.json.decode(engine.get(catalog_key(made.table_id)))
    del description["kinesis_destinations"]
    engine.put(catalog_key(made.table_id), msgspec.json.encode(description))
    engine.put(FORMAT_KEY, (8).to_bytes(4, "big"))
    engine.close()
    assert check_store(str(tmp_path)).faults == []
    store = open_store(str(tmp_path), CLOCK, None)
    assert store.engine.get(FORMAT_KEY) == FORMAT_VERSION.to_bytes(4, "big")
    assert store.engine.get(catalog_key(made.table_id)) == encode_table(made.schema)
    assert store.documents.below("") == []
    store.close_now()
    assert check_store(str(tmp_path)).faults == []


@pytest.mark.parametrize("version", [3, 4])
def test_a_folder_of_a_format_before_is_taken_over(tmp_path: Path, version: int) -> None:
    """Offline tools read an older format as it is; a server adds each source's partition, which those formats lack."""
    store = open_store(str(tmp_path), CLOCK, None)
    made = finish(
        store.catalog.create(lambda number: replace(table_maker("t")(number), indexes=(LOCAL,), next_index_id=2))
    )
    assert made is not None
    store.close_now()
    partitions = {source: first_partitions(source) for source in made.schema.sources}
    engine = open_engine(str(tmp_path))
    for one in partitions.values():
        engine.delete(partition_key(one[0]))
    description = msgspec.json.decode(engine.get(catalog_key(made.table_id)))
    del description["time_to_live"]
    engine.put(catalog_key(made.table_id), msgspec.json.encode(description))
    engine.put(FORMAT_KEY, version.to_bytes(4, "big"))
    engine.close()
    assert check_store(str(tmp_path)).faults == []
    assert [table.schema for table, _ in inspect_store(str(tmp_path)).tables] == [made.schema]
    ((table, item),) = inspect_row(str(tmp_path), "t", {"pk": {"S": "a"}, "sk": {"S": "a"}})
    assert (table.schema, item) == (made.schema, None)
    with read_offline(str(tmp_path)) as unconverted:
        assert unconverted.get(FORMAT_KEY) == version.to_bytes(4, "big")
        assert read_partitions(unconverted) == {}
    for _ in range(2):
        store = open_store(str(tmp_path), CLOCK, None)
        assert store.engine.get(FORMAT_KEY) == FORMAT_VERSION.to_bytes(4, "big")
        assert read_partitions(store.engine) == partitions
        assert store.engine.get(catalog_key(made.table_id)) == encode_table(made.schema)
        assert [(table.schema, table.partitions) for table in store.catalog.all_tables()] == [(made.schema, partitions)]
        store.close_now()
    assert check_store(str(tmp_path)).faults == []


def test_streams_that_a_format_before_only_described_begin(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), CLOCK, None)
    streamed = {"stream_view_type": "KEYS_ONLY", "stream_label": "2026-10-01T12:00:00.123"}
    made = finish(store.catalog.create(lambda number: replace(table_maker("t")(number), **streamed)))
    assert made is not None
    partitions = store.catalog.all_tables()[0].partitions
    store.close_now()
    engine = open_engine(str(tmp_path))
    for prefix in (STREAM_PREFIX, SHARD_PREFIX):
        for key in [key for key, _ in engine.items(from_key=prefix) if key.startswith(prefix)]:
            engine.delete(key)
    engine.put(FORMAT_KEY, (5).to_bytes(4, "big"))
    engine.close()
    for _ in range(2):
        store = open_store(str(tmp_path), CLOCK, None)
        ((stream, shard),) = [
            (one, shard) for one in store.streams.of("000000000000", "us-east-1") for shard in store.streams.shards(one)
        ]
        assert (stream.table_name, stream.label) == ("t", "2026-10-01T12:00:00.123")
        assert (shard.number, shard.hashes, shard.last) == (1, WHOLE, None)
        assert store.catalog.all_tables()[0].partitions == partitions
        store.close_now()
    assert check_store(str(tmp_path)).faults == []


def test_rows_without_a_format_are_not_ours(tmp_path: Path) -> None:
    engine = open_engine(str(tmp_path))
    engine.delete(FORMAT_KEY)
    engine.put(b"\0\0\0\1key", b"value")
    engine.close()
    with pytest.raises(StorageFormatUnknown):
        open_store(str(tmp_path), CLOCK, None)


@pytest.mark.parametrize("name", ["rocksdict-config.json", "OPTIONS"])
def test_files_that_a_power_cut_may_spoil_do_not_matter(tmp_path: Path, name: str) -> None:
    store = open_store(str(tmp_path), CLOCK, None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    store.close_now()
    for path in (tmp_path / "engine").glob(f"{name}*"):
        path.write_bytes(b"")
    store = open_store(str(tmp_path), CLOCK, None)
    assert [found.schema for found in store.catalog.all_tables()] == [table.schema]
    store.close_now()


def test_memory_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    loop = asyncio.new_event_loop()
    store = open_store(None, CLOCK, loop)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    finish(store.mutate(table, b"k", lambda _: row_of(100_000, b"x" * 100_000)))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    store.close_now()
    loop.close()
    assert list(tmp_path.iterdir()) == []


def test_two_stores_in_memory_do_not_meet() -> None:
    first, second = open_store(None, CLOCK, None), open_store(None, CLOCK, None)
    finish(first.catalog.create(table_maker("t")))
    assert second.catalog.all_tables() == []
    first.close_now()
    second.close_now()
