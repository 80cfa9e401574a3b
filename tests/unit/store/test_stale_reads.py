"""Injected stale reads: only for eventually consistent reads, and only of the previous row."""

import pytest

from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from tests.support.samples import finish, row_of
from tests.support.wrapped_stores.stale_reads import REMEMBERED_CHANGES_MAX, StaleReads

KEY = Key(b"k")
OLD, NEW = row_of(1, b"old"), row_of(1, b"new")


def seen(store: StaleReads, table: OpenTable, key: Key = KEY, *, consistent: bool) -> set[Row | None]:
    return {finish(store.get(table.source_id, key, consistent=consistent)) for _ in range(50)}


@pytest.mark.parametrize("is_transaction", [False, True])
def test_only_reads_that_need_not_be_consistent_are_stale(
    store: EmbeddedStore, table: OpenTable, is_transaction: bool
) -> None:
    stale = StaleReads(store, 5)
    for row in (OLD, NEW):
        if is_transaction:
            finish(stale.transact([TransactionStep(table, KEY, lambda _, row=row: row)], None))  # type: ignore[misc]
        else:
            finish(stale.mutate(table, KEY, lambda _, row=row: row))  # type: ignore[misc]
    assert seen(stale, table, consistent=True) == {NEW}
    assert stale.stale_reads == 0
    assert seen(stale, table, consistent=False) == {OLD, NEW}
    assert stale.stale_reads > 0


def test_a_write_that_changes_nothing_leaves_what_was_before(store: EmbeddedStore, table: OpenTable) -> None:
    stale = StaleReads(store, 5)
    for row in (OLD, NEW, NEW):
        finish(stale.mutate(table, KEY, lambda _, row=row: row))  # type: ignore[misc]
    assert seen(stale, table, consistent=False) == {OLD, NEW}


def test_the_past_is_bounded(store: EmbeddedStore, table: OpenTable) -> None:
    stale = StaleReads(store, 5)
    for number in range(REMEMBERED_CHANGES_MAX + 1):
        finish(stale.mutate(table, Key(b"%d" % number), lambda _: NEW))
    assert seen(stale, table, Key(b"0"), consistent=False) == {NEW}
    assert seen(stale, table, Key(b"1"), consistent=False) == {None, NEW}
