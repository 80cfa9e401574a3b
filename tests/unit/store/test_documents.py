"""Documents are written several at a time, read by name or prefix, and part of the store's content."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hashrange.items.rows import encode_row
from hashrange.items.types import Key
from hashrange.items.values import check_item
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.pieces import COMMIT_BYTES_MAX, piece_ids
from hashrange.tables.schema import Table
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker
from tests.unit.store.conftest import Run

KEY = Key(b"00000001")
ROW = encode_row(*check_item({"pk": {"S": "a"}, "sk": {"S": "b"}}))


def streaming_table(table_id: int) -> Table:
    return msgspec.structs.replace(table_maker("t")(table_id), stream_view_type="KEYS_ONLY", stream_label="label")


def test_documents_are_read_by_name_and_by_prefix_in_order(store: EmbeddedStore) -> None:
    documents = store.documents
    assert documents.get("a/1") is None
    finish(documents.write({"b/1": b"3", "a/2": b"2", "a/1": b"1", "a": b"", "ä": b"4"}))
    assert documents.get("a/1") == b"1"
    assert documents.below("a/") == [("a/1", b"1"), ("a/2", b"2")]
    assert [name for name, _ in documents.below("")] == ["a", "a/1", "a/2", "b/1", "ä"]
    finish(documents.write({"a/1": None, "a/2": b"two", "missing": None}))
    assert documents.below("a") == [("a", b""), ("a/2", b"two")]


def test_a_write_is_one_commit_and_a_write_of_nothing_is_none(store: EmbeddedStore) -> None:
    before = store.position()
    finish(store.documents.write({"a": b"1", "b": b"2"}))
    assert store.position() == before + 1
    finish(store.documents.write({}))
    assert store.position() == before + 1


def test_documents_do_not_delay_consistent_reads_of_tables(store: EmbeddedStore) -> None:
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    before = store.position_of(table)
    finish(store.documents.write({"a": b"1"}))
    assert store.position_of(table) == before < store.position()


def test_documents_survive_a_restart(tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
    for number in range(3):
        store = open_store(str(tmp_path), VirtualClock(), loop)
        assert store.documents.get("counter") == (str(number).encode() if number else None)
        finish(store.documents.write({"counter": str(number + 1).encode()}))
        store.close_now()


def test_a_restore_brings_former_documents_back_and_a_late_write_does_nothing(store: EmbeddedStore, run: Run) -> None:
    documents = store.documents
    finish(documents.write({"a": b"1"}))
    checkpoint = run(store.copying.checkpoint())
    finish(documents.write({"a": b"2", "b": b"2"}))
    generation = documents.generation
    assert finish(documents.write({"c": b"3"}, generation)) is True
    store.copying.restore(checkpoint)
    assert documents.below("") == [("a", b"1")]
    assert documents.generation > generation
    assert finish(documents.write({"c": b"3"}, generation)) is False
    assert documents.below("") == [("a", b"1")]
    checkpoint.release()


def test_who_follows_streams_hears_of_records_and_of_shards_that_begin_or_end(store: EmbeddedStore) -> None:
    heard: list[int] = []

    def hear() -> None:
        (stream,) = store.streams.of("0" * 12, "us-east-1")
        heard.append(finish(store.streams.last_of_shard(store.streams.shards(stream)[0])))

    store.streams.follow(hear)
    plain = finish(store.catalog.create(table_maker("plain")))
    assert plain is not None
    finish(store.mutate(plain, KEY, lambda _: row_of(1)))
    assert heard == []
    table = finish(store.catalog.create(streaming_table))
    assert table is not None
    begun = list(heard)
    assert begun
    finish(store.mutate(table, KEY, lambda _: ROW))
    assert len(heard) == len(begun) + 1
    finish(store.catalog.delete(table.schema))
    assert heard[-1] > heard[-2] > begun[-1]


def test_a_write_is_refused_if_a_document_is_no_longer_as_it_was_read(store: EmbeddedStore) -> None:
    documents, long, other = store.documents, bytes(200_000), bytes(199_999) + b"1"
    finish(documents.write({"a": b"1", "long": long}))
    before = store.position()
    for read in ({"a": b"2"}, {"a": None}, {"missing": b""}, {"long": other}, {"long": None}, {"a": b"1", "b": b"1"}):
        assert finish(documents.write({"a": b"3", "c": other}, read=read)) is False
    assert (store.position(), documents.get("a"), documents.get("c")) == (before, b"1", None)
    assert (
        finish(documents.write({"a": b"3"}, documents.generation, {"a": b"1", "long": long, "missing": None})) is True
    )
    assert documents.get("a") == b"3"


MUCH = bytes(range(256)) * (3 * COMMIT_BYTES_MAX // 256)
"""A document that is written in several commits."""


@pytest.mark.parametrize("read", [{"a": b"2"}, {"long": MUCH[:-1]}, {"long": MUCH[:-1] + b"x"}, {"missing": MUCH}])
def test_a_write_that_is_to_be_refused_writes_no_pieces(
    store: EmbeddedStore, run: Run, read: dict[str, bytes | None]
) -> None:
    """Each of those that lost had written all of a long document before."""
    documents = store.documents
    run(documents.write({"a": b"1", "long": MUCH}))
    before = store.position()
    assert run(documents.write({"other": MUCH, "long": MUCH + MUCH}, read=read)) is False
    assert store.position() == before
    assert run(documents.write({"other": MUCH}, read={"a": b"1", "long": MUCH, "missing": None})) is True


@pytest.mark.parametrize("late", [b"late", MUCH])
@pytest.mark.parametrize("others_turn", range(8))
def test_others_run_while_a_long_document_is_compared_and_may_change_it(
    store: EmbeddedStore, run: Run, others_turn: int, late: bytes
) -> None:
    documents = store.documents
    run(documents.write({"long": MUCH}))

    async def overtaken() -> tuple[bool, bool, int]:
        writing = asyncio.ensure_future(documents.write({"a": late}, read={"long": MUCH}))
        turns = 0
        has_changed = False
        while not writing.done():
            if turns == others_turn:
                has_changed = await documents.write({"long": b"short"}, read={})
            turns += 1
            await asyncio.sleep(0)
        return writing.result(), has_changed, turns

    is_done, has_changed, turns = run(overtaken())
    assert is_done is not has_changed
    assert documents.get("a") == (late if is_done else None)
    assert turns >= 3 or has_changed, "a turn for each COMMIT_BYTES_MAX"


def test_the_pieces_of_a_refused_write_are_deleted_with_a_later_one(store: EmbeddedStore, run: Run) -> None:
    """A long document is compared when its pieces have been written: others may have come between."""
    documents, much = store.documents, bytes(9_000_000)
    finish(documents.write({"a": b"1"}))

    async def overtaken() -> bool:
        writing = asyncio.ensure_future(documents.write({"a": b"2", "long": much}, read={"a": b"1"}))
        await asyncio.sleep(0)
        assert await documents.write({"a": b"3"}, read={"a": b"1"})
        return await writing

    assert run(overtaken()) is False
    assert (documents.get("a"), documents.get("long")) == (b"3", None)
    assert finish(documents.write({"a": b"4"}))
    assert not list(piece_ids(store.site.engine))
