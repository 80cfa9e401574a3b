"""A witness sees the changes of every commit, whoever has made it, right after it; without one, nothing is shown."""

from collections.abc import Sequence
from typing import Any

from hashrange.clock import VirtualClock
from hashrange.items.types import Key
from hashrange.store.embedded import open_store
from hashrange.store.interface import TransactionStep
from hashrange.tables.change import Change
from tests.support.samples import finish, row_of, table_maker


def test_a_witness_sees_what_changes() -> None:
    store = open_store(None, VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    seen: list[list[tuple[bytes, Any, Any]]] = []

    def see(changes: Sequence[Change]) -> None:
        seen.append([(change.key, change.old, change.new) for change in changes])
        assert all(store.get(change.table.source_id, change.key, consistent=True) == change.new for change in changes)

    def write(key: bytes, number: int | None) -> None:
        finish(store.mutate(table, Key(key), lambda _: None if number is None else row_of(number)))

    write(b"before", 1)
    store.maintenance.on_changes(see)
    write(b"a", 1)
    write(b"a", 1)  # changes nothing
    write(b"a", 2)
    finish(store.transact([TransactionStep(table, Key(key), lambda _: row_of(2)) for key in (b"a", b"b", b"c")], None))
    write(b"a", None)
    other = finish(store.catalog.create(table_maker("other")))
    assert other is not None
    finish(store.mutate(other, Key(b"d"), lambda _: row_of(1)))
    store.maintenance.on_changes(None)
    write(b"b", 3)
    assert seen == [
        [(b"a", None, row_of(1))],
        [(b"a", row_of(1), row_of(2))],
        [(b"b", None, row_of(2)), (b"c", None, row_of(2))],
        [(b"a", row_of(2), None)],
        [(b"d", None, row_of(1))],
    ]
    assert all(not one.participants for one in store.catalog.all_tables())  # type: ignore[attr-defined]
    store.close_now()
