"""Long documents are kept in pieces: written so that others run, read whole or not at all, and gone without a trace."""

import asyncio
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.errors import Abandoned, StorageCorruption
from hashrange.items import steps
from hashrange.store.embedded import EmbeddedStore, layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.documents import SOME_BYTES, UNSYNCED_BYTES_MAX
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.layout import DOCUMENT_ROW_BYTES_MAX, FORMAT_KEY, PIECE_PREFIX
from hashrange.store.embedded.pieces import COMMIT_BYTES_MAX
from hashrange.store.embedded.reading import scan_prefix, scan_range
from tests.support.clocks import VirtualClock
from tests.support.samples import finish
from tests.unit.store.conftest import Run

CLOCK = VirtualClock()
LONG = b"abc" * DOCUMENT_ROW_BYTES_MAX
"""Written in one commit."""
MUCH = bytes(range(256)) * (3 * COMMIT_BYTES_MAX // 256) + b"end"
"""Written in several commits."""


def rows_of(store: EmbeddedStore) -> list[tuple[bytes, bytes]]:
    """All rows of documents."""
    return list(scan_range(store.engine, layout.DOCUMENT_PREFIX, layout.TOKEN_PREFIX))


def pieces_in(store: EmbeddedStore) -> int:
    """Number of pieces of all documents."""
    return len(list(scan_prefix(store.engine, PIECE_PREFIX)))


def pieces_for(value: bytes) -> int:
    """Number of pieces that a document has."""
    return -(-len(value) // DOCUMENT_ROW_BYTES_MAX)


@pytest.mark.parametrize("length", [0, DOCUMENT_ROW_BYTES_MAX, DOCUMENT_ROW_BYTES_MAX + 1, len(LONG), len(MUCH)])
def test_a_document_of_any_length_is_read_as_written(store: EmbeddedStore, run: Run, length: int) -> None:
    value = MUCH[:length]
    assert run(store.documents.write({"a": value, "b": b"short"}))
    assert store.documents.get("a") == value
    assert run(store.documents.read("a")) == value
    assert store.documents.below("") == [("a", value), ("b", b"short")]
    assert max(len(row) for _, row in rows_of(store)) <= DOCUMENT_ROW_BYTES_MAX
    run(store.documents.write({"a": None}))
    assert store.documents.get("a") is None
    assert run(store.documents.read("a")) is None
    assert len(rows_of(store)) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_documents_are_read_in_parts_in_the_order_of_their_names(store: EmbeddedStore, run: Run, count: int) -> None:
    documents = {"a": b"1", "ab": LONG, "b": b"2", "é": LONG[1:], "z": b"3"}
    run(store.documents.write({**documents, "c": MUCH, "y": b"other"}))
    run(store.documents.write({"c": None, "y": None}))
    found: list[tuple[str, bytes]] = []
    while part := store.documents.some_below("", found[-1][0] if found else None, count):
        assert len(part) <= count
        found += part
    assert found == sorted(documents.items(), key=lambda one: one[0].encode())
    assert store.documents.some_below("a", "a", 5) == [("ab", LONG)]


def test_a_part_of_many_documents_ends_with_a_long_one(store: EmbeddedStore, run: Run) -> None:
    """60 MB of long documents behind many short ones were read in one step of 150 ms."""
    long = b"x" * SOME_BYTES
    documents = {"a": b"1", "b": b"2", "c": long, "d": long[1:], "e": b"3", "f": long}
    run(store.documents.write(documents))
    parts: list[str] = []
    while part := store.documents.some_below("", parts[-1][-1] if parts else None, 100):
        parts.append("".join(name for name, _ in part))
    assert parts == ["abc", "de", "f"]


@pytest.mark.parametrize("before", [b"short", LONG, MUCH])
@pytest.mark.parametrize("after", [b"", LONG[1:], MUCH[1:], None])
def test_a_document_takes_the_place_of_another(
    store: EmbeddedStore, run: Run, before: bytes, after: bytes | None
) -> None:
    run(store.documents.write({"a": before}))
    run(store.documents.write({"a": after}))
    assert store.documents.get("a") == after
    assert pieces_in(store) == (pieces_for(after) if after and len(after) > DOCUMENT_ROW_BYTES_MAX else 0)


def test_documents_below_a_prefix_are_in_order_whatever_their_length(store: EmbeddedStore, run: Run) -> None:
    run(store.documents.write({"a/2": LONG, "a/1": b"1", "a/3": b"3", "b": LONG, "a/ä": MUCH}))
    assert store.documents.below("a/") == [("a/1", b"1"), ("a/2", LONG), ("a/3", b"3"), ("a/ä", MUCH)]


def test_a_long_document_is_written_in_one_commit_and_much_so_that_others_run(store: EmbeddedStore, run: Run) -> None:
    before = store.position()
    finish(store.documents.write({"a": LONG}))
    assert store.position() == before + 1
    turns: list[bytes | None] = []

    async def write_beside_another() -> None:
        writing = asyncio.ensure_future(store.documents.write({"a": MUCH}))
        while not writing.done():
            await asyncio.sleep(0)
            turns.append(store.documents.get("a"))

    run(write_beside_another())
    assert set(turns[:-1]) == {LONG}, "nobody sees the new document before it is whole"
    assert turns[-1] == MUCH
    assert len(turns) > len(MUCH) // COMMIT_BYTES_MAX


def test_others_run_while_a_long_document_is_read(store: EmbeddedStore, run: Run) -> None:
    run(store.documents.write({"a": MUCH}))
    turns = 0

    async def read_beside_another() -> bytes | None:
        nonlocal turns
        reading = asyncio.ensure_future(store.documents.read("a"))
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        return reading.result()

    assert run(read_beside_another()) == MUCH
    assert turns > len(MUCH) // COMMIT_BYTES_MAX


@pytest.mark.parametrize("is_task", [False, True])
def test_a_long_document_is_put_together_without_a_copy_of_all(store: EmbeddedStore, run: Run, is_task: bool) -> None:
    run(store.documents.write({"a": MUCH}))
    tracemalloc.start()
    try:
        found = run(store.documents.read("a")) if is_task else store.documents.get("a")
        assert tracemalloc.get_traced_memory()[1] < len(MUCH) * 3 // 2
    finally:
        tracemalloc.stop()
    assert found == MUCH


def test_a_write_of_much_waits_for_the_disk_so_that_others_need_not_wait_for_all_of_it(
    disk_store: EmbeddedStore, run: Run
) -> None:
    unsynced = 0

    async def write_beside_another() -> None:
        nonlocal unsynced
        writing = asyncio.ensure_future(disk_store.documents.write({"a": bytes(5 * UNSYNCED_BYTES_MAX)}))
        while not writing.done():
            await asyncio.sleep(0)
            unsynced = max(unsynced, disk_store.position() - disk_store.durable_position())

    run(write_beside_another())
    assert unsynced <= UNSYNCED_BYTES_MAX // COMMIT_BYTES_MAX


@pytest.mark.parametrize("after", [LONG, b"short", None])
def test_a_document_that_changes_while_it_is_read_is_read_whole(
    store: EmbeddedStore, run: Run, after: bytes | None
) -> None:
    run(store.documents.write({"a": MUCH}))

    async def change_meanwhile() -> bytes | None:
        reading = asyncio.ensure_future(store.documents.read("a"))
        await asyncio.sleep(0)
        await store.documents.write({"a": after})
        return await reading

    assert run(change_meanwhile()) == after


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What work that gives way calls, in order."""
    calls: list[object] = []
    monkeypatch.setattr(steps, "_look", lambda: [call() for call in calls if callable(call)])
    yield calls


def test_work_that_reads_a_long_document_gives_way_and_reads_it_whole(
    store: EmbeddedStore, run: Run, looks: list[object]
) -> None:
    run(store.documents.write({"a": MUCH, "b": b""}))
    given = 0

    def change() -> None:
        nonlocal given
        given += 1
        if given == 2:
            looks.clear()
            finish(store.documents.write({"a": LONG}))

    looks.append(change)
    assert store.documents.get("a") == LONG
    assert given == 2


def test_a_client_that_leaves_while_its_document_is_read_harms_nobody(
    store: EmbeddedStore, run: Run, looks: list[object]
) -> None:
    run(store.documents.write({"a": MUCH}))

    def leave() -> None:
        raise Abandoned

    looks.append(leave)
    with pytest.raises(Abandoned):
        store.documents.get("a")
    looks.clear()
    assert store.documents.get("a") == MUCH
    assert run(store.documents.write({"b": b""}))


def test_what_a_kill_leaves_behind_is_deleted(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    store = open_store(str(tmp_path), CLOCK, loop)
    loop.run_until_complete(store.documents.write({"kept": LONG}))
    writing = store.documents.write({"a": MUCH, "kept": b"short"})
    for _ in range(3):
        writing.send(None)
    assert pieces_in(store) > pieces_for(LONG)
    store.close_now()
    writing.close()
    assert check_store(str(tmp_path)).faults == []
    store = open_store(str(tmp_path), CLOCK, loop)
    assert store.documents.below("") == [("kept", LONG)]
    assert pieces_in(store) == pieces_for(LONG)
    store.close_now()


def test_what_a_write_leaves_behind_that_is_cancelled_is_deleted_with_the_next(store: EmbeddedStore) -> None:
    writing = store.documents.write({"a": MUCH})
    for _ in range(3):
        writing.send(None)
    writing.close()
    assert store.documents.get("a") is None
    assert pieces_in(store)
    finish(store.documents.write({"b": b""}))
    assert pieces_in(store) == 0


def test_a_copy_made_while_a_document_is_written_has_nothing_of_it(store: EmbeddedStore, run: Run) -> None:
    run(store.documents.write({"a": LONG}))
    writing = store.documents.write({"a": MUCH})
    for _ in range(3):
        writing.send(None)
    checkpoint = run(store.copying.checkpoint())
    with pytest.raises(StopIteration):
        while True:
            writing.send(None)
    assert store.documents.get("a") == MUCH
    store.copying.restore(checkpoint)
    checkpoint.release()
    assert store.documents.get("a") == LONG
    assert pieces_in(store) == pieces_for(LONG)


@pytest.mark.parametrize("has_generation", [False, True])
def test_a_write_that_a_restore_overtakes_is_done_again_or_not_at_all(
    store: EmbeddedStore, run: Run, has_generation: bool
) -> None:
    async def restore_meanwhile() -> bool:
        generation = store.documents.generation if has_generation else None
        writing = asyncio.ensure_future(store.documents.write({"a": MUCH}, generation))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        store.copying.restore(None)
        return await writing

    assert run(restore_meanwhile()) is not has_generation
    assert store.documents.get("a") == (None if has_generation else MUCH)
    assert pieces_in(store) == (0 if has_generation else pieces_for(MUCH))


def test_two_writes_of_one_document_leave_the_later_one(store: EmbeddedStore, run: Run) -> None:
    async def write_twice() -> None:
        await asyncio.gather(store.documents.write({"a": MUCH}), store.documents.write({"a": MUCH + LONG}))

    run(write_twice())
    assert store.documents.get("a") == MUCH + LONG
    assert pieces_in(store) == pieces_for(MUCH + LONG)


def test_a_folder_of_format_9_is_converted(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    open_store(str(tmp_path), CLOCK, None).close_now()
    engine = open_engine(str(tmp_path))
    for name, value in {"a": b"short", "b": MUCH, "c": LONG}.items():
        engine.put(layout.DOCUMENT_PREFIX + name.encode(), value)
    engine.put(FORMAT_KEY, (9).to_bytes(4, "big"))
    engine.close()
    assert check_store(str(tmp_path)).faults == []
    for _ in range(2):
        store = open_store(str(tmp_path), CLOCK, loop)
        assert store.documents.below("") == [("a", b"short"), ("b", MUCH), ("c", LONG)]
        assert max(len(row) for _, row in rows_of(store)) <= DOCUMENT_ROW_BYTES_MAX
        store.close_now()
        assert check_store(str(tmp_path)).faults == []


def test_a_snapshot_of_format_9_is_converted(store: EmbeddedStore) -> None:
    former = {FORMAT_KEY: (9).to_bytes(4, "big"), layout.DOCUMENT_PREFIX + b"a": MUCH}
    checkpoint = store.copying.checkpoint_of(former.items())
    store.copying.restore(checkpoint)
    checkpoint.release()
    assert store.documents.get("a") == MUCH
    assert max(len(row) for _, row in rows_of(store)) <= DOCUMENT_ROW_BYTES_MAX


def test_a_check_finds_documents_that_are_not_whole(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    store = open_store(str(tmp_path), CLOCK, loop)
    loop.run_until_complete(store.documents.write(dict.fromkeys("abcd", LONG)))
    first = {name: layout.piece_key(long.id, 1) for name, long in store.documents._long.items()}
    store.close_now()
    engine = open_engine(str(tmp_path))
    engine.delete(first["a"])
    engine.put(first["b"], b"cut")
    engine.put(layout.DOCUMENT_PREFIX + b"c", b"twice")
    engine.put(layout.DOCUMENT_PREFIX + b"e", LONG)
    engine.close()
    assert check_store(str(tmp_path)).faults == [
        f"the row of the document e has {len(LONG)} bytes, more than 65536",
        "piece 1 of the document a is missing",
        "piece 1 of the document b has 3 bytes instead of 65536",
        "the document c is stored both in one row and in pieces",
    ]
    store = open_store(str(tmp_path), CLOCK, loop)
    with pytest.raises(StorageCorruption, match="piece 1 of the document a is missing"):
        store.documents.get("a")
    assert store.documents.get("d") == LONG
    store.close_now()
