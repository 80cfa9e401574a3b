"""Random operations on a store compared with two dicts, with restarts: both must always give the same result."""

import random
from pathlib import Path

import pytest

from hashrange.clock import SystemClock
from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.tables.open_table import OpenTable
from hashrange.tables.span import Span
from tests.support.samples import finish, row_of, statistics_of, table_maker

STEPS = 1500
NAMES = ("a", "b", "c")
KEYS = [bytes((first, second)) for first in (0, 1, 127, 255) for second in (0, 7, 255)] + [b"", b"\0", b"\xff"]


class Model:
    """The expected content of a store: per table name, key → row."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[bytes, Row]] = {}

    def page(self, name: str, span: Span, limit_rows: int, limit_bytes: int) -> tuple[list[Row], bool]:
        """Rows, and whether the span ended, as `Store.page` defines it."""
        rows = self.tables[name]
        keys = sorted((key for key in rows if span.lower <= key < span.upper), reverse=span.is_reverse)
        found: list[Row] = []
        size_bytes = 0
        for key in keys:
            found.append(rows[key])
            size_bytes += int.from_bytes(rows[key][1:5], "big")
            if len(found) == limit_rows or size_bytes >= limit_bytes:
                return found, False
        return found, True


class Walk:
    """One random walk over a store and its model."""

    def __init__(self, data_dir: str | None, seed: int) -> None:
        self.chance = random.Random(seed)
        self.data_dir = data_dir
        self.store: EmbeddedStore = open_store(data_dir, SystemClock(), None)
        self.model = Model()

    def table(self, name: str) -> OpenTable | None:
        """The table as the store knows it."""
        return self.store.catalog.find("000000000000", "us-east-1", name)

    def step(self) -> None:
        """Run one operation, on a table that exists or not."""
        name = self.chance.choice(NAMES)
        table = self.table(name)
        assert (table is not None) == (name in self.model.tables)
        if table is None:
            assert finish(self.store.catalog.create(table_maker(name))) is not None
            self.model.tables[name] = {}
            return
        weights = {self.write: 60, self.read: 20, self.page: 30, self.drop: 1, self.create_again: 1}
        (action,) = self.chance.choices(list(weights), list(weights.values()))
        action(name, table)
        sizes = [int.from_bytes(row[1:5], "big") for row in self.model.tables.get(name, {}).values()]
        assert statistics_of(self.store, table.source_id) == (len(sizes), sum(sizes))

    def write(self, name: str, table: OpenTable) -> None:
        """Insert, replace or delete a row."""
        key = self.chance.choice(KEYS)
        rows = self.model.tables[name]
        new = None if self.chance.random() < 0.3 else row_of(self.chance.randint(1, 3), self.chance.randbytes(1))
        change = finish(self.store.mutate(table, Key(key), lambda _: new))
        assert (change.old, change.new) == (rows.get(key), new)
        if new is None:
            rows.pop(key, None)
        else:
            rows[key] = new

    def read(self, name: str, table: OpenTable) -> None:
        """Read one row."""
        key = self.chance.choice(KEYS)
        row = finish(self.store.get(table.source_id, Key(key), consistent=self.chance.random() < 0.5))
        assert row == self.model.tables[name].get(key)

    def page(self, name: str, table: OpenTable) -> None:
        """Read a span with limits."""
        span = Span(self.chance.choice(KEYS), self.chance.choice(KEYS), self.chance.random() < 0.5)
        limits = self.chance.randint(1, 20), self.chance.randint(1, 40)
        page = finish(self.store.page(table.source_id, span, *limits, consistent=True))
        assert (page.rows, page.last_key is None) == self.model.page(name, span, *limits)

    def drop(self, name: str, table: OpenTable) -> None:
        """Delete the table."""
        assert finish(self.store.catalog.delete(table.schema))
        del self.model.tables[name]

    def create_again(self, name: str, _table: OpenTable) -> None:
        """Create a table whose name is taken."""
        assert finish(self.store.catalog.create(table_maker(name))) is None

    def restart(self) -> None:
        """Close and open the store; on disk only."""
        self.store.close_now()
        self.store = open_store(self.data_dir, SystemClock(), None)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["disk", "memory"])
def test_a_store_is_a_dictionary_per_table(tmp_path: Path, mode: str, seed: int) -> None:
    walk = Walk(str(tmp_path / "data") if mode == "disk" else None, seed)
    for _ in range(STEPS):
        walk.step()
        if mode == "disk" and walk.chance.random() < 0.005:
            walk.restart()
    walk.store.close_now()
