"""Late index entries (too large for their item's commit): written one by one after it,
while the item is locked; none is lost.
"""

from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from hashrange.errors import StorageBusy
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, commits, late_entries, layout, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine, open_engine
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.stalls import STALL_DELAYS_SECONDS
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from hashrange.tables.read_spans import scan_span
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table
from tests.support.clocks import VirtualClock
from tests.support.engines import replace_engine
from tests.support.samples import finish, statistics_of, table_maker

T = TypeVar("T")
INDEXES = 4
LATE_BYTES = 1000
LARGE, SMALL = 400, 10
"""Characters of an item: with LARGE its four index entries are late, with SMALL they never are."""
PROJECTIONS = (IndexProjection("ALL"), IndexProjection("INCLUDE", ("pad",)))


@pytest.fixture(autouse=True)
def low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", LATE_BYTES)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "data")


@pytest.fixture
def store(folder: str) -> Iterator[EmbeddedStore]:
    store = open_store(folder, VirtualClock(), None)
    assert finish(store.catalog.create(indexed)) is not None
    yield store
    store.close_now()


def indexed(table_id: int) -> Table:
    """A table with global indexes and a local index on `g`."""
    keys = [KeySchema(("g",), ("S",))] * (INDEXES - 1) + [KeySchema(("pk",), ("S",), ("g",), ("S",))]
    indexes = tuple(
        Index(number, f"by-g-{number}", is_global=number < INDEXES, keys=one, projection=PROJECTIONS[number % 2])
        for number, one in enumerate(keys, 1)
    )
    table = table_maker("orders")(table_id)
    return replace(
        table, indexes=indexes, next_index_id=INDEXES + 1, attribute_types={**table.attribute_types, "g": "S"}
    )


def table_of(store: EmbeddedStore) -> OpenTable:
    table = store.catalog.find("000000000000", "us-east-1", "orders")
    assert table is not None
    return table


def item_of(name: str, g: str, length: int) -> Item:
    return {"pk": {"S": name}, "sk": {"S": "0"}, "g": {"S": g}, "pad": {"S": "x" * length}}


def write(store: EmbeddedStore, name: str, g: str, length: int) -> Coroutine[Any, Any, Any]:
    """Put an item."""
    table, item = table_of(store), item_of(name, g, length)
    row = encode_row(*check_item(item))
    return settled(store.mutate(table, table.item_key(item), lambda _: row))


def begin(coroutine: Coroutine[Any, Any, Any], turns: int = 1) -> None:
    """Run the coroutine for `turns` turns; it must not end."""
    for _ in range(turns):
        coroutine.send(None)


def end(coroutine: Coroutine[Any, Any, T], turns_max: int = 100) -> T:
    """Run the coroutine to its end; return its result."""
    for _ in range(turns_max):
        try:
            coroutine.send(None)
        except StopIteration as stop:
            result: T = stop.value
            return result
    raise AssertionError("it never ends")


def entries(store: EmbeddedStore) -> list[int]:
    """The number of entries of each index; asserts that the statistics agree."""
    counts = [len(list(scan_prefix(store.engine, index.source_id))) for index in table_of(store).indexes]
    assert counts == [statistics_of(store, index.source_id).item_count for index in table_of(store).indexes]
    return counts


def left(engine: Engine) -> int:
    return len(list(scan_prefix(engine, layout.LATE_PREFIX)))


def item_row(store: EmbeddedStore, name: str) -> Row | None:
    table = table_of(store)
    return finish(store.get(table.source_id, table.item_key(item_of(name, "g", 1)), consistent=True))


def test_entries_come_one_by_one_before_the_writer_is_told(store: EmbeddedStore) -> None:
    writing = write(store, "a", "one", LARGE)
    begin(writing)
    assert (item_row(store, "a") is not None, entries(store), left(store.engine)) == (True, [0] * INDEXES, INDEXES)
    begin(writing)
    assert (sum(entries(store)), left(store.engine)) == (1, INDEXES - 1)
    end(writing)
    assert (entries(store), left(store.engine)) == ([1] * INDEXES, 0)


