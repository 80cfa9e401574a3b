"""Reads and writes of single rows: results and statistics, without suspending."""

import pytest

from hashrange.errors import ConditionalCheckFailedException
from hashrange.items.row_layout import PLAIN_VERSION
from hashrange.items.rows import encode_row
from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore
from hashrange.store.interface import TransactionStep
from hashrange.store.statistics import Statistics
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from tests.support.samples import finish, row_of, statistics_of, table_maker

KEY = Key(b"key")


def put(store: EmbeddedStore, table: OpenTable, key: bytes, row: Row | None) -> None:
    finish(store.mutate(table, Key(key), lambda _: row))


def test_a_written_row_is_read_back(store: EmbeddedStore, table: OpenTable) -> None:
    row = row_of(10)
    change = finish(store.mutate(table, KEY, lambda old: row))
    assert change == Change(table, KEY, None, row, position=store.position())
    assert finish(store.get(table.source_id, KEY, consistent=True)) == row


def test_a_missing_row_is_none(store: EmbeddedStore, table: OpenTable) -> None:
    assert finish(store.get(table.source_id, KEY, consistent=True)) is None


def test_a_plan_sees_the_old_row_and_may_delete_it(store: EmbeddedStore, table: OpenTable) -> None:
    put(store, table, KEY, row_of(10))
    change = finish(store.mutate(table, KEY, lambda old: None))
    assert change.old == row_of(10)
    assert finish(store.get(table.source_id, KEY, consistent=True)) is None


def test_a_refusing_plan_leaves_nothing(store: EmbeddedStore, table: OpenTable) -> None:
    put(store, table, KEY, row_of(10))
    position = store.position()

    def refuse(old: Row | None) -> Row | None:
        raise ConditionalCheckFailedException("no")

    with pytest.raises(ConditionalCheckFailedException):
        finish(store.mutate(table, KEY, refuse))
    assert finish(store.get(table.source_id, KEY, consistent=True)) == row_of(10)
    assert store.position() == position


@pytest.mark.parametrize("row", [row_of(10), None])
def test_a_row_that_stays_the_same_is_no_commit(store: EmbeddedStore, table: OpenTable, row: Row | None) -> None:
    put(store, table, KEY, row)
    position = store.position()
    put(store, table, KEY, row)
    assert store.position() == position


def test_each_change_is_one_commit(store: EmbeddedStore, table: OpenTable) -> None:
    position = store.position()
    put(store, table, KEY, row_of(10, b"a"))
    put(store, table, KEY, row_of(10, b"b"))
    put(store, table, KEY, row_of(11, b"b"))
    put(store, table, KEY, None)
    assert store.position() == position + 4


def test_statistics_follow_every_kind_of_change(store: EmbeddedStore, table: OpenTable) -> None:
    assert statistics_of(store, table.source_id) == Statistics(0, 0)
    put(store, table, b"a", row_of(10))
    put(store, table, b"b", row_of(5))
    assert statistics_of(store, table.source_id) == Statistics(2, 15)
    put(store, table, b"b", row_of(5, b"other"))
    assert statistics_of(store, table.source_id) == Statistics(2, 15)
    put(store, table, b"b", row_of(7))
    assert statistics_of(store, table.source_id) == Statistics(2, 17)
    put(store, table, b"a", None)
    assert statistics_of(store, table.source_id) == Statistics(1, 7)


def test_tables_do_not_share_rows(store: EmbeddedStore, table: OpenTable) -> None:
    other = finish(store.catalog.create(table_maker("others")))
    assert other is not None
    put(store, table, KEY, row_of(10))
    assert finish(store.get(other.source_id, KEY, consistent=True)) is None
    assert statistics_of(store, other.source_id) == Statistics(0, 0)


def test_an_empty_key_and_an_empty_table_id_neighbour_are_ordinary(store: EmbeddedStore, table: OpenTable) -> None:
    put(store, table, b"", row_of(1))
    assert finish(store.get(table.source_id, Key(b""), consistent=False)) == row_of(1)


def test_a_row_of_the_same_item_in_another_layout_is_kept_and_nothing_follows(
    store: EmbeddedStore, table: OpenTable
) -> None:
    row = encode_row({"pk": {"S": "a"}, "n": {"NS": ["1"]}}, 6)
    older = Row(bytes((PLAIN_VERSION,)) + row[1:])
    for new in (row, older, row):
        position = store.position()
        change = finish(store.mutate(table, KEY, lambda _, new=new: new))  # type: ignore[misc]
        assert (change.new, store.position()) == (new, position + 1)
        assert finish(store.get(table.source_id, KEY, consistent=True)) == new
    transacted = finish(store.transact([TransactionStep(table, KEY, lambda _: older)], None))
    assert transacted.changes[0].new == older
    assert finish(store.get(table.source_id, KEY, consistent=True)) == older
    assert finish(store.statistics([table.source_id])) == {table.source_id: Statistics(1, 6)}
