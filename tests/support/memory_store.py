"""The smallest store that keeps the promises of `hashrange.store.interface`: dicts, and durability that a test can hold back."""

from bisect import bisect_left
from collections.abc import Callable, Mapping

from hashrange.errors import StorageError
from hashrange.items.rows import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.store.interface import Page, Span, Statistics
from hashrange.tables.change import Change, Plan
from hashrange.tables.schema import Table


class MemoryCatalog:
    """Tables in a dict."""

    def __init__(self, store: "MemoryStore") -> None:
        self._store = store
        self._scopes: dict[tuple[str, str], dict[str, Table]] = {}
        self._next_id = 1

    def tables(self, account: str, region: str) -> Mapping[str, Table]:
        """A live view."""
        return self._scopes.setdefault((account, region), {})

    def find(self, account: str, region: str, name: str) -> Table | None:
        """The table, if there is one."""
        return self.tables(account, region).get(name)

    def elsewhere(self, name: str) -> list[tuple[str, str]]:
        """Where tables of that name are."""
        return [place for place, tables in self._scopes.items() if name in tables]

    async def create(self, make: Callable[[int], Table]) -> Table | None:
        """Store a new table."""
        table = make(self._next_id)
        tables = self._scopes.setdefault((table.account, table.region), {})
        if table.name in tables:
            return None
        self._next_id += 1
        tables[table.name] = table
        self._store.commit()
        return table

    async def replace(self, old: Table, new: Table) -> bool:
        """Swap a table."""
        if self.find(old.account, old.region, old.name) != old:
            return False
        self._scopes[old.account, old.region][old.name] = new
        self._store.commit()
        return True

    async def delete(self, table: Table) -> bool:
        """Remove a table."""
        if self.find(table.account, table.region, table.name) != table:
            return False
        del self._scopes[table.account, table.region][table.name]
        self._store.rows.pop(table.source, None)
        self._store.commit()
        return True


class MemoryStore:
    """Rows in dicts. `hold_durability()` makes commits wait until `release_durability()`."""

    def __init__(self) -> None:
        self.catalog = MemoryCatalog(self)
        self.rows: dict[bytes, dict[Key, Row]] = {}
        self._position = 0
        self._durable = 0
        self._is_held = False
        self._waiting: list[tuple[int, Callable[[StorageError | None], None]]] = []

    async def get(self, source: bytes, key: Key, *, consistent: bool) -> Row | None:
        """One row."""
        return self.rows.get(source, {}).get(key)

    async def page(self, source: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Page:
        """Rows of a span."""
        rows = self.rows.get(source, {})
        keys = sorted(rows)
        keys = keys[bisect_left(keys, span.lower) : bisect_left(keys, span.upper)]
        if span.is_reverse:
            keys.reverse()
        found: list[Row] = []
        size_bytes = 0
        for key in keys:
            found.append(rows[key])
            size_bytes += row_size_bytes(rows[key])
            if len(found) >= limit_rows or size_bytes >= limit_bytes:
                return Page(found, size_bytes, key, False)
        return Page(found, size_bytes, keys[-1] if keys else None, True)

    async def mutate(self, table: Table, key: Key, plan: Plan) -> Change:
        """One write."""
        rows = self.rows.setdefault(table.source, {})
        old = rows.get(key)
        new = plan(old)
        if new is None:
            rows.pop(key, None)
        else:
            rows[key] = new
        if new != old:
            self.commit()
        return Change(table, key, old, new)

    def statistics(self, source: bytes) -> Statistics:
        """Counted at the moment."""
        rows = self.rows.get(source, {})
        return Statistics(len(rows), sum(map(row_size_bytes, rows.values())))

    def commit(self) -> None:
        """Advance the position."""
        self._position += 1
        if not self._is_held:
            self._durable = self._position

    def position(self) -> int:
        """Commits so far."""
        return self._position

    def durable_position(self) -> int:
        """Durable commits so far."""
        return self._durable

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        """Call back once durable."""
        if self._durable >= position:
            callback(None)
        else:
            self._waiting.append((position, callback))

    def hold_durability(self) -> None:
        """From now on nothing becomes durable."""
        self._is_held = True

    def release_durability(self, error: StorageError | None = None) -> None:
        """Everything becomes durable, or everything that waits hears of the error."""
        self._is_held = False
        self._durable = self._position
        waiting, self._waiting = self._waiting, []
        for _, callback in waiting:
            callback(error)

    async def close(self) -> None:
        """Nothing to do."""
