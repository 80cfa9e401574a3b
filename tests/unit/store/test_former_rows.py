"""While a table is copied, its writes keep former rows, once for each item and copy; what has been kept is not looked
for with each later write.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore, layout, open_store, staged_rows
from hashrange.store.embedded.staged_rows import StagedRows
from hashrange.store.row_copies import CopiedRows
from hashrange.tables.open_table import OpenTable
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker

MANY = 1_000_000
KEYS = [Key(b"%08d" % number) for number in range(5)]


class Looking:
    """An engine that counts the reads of former rows."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.looks = 0

    def get(self, key: bytes, *arguments: Any) -> object:
        self.looks += key.startswith(layout.STAGED_PREFIX)
        return self.engine.get(key, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


class World:
    """A table with a row at each of KEYS, and copies of it."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        table = finish(store.catalog.create(table_maker("orders")))
        assert table is not None
        self.table: OpenTable = table
        self.write(b"first")
        self.participant = next(one for one in store.site.tables.participants if isinstance(one, StagedRows))
        store.site.engine = self.engine = Looking(store.engine)

    def write(self, text: bytes) -> None:
        """Replace all rows."""
        for key in KEYS:
            finish(self.store.mutate(self.table, key, lambda _: row_of(1, text)))

    def begin(self, owner: str) -> None:
        assert finish(self.store.row_copies.begin(owner, self.table.schema))

    def copied(self, owner: str) -> list[Row]:
        """The rows that the copy sees."""
        found: CopiedRows = finish(self.store.row_copies.read(owner, Key(b""), MANY))
        return [row for _, row in found.rows]


@pytest.fixture
def world() -> Iterator[World]:
    store = open_store(None, VirtualClock(), None)
    yield World(store)
    store.close_now()


def test_former_rows_are_looked_for_until_they_are_found(world: World) -> None:
    world.begin("one")
    for text in (b"other", b"third"):  # keeps the rows, and finds them
        world.write(text)
    looks = world.engine.looks
    world.write(b"later")
    assert world.engine.looks == looks > 0
    assert world.copied("one") == [row_of(1, b"first")] * len(KEYS)


def test_each_copy_keeps_its_own(world: World) -> None:
    world.begin("one")
    world.write(b"other")
    world.begin("two")
    for text in (b"third", b"later"):
        world.write(text)
    assert world.copied("one") == [row_of(1, b"first")] * len(KEYS)
    assert world.copied("two") == [row_of(1, b"other")] * len(KEYS)


def test_a_copy_with_the_number_of_one_that_has_ended_keeps_rows_anew(world: World) -> None:
    world.begin("one")
    for text in (b"other", b"third"):
        world.write(text)
    finish(world.store.row_copies.end("one"))
    world.begin("two")
    world.write(b"later")
    assert world.copied("two") == [row_of(1, b"third")] * len(KEYS)


def test_few_are_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_rows, "FOUND_KEYS_MAX", 2)
    world.begin("one")
    for text in (b"other", b"third", b"later"):
        world.write(text)
    (found,) = world.participant._found.values()
    assert 0 < len(found) <= 2
    assert world.copied("one") == [row_of(1, b"first")] * len(KEYS)