def test_nothing_is_noted_of_a_table_that_is_deleted_meanwhile(store: EmbeddedStore) -> None:
    writing = write(store, "a", "one", LARGE)
    begin(writing)
    finish(store.catalog.delete(table_of(store).schema))
    end(writing)
    assert (left(store.engine), store.site.changed_at) == (0, {})


def test_consistent_reads_of_its_indexes_wait(store: EmbeddedStore) -> None:
    end(write(store, "a", "one", SMALL))
    table = table_of(store)
    writing, other = write(store, "a", "two", LARGE), write(store, "b", "one", SMALL)
    begin(writing)

    def read(source: bytes, *, consistent: bool) -> Coroutine[Any, Any, Any]:
        return settled(store.page(source, scan_span(None, None), 10, 10_000, consistent=consistent))

    assert len(finish(read(table.source_id, consistent=True)).rows) == 1
    local = table.indexes[-1].source_id
    assert decode_row(finish(read(local, consistent=False)).rows[0])["g"] == {"S": "one"}
    reading = read(local, consistent=True)
    begin(reading, 3)
    end(writing)
    assert decode_row(end(reading).rows[0])["g"] == {"S": "two"}
    finish(other)
    assert len(finish(read(local, consistent=True)).rows) == 2


def test_few_bytes_are_one_commit(store: EmbeddedStore) -> None:
    finish(write(store, "a", "one", SMALL))
    assert entries(store) == [1] * INDEXES


def test_others_write_meanwhile_but_not_the_same_item(store: EmbeddedStore) -> None:
    writing, again = write(store, "a", "one", LARGE), write(store, "a", "two", SMALL)
    begin(writing, 2)
    begin(again, 3)
    end(write(store, "b", "one", SMALL))
    assert entries(store)[-1] == 1
    end(writing)
    assert entries(store) == [2] * INDEXES
    end(again)
    assert entries(store) == [2] * INDEXES
    assert left(store.engine) == 0


def test_entries_move_and_shrink(store: EmbeddedStore, folder: str) -> None:
    for g, length in (("one", LARGE), ("two", LARGE + 1), ("two", LARGE), ("three", SMALL), ("four", LARGE)):
        end(write(store, "a", g, length))
        assert entries(store) == [1] * INDEXES
    store.close_now()
    assert check_store(folder).faults == []


@pytest.mark.parametrize("turns", range(1, INDEXES + 1))
def test_what_a_kill_left_is_written_when_the_store_opens(store: EmbeddedStore, folder: str, turns: int) -> None:
    end(write(store, "a", "one", LARGE))
    writing = write(store, "a", "two", LARGE + 1)
    begin(writing, turns)
    writing.close()
    store.close_now()
    assert check_store(folder).faults == []
    again = open_store(folder, VirtualClock(), None)
    assert (entries(again), left(again.engine)) == ([1] * INDEXES, 0)
    end(write(again, "a", "three", SMALL))
    again.close_now()
    assert check_store(folder).faults == []


