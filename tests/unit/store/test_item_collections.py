"""Sizes of item collections: their rows, the commits that change them, and the size limit's refusals."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hashrange.errors import ItemCollectionSizeLimitExceededException, StorageCorruption, StorageError
from hashrange.items.keys import encode_partition_key
from hashrange.soon import settled
from hashrange.store.embedded import layout
from hashrange.store.interface import IdempotencyToken, TransactionRefused, TransactionStep
from tests.support.engines import FaultyEngine
from tests.support.samples import finish
from tests.unit.store.collections_world import LIMIT_BYTES, Collections, item, row_of_item
from tests.unit.store.conftest import Run

STALL = Exception("Result incomplete: Write stall")


@pytest.fixture
def world() -> Iterator[Collections]:
    made = Collections()
    yield made
    made.store.close_now()


def test_one_row_for_each_collection_and_none_without_local_indexes(world: Collections) -> None:
    world.put(item("a", 20, l="x"))
    world.put(item("b", 30))
    world.put(item("a", 40, "q"))
    world.put(item("a", 50), world.plain)
    assert world.rows() == {
        b"\0\0\0\1\xff\xff" + encode_partition_key("S", "p"): (70).to_bytes(8, "big"),
        b"\0\0\0\1\xff\xff" + encode_partition_key("S", "q"): (40).to_bytes(8, "big"),
    }
    assert (world.size_bytes(), world.size_bytes("q"), world.size_bytes("none")) == (70, 40, 0)


def test_the_row_is_of_the_commit_of_its_item(world: Collections) -> None:
    for new in (item("a", 20, l="x"), item("a", 30), item("a", 30, l="x"), item("b", 20)):
        position = world.store.position()
        world.put(new)
        assert world.store.position() == position + 1
    assert world.size_bytes() == 80
    world.delete(item("b", 20))
    world.delete(item("a", 20))
    world.delete(item("a", 20))
    assert world.rows() == {}


class CountingEngine:
    """An engine that records the number of rows of each batch."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.rows_written: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def write(self, batch: Any) -> None:
        self.rows_written.append(len(batch))
        self._engine.write(batch)


def test_an_item_replaced_by_one_of_the_same_size_leaves_it_unwritten(world: Collections) -> None:
    world.put(item("a", 50, b="x"))
    world.store.site.engine = counting = CountingEngine(world.store.engine)
    world.put(item("a", 50, b="y"))
    world.put(item("a", 51, b="y"))
    assert counting.rows_written == [1, 3], "the item, and then figures and the collection too"
    assert world.size_bytes() == 51


def test_what_would_be_too_large_is_not_done(world: Collections) -> None:
    world.put(item("a", 40, l="x"))
    position = world.store.position()
    for new in (item("b", 21), item("a", 51, l="y"), item("a", LIMIT_BYTES + 1), item("b", 11, l="x")):
        with pytest.raises(ItemCollectionSizeLimitExceededException, match=r"^Collection size exceeded\.$"):
            world.put(new)
    assert (world.store.position(), world.size_bytes()) == (position, 80)
    world.put(item("b", 20))
    assert world.size_bytes() == LIMIT_BYTES


def test_a_collection_larger_than_a_new_limit_may_shrink(tmp_path: Path) -> None:
    world = Collections(tmp_path / "data")
    world.put(item("a", 50))
    world.put(item("b", 50))
    world.store.close_now()
    world.open(limit_bytes=60)
    world.put(item("b", 45))
    world.put(item("b", 45, b="x"))
    for new in (item("b", 46), item("c", 20)):
        with pytest.raises(ItemCollectionSizeLimitExceededException):
            world.put(new)
    swap = [TransactionStep(world.table, world.key(item("a", 50)), lambda _: None), world.step(item("c", 50))]
    world.transact(*swap)
    assert world.size_bytes() == 95
    world.delete(item("b", 45))
    world.put(item("c", 60))
    world.store.close_now()


def test_a_transaction_counts_all_its_steps(world: Collections) -> None:
    world.put(item("a", 40))
    position = world.store.position()
    world.transact(world.step(item("b", 40)), world.step(item("a", 50, "q")), world.step(item("b", 90), world.plain))
    assert (world.size_bytes(), world.size_bytes("q")) == (80, 50)
    with pytest.raises(TransactionRefused) as refusal:
        world.transact(
            world.step(item("a", 30)),
            world.step(item("c", 15)),
            world.step(item("a", 60, "q")),
            world.step(item("d", 16)),
            world.step(item("e", 99), world.plain),
        )
    codes = [None if reason is None else reason.code for reason in refusal.value.reasons]
    code = "ItemCollectionSizeLimitExceededException"
    assert codes == [None, code, None, code, None]
    assert (world.store.position(), world.size_bytes(), world.size_bytes("q")) == (position + 1, 80, 50)
    world.transact(world.step(item("a", 30)), world.step(item("c", 15)), world.step(item("d", 15)))
    assert world.size_bytes() == LIMIT_BYTES


def test_a_refused_transaction_leaves_its_token_free(world: Collections) -> None:
    token = IdempotencyToken(b"t", b"d" * 16, 0.0, 600.0, lambda changes: b"%d" % len(changes))
    with pytest.raises(TransactionRefused):
        finish(world.store.transact([world.step(item("a", LIMIT_BYTES + 1))], token))
    done = finish(world.store.transact([world.step(item("a", LIMIT_BYTES))], token))
    assert done.report is None
    assert finish(world.store.transact([world.step(item("b", 20))], token)).report == b"1"
    assert world.size_bytes() == LIMIT_BYTES


def test_a_stalled_write_counts_again(tmp_path: Path, run: Run) -> None:
    world = Collections(tmp_path / "data")
    world.store.site.engine = FaultyEngine(world.store.engine)
    world.store.engine.faults["write"] = [STALL]

    async def scenario() -> None:
        new = row_of_item(item("a", 30))
        delayed = asyncio.ensure_future(
            settled(world.store.mutate(world.table, world.key(item("a", 30)), lambda _: new))
        )
        await asyncio.sleep(0)
        world.put(item("b", 40))
        await delayed

    run(scenario())
    assert world.size_bytes() == 70
    world.store.close_now()


def test_a_deleted_table_leaves_no_rows(world: Collections) -> None:
    world.put(item("a", 50))
    assert finish(world.store.catalog.delete(world.table.schema))
    assert world.rows() == {}


def test_a_spoilt_row_is_the_operators_matter(world: Collections) -> None:
    world.put(item("a", 50))
    (key,) = world.rows()
    world.store.engine.put(key, b"short")
    with pytest.raises(StorageCorruption, match="5 bytes instead of 8"):
        world.size_bytes()
    with pytest.raises(StorageCorruption, match="5 bytes instead of 8"):
        world.put(item("b", 20))


def test_no_index_takes_the_place_of_the_sizes(world: Collections) -> None:
    last = replace(world.plain.schema, next_index_id=layout.INDEX_ID_MAX + 1)
    assert finish(world.store.catalog.replace(world.plain.schema, last))
    with pytest.raises(StorageError, match="every index id"):
        finish(world.store.catalog.replace(last, replace(last, next_index_id=layout.INDEX_ID_MAX + 2)))
