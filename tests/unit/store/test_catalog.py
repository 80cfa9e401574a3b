"""Tables: created once, replaced by compare-and-swap, deleted with all their data; ids are never reused."""

import asyncio
import weakref
from pathlib import Path

import pytest
from msgspec.structs import replace

from hashrange.clock import SystemClock
from hashrange.items.types import Key
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.index_entries import IndexEntries
from hashrange.store.interface import DelayOf
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.span import Span
from tests.support.samples import finish, row_of, statistics_of, table_maker
from tests.unit.store.test_late_entries import indexed

ACCOUNT, REGION = "000000000000", "us-east-1"


def create(store: EmbeddedStore, name: str, **place: str) -> OpenTable:
    table = finish(store.catalog.create(table_maker(name, **place)))
    assert table is not None
    return table


def test_a_created_table_is_found_by_its_place_only(store: EmbeddedStore) -> None:
    table = create(store, "orders")
    assert store.catalog.find(ACCOUNT, REGION, "orders") is table
    assert store.catalog.find(ACCOUNT, "eu-west-1", "orders") is None
    assert store.catalog.find("111111111111", REGION, "orders") is None


def test_a_taken_name_creates_nothing(store: EmbeddedStore) -> None:
    table = create(store, "orders")
    position = store.position()
    assert finish(store.catalog.create(table_maker("orders"))) is None
    assert store.position() == position
    assert store.catalog.find(ACCOUNT, REGION, "orders") is table


def test_names_are_taken_per_account_and_region(store: EmbeddedStore) -> None:
    ids = {create(store, "t").table_id, create(store, "t", region="eu-west-1").table_id}
    ids.add(create(store, "t", account="111111111111").table_id)
    assert len(ids) == 3
    assert sorted(store.catalog.elsewhere("t")) == [
        (ACCOUNT, "eu-west-1"),
        (ACCOUNT, REGION),
        ("111111111111", REGION),
    ]
    assert not store.catalog.elsewhere("unknown")


def test_a_view_is_live(store: EmbeddedStore) -> None:
    view = store.catalog.tables(ACCOUNT, REGION)
    assert dict(view) == {}
    table = create(store, "orders")
    assert view["orders"] is table
    finish(store.catalog.delete(table.schema))
    assert dict(view) == {}


def test_a_place_without_tables_is_kept_while_somebody_asks_for_it(store: EmbeddedStore) -> None:
    view = store.catalog.tables(ACCOUNT, REGION)
    for _ in range(2):
        table = create(store, "orders")
        finish(store.catalog.delete(table.schema))
        assert store.catalog.tables(ACCOUNT, REGION) is view
    kept = weakref.ref(view)
    del view
    assert kept() is None
    create(store, "orders")
    assert list(store.catalog.tables(ACCOUNT, REGION)) == ["orders"]
    unused = weakref.ref(store.catalog.tables("111111111111", REGION))
    assert unused() is None


def test_followers_hear_of_each_change(store: EmbeddedStore) -> None:
    seen: list[list[str]] = []
    told: list[tuple[OpenTable | None, OpenTable | None]] = []
    store.catalog.on_change(lambda *_: seen.append([table.name for table in store.catalog.all_tables()]))
    store.catalog.on_change(lambda before, after: told.append((before, after)))
    created = create(store, "orders")
    first = created.schema
    assert seen == [["orders"]]
    assert store.catalog.find_id(first.table_id) is created
    assert finish(store.catalog.create(table_maker("orders"))) is None
    assert not finish(store.catalog.replace(replace(first, uuid="late"), first))
    assert len(seen) == 1, "nothing has changed"
    assert finish(store.catalog.replace(first, replace(first, is_deletion_protected=True)))
    assert seen[1:] == [["orders"]]
    opened = store.catalog.find(ACCOUNT, REGION, "orders")
    assert opened is not None
    finish(store.catalog.delete(opened.schema))
    assert seen[2:] == [[]]
    assert told == [(None, created), (created, opened), (opened, None)]
    store.load()
    assert told[3:] == [(None, None)]
    assert store.catalog.find_id(first.table_id) is None


def set_delay(store: EmbeddedStore, draw: DelayOf | None) -> None:
    with store.maintenance.ready_for_delay(is_wanted=draw is not None):
        store.maintenance.delay_index_entries(draw, 1.0)


