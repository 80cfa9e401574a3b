"""Injected faults occur where requested, or by seed, and always before the call has any effect."""

import pytest

from hashrange.errors import StorageBusy, StorageFull
from hashrange.items.types import Key
from hashrange.store.embedded import EmbeddedStore
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from tests.support.samples import finish, row_of
from tests.support.wrapped_stores.faulty import FaultyStore

KEY, ROW = Key(b"k"), row_of(5)


def test_a_method_fails_behind_so_many_calls_and_nothing_is_done(store: EmbeddedStore, table: OpenTable) -> None:
    faulty = FaultyStore(store)
    faulty.fail("mutate", StorageFull("full"), after_calls=1)
    finish(faulty.mutate(table, KEY, lambda _: ROW))
    position = faulty.position()
    for _ in range(2):
        with pytest.raises(StorageFull):
            finish(faulty.mutate(table, KEY, lambda _: None))
    assert finish(faulty.get(table.source_id, KEY, consistent=True)) == ROW
    assert (faulty.position(), faulty.calls["mutate"], faulty.faults) == (position, 3, 2)
    faulty.mend()
    finish(faulty.mutate(table, KEY, lambda _: None))


def test_the_same_seed_gives_the_same_faults(store: EmbeddedStore, table: OpenTable) -> None:
    def faults(seed: int) -> list[bool]:
        faulty = FaultyStore(store, seed, busy_probability=0.5)
        found = []
        for _ in range(40):
            try:
                finish(faulty.transact([TransactionStep(table, KEY, lambda _: ROW)], None))
            except StorageBusy:
                found.append(True)
            else:
                found.append(False)
        assert sum(found) == faulty.faults
        return found

    first = faults(1)
    assert first == faults(1) != faults(2)
    assert {True, False} == set(first)