def test_a_start_waits_out_a_stalled_engine(store: EmbeddedStore, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a kill during heavy writing, the engine stalls until it has flushed."""
    writing = write(store, "a", "one", LARGE)
    begin(writing, 1)
    writing.close()
    store.close_now()
    stalls = iter(range(5))
    waited: list[float] = []
    written = Draft.write

    def stalled(draft: Draft) -> None:
        if next(stalls, None) is not None:
            raise Exception("Result incomplete: Write stall")  # noqa: TRY002 - the engine raises plain exceptions
        written(draft)

    monkeypatch.setattr(Draft, "write", stalled)
    monkeypatch.setattr(commits, "block_thread", waited.append)
    again = open_store(folder, VirtualClock(), None)
    assert (entries(again), left(again.engine)) == ([1] * INDEXES, 0)
    assert waited == list(STALL_DELAYS_SECONDS[:5])
    again.close_now()
    assert check_store(folder).faults == []


def test_what_nobody_finishes_a_job_does(store: EmbeddedStore) -> None:
    woken: list[bool] = []
    store.maintenance.on_work(lambda: woken.append(True))
    writing = write(store, "a", "one", LARGE)
    begin(writing, 2)
    with pytest.raises(StorageBusy):
        writing.throw(StorageBusy("for the test"))
    assert woken == [True]
    again = write(store, "a", "two", SMALL)
    begin(again, 2)
    while finish(store.maintenance.apply_delayed(10)) is not None:
        pass
    assert (entries(store), left(store.engine)) == ([1] * INDEXES, 0)
    end(again)


def test_of_an_index_that_is_deleted_meanwhile_nothing_is_written(store: EmbeddedStore, folder: str) -> None:
    writing = write(store, "a", "one", LARGE)
    begin(writing, 2)
    table = table_of(store).schema
    assert finish(store.catalog.replace(table, replace(table, indexes=table.indexes[2:])))
    end(writing)
    assert (entries(store), left(store.engine)) == ([1, 1], 0)
    store.close_now()
    assert check_store(folder).faults == []


def test_of_a_table_that_is_deleted_meanwhile_nothing_is_written(store: EmbeddedStore, folder: str) -> None:
    writing = write(store, "a", "one", LARGE)
    begin(writing, 2)
    assert finish(store.catalog.delete(table_of(store).schema))
    end(writing)
    assert left(store.engine) == 0
    store.close_now()
    assert check_store(folder).faults == []


def test_a_transaction_claims_all_its_items(store: EmbeddedStore) -> None:
    table = table_of(store)

    def step(name: str) -> TransactionStep:
        item = item_of(name, "one", LARGE)
        row = encode_row(*check_item(item))
        return TransactionStep(table, table.item_key(item), lambda _: row)

    transacting = store.transact([step("a"), step("b")], None)
    begin(transacting, 2)
    others = [write(store, name, "two", SMALL) for name in "ab"]
    for other in others:
        begin(other, 2)
    end(transacting)
    assert entries(store) == [2] * INDEXES
    for other in others:
        end(other)
    assert left(store.engine) == 0


def test_a_transaction_that_changes_nothing_of_a_table_with_indexes(store: EmbeddedStore) -> None:
    """Participants of a table are not called when a transaction does not change the table."""
    table = table_of(store)
    other = finish(store.catalog.create(table_maker("other")))
    assert other is not None
    item = item_of("a", "one", SMALL)
    row, other_row = encode_row(*check_item(item)), encode_row(*check_item({"pk": {"S": "b"}, "sk": {"S": "b"}}))
    end(write(store, "a", "one", SMALL))
    steps = [
        TransactionStep(table, table.item_key(item), lambda old: old),
        TransactionStep(other, other.item_key({"pk": {"S": "b"}, "sk": {"S": "b"}}), lambda _: other_row),
    ]
    transacted = end(store.transact(steps, None))
    assert [change.new for change in transacted.changes] == [row, other_row]
    assert entries(store) == [1] * INDEXES


def test_another_engine_ends_it(store: EmbeddedStore, tmp_path: Path) -> None:
    writing = write(store, "a", "one", LARGE)
    begin(writing, 2)
    former = replace_engine(store, open_engine(str(tmp_path / "second")))
    end(writing)
    assert left(store.engine) == 0
    assert finish(store.catalog.create(indexed)) is not None
    end(write(store, "a", "two", LARGE))
    assert entries(store) == [1] * INDEXES
    former.close()


def test_with_a_delay_no_entry_is_late(folder: str) -> None:
    store = open_store(folder, VirtualClock(), None, Options(lambda: 1.0))
    assert finish(store.catalog.create(indexed)) is not None
    finish(write(store, "a", "one", LARGE))
    assert (entries(store), left(store.engine)) == ([0, 0, 0, 1], 0)
    store.close_now()


def test_an_item_that_was_claimed_already_stays_claimed(store: EmbeddedStore) -> None:
    """A plan that lost once already holds a claim on its item, and its commit takes another one."""
    key = table_of(store).item_key(item_of("a", "g", 1))
    claims = store._claims
    finish(claims.claim([table_of(store).source_id + key]))
    claims.take([table_of(store).source_id + key])
    claims.release([table_of(store).source_id + key])
    waiting = write(store, "a", "one", SMALL)
    begin(waiting, 2)
    claims.release([table_of(store).source_id + key])
    end(waiting)