def test_tables_are_opened_anew_as_they_were(store: EmbeddedStore) -> None:
    before = finish(store.catalog.create(indexed))
    assert before is not None
    other = create(store, "others")
    told: list[object] = []
    store.catalog.on_change(lambda *change: told.append(change))
    set_delay(store, lambda *_: 1.0)
    set_delay(store, None)
    assert store.catalog.find(ACCOUNT, REGION, "orders") is before, "nothing has been written to it"
    for table in (before, other):
        finish(store.mutate(table, Key(b"k"), lambda _: None))
    set_delay(store, None)
    assert store.catalog.find(ACCOUNT, REGION, "orders") is before, "there was no delay, and there is none"
    set_delay(store, lambda *_: 1.0)
    assert store.catalog.find(ACCOUNT, REGION, "others") is other, "each table that is opened anew takes 6 µs"
    after = store.catalog.find(ACCOUNT, REGION, "orders")
    assert after is not None
    assert after is not before
    assert after is store.catalog.find_id(before.table_id)
    for name in vars(before):
        assert getattr(after, name) is getattr(before, name)
    finish(store.mutate(after, Key(b"k"), lambda _: None))
    set_delay(store, lambda *_: 2.0)
    assert store.catalog.find(ACCOUNT, REGION, "orders") is after, "it was delayed before"
    set_delay(store, None)
    assert store.catalog.find(ACCOUNT, REGION, "orders") is not after
    assert not told, "neither its description nor its partitions have changed"


def test_tables_that_nobody_takes_part_in_are_asked_for_no_walks(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each, that took 3 µs of a restore, in which others wait."""
    create(store, "others")
    orders = finish(store.catalog.create(indexed))
    assert orders is not None
    asked: list[str] = []

    def noted(_: IndexEntries, table: Table) -> tuple[bytes, ...]:
        asked.append(table.name)
        return ()

    monkeypatch.setattr(IndexEntries, "walks", noted)
    store.load()
    assert asked == [orders.name]


def test_replace_needs_what_is_stored(store: EmbeddedStore) -> None:
    first = create(store, "orders").schema
    second = replace(first, is_deletion_protected=True)
    assert finish(store.catalog.replace(first, second))
    opened = store.catalog.find(ACCOUNT, REGION, "orders")
    assert opened is not None
    assert opened.schema is second
    assert not finish(store.catalog.replace(first, replace(first, uuid="late")))
    assert store.catalog.find(ACCOUNT, REGION, "orders") is opened


def test_delete_needs_what_is_stored(store: EmbeddedStore) -> None:
    first = create(store, "orders").schema
    second = replace(first, is_deletion_protected=True)
    finish(store.catalog.replace(first, second))
    assert not finish(store.catalog.delete(first))
    assert finish(store.catalog.delete(second))
    assert not finish(store.catalog.delete(second))


def test_what_was_noted_of_commits_goes_with_the_table(store: EmbeddedStore) -> None:
    """An entry stayed for every table that was ever written."""
    first, second = [create(store, name) for name in ("first", "second")]
    for table in (first, second):
        finish(store.mutate(table, Key(b"a"), lambda _: row_of(1)))
    written = store.position_of(second)
    assert finish(store.catalog.delete(first.schema))
    assert written < store.position_of(first) == store.position(), "a read that has begun waits for the deletion"
    assert list(store.site.changed_at) == [second.table_id]
    store.load()
    assert not store.site.changed_at
    assert store.position_of(second) <= store.durable_position()


def test_delete_takes_rows_and_figures_and_no_neighbour(store: EmbeddedStore) -> None:
    before, table, after = create(store, "a"), create(store, "b"), create(store, "c")
    for each in (before, table, after):
        finish(store.mutate(each, Key(b"k"), lambda _: row_of(10)))
    finish(store.catalog.delete(table.schema))
    span = Span(b"", b"\xff")
    assert finish(store.page(table.source_id, span, 9, 999, consistent=True)).rows == []
    assert statistics_of(store, table.source_id) == Statistics(0, 0)
    for each in (before, after):
        assert len(finish(store.page(each.source_id, span, 9, 999, consistent=True)).rows) == 1
        assert statistics_of(store, each.source_id) == Statistics(1, 10)


def test_everything_is_there_after_reopening_and_ids_go_on(tmp_path: Path) -> None:
    data_dir = str(tmp_path / "data")
    store = open_store(data_dir, SystemClock(), None)
    kept, gone = create(store, "kept"), create(store, "gone")
    finish(store.mutate(kept, Key(b"k"), lambda _: row_of(10)))
    finish(store.catalog.delete(gone.schema))
    store.close_now()
    store = open_store(data_dir, SystemClock(), None)
    found = store.catalog.find(ACCOUNT, REGION, "kept")
    assert found is not None
    assert found.schema == kept.schema
    assert store.catalog.find(ACCOUNT, REGION, "gone") is None
    assert statistics_of(store, kept.source_id) == Statistics(1, 10)
    assert create(store, "gone").table_id == gone.table_id + 1
    store.close_now()


def test_concurrent_creations_of_one_name_succeed_once(store: EmbeddedStore, loop: asyncio.AbstractEventLoop) -> None:
    async def race() -> list[OpenTable | None]:
        return await asyncio.gather(*(store.catalog.create(table_maker("t")) for _ in range(5)))

    made = loop.run_until_complete(race())
    assert sum(table is not None for table in made) == 1
