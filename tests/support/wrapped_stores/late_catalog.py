"""What if other servers change tables? For tests: a wrapper of a store whose catalog learns late of changes
made through other wrappers.

Several wrappers of one store stand for several servers, each with its own view of the catalog. A view has the changes
made through its own wrapper at once, other changes with some later call, drawn from a seed, or after a look-up; it
hears of some tables earlier than of others, so that it holds deleted tables, former ones, and some as they were before
a change. Rows are read from the inner store, which refuses those of tables and indexes that no longer exist.
"""

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from hashrange.errors import ResourceNotFoundException
from hashrange.items.types import Key, Row
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.soon import Soon
from hashrange.store.interface import Catalog, Page, Payer, TableChanged, WholeStore
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.schema import Table
from hashrange.tables.source_id import table_id_of
from hashrange.tables.span import Span
from hashrange.vectors.search import FoundEntries, VectorQuery
from tests.support.wrapped_stores.wrapped import WrappedStore

HEARING_PROBABILITY = 0.05
"""Probability, for each table, that a call of the store first brings it up to date in the wrapper's late views."""

P = ParamSpec("P")
T = TypeVar("T")


class LateCatalog:
    """A catalog with views of the inner catalog, one for each account and Region, that may be out of date."""

    is_late = True

    def __init__(self, inner: Catalog) -> None:
        self._inner = inner
        self._views: dict[tuple[str, str], dict[str, OpenTable]] = {}
        self.look_ups = 0
        """Number of calls of `look_up`, for tests."""

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """The table of that name in the view of this account and Region; None if the view has none."""
        return self.tables(account, region).get(name)

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """A live view: name → table. At the first call for an account and Region it has all current tables."""
        return self._view(account, region)

    def elsewhere(self, name: str) -> Collection[tuple[str, str]]:
        """Delegates to the inner catalog."""
        return self._inner.elsewhere(name)

    def all_tables(self) -> Sequence[OpenTable]:
        """Delegates to the inner catalog."""
        return self._inner.all_tables()

    def importing(self) -> Sequence[OpenTable]:
        """Delegates to the inner catalog."""
        return self._inner.importing()

    def find_id(self, table_id: int) -> OpenTable | None:
        """Delegates to the inner catalog."""
        return self._inner.find_id(table_id)

    def on_change(self, changed: TableChanged) -> None:
        """Delegates to the inner catalog."""
        self._inner.on_change(changed)

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Refresh these names in the view; True if that changed the view."""
        self.look_ups += 1
        have_changed = [self._refresh(account, region, name) for name in names]
        return any(have_changed)

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Create the table, or return None if its name is taken; the view then has the table of that name."""
        wanted: list[Table] = []

        def make_noted(table_id: int) -> Table:
            wanted.append(make(table_id))
            return wanted[-1]

        table = await self._inner.create(make_noted)
        self._refresh(wanted[-1].account, wanted[-1].region, wanted[-1].name)
        return table

    async def replace(self, old: Table, new: Table) -> bool:
        """Replace the table, or return False; the view then has the stored table of that name, if any."""
        is_done = await self._inner.replace(old, new)
        self._refresh(old.account, old.region, old.name)
        return is_done

    async def delete(self, table: Table) -> bool:
        """Delete the table, or return False; the view then has the stored table of that name, if any."""
        is_done = await self._inner.delete(table)
        self._refresh(table.account, table.region, table.name)
        return is_done

    def hear(self, chance: Callable[[], float]) -> None:
        """Bring some names of all views up to date."""
        for (account, region), view in self._views.items():
            for name in sorted({*view, *self._inner.tables(account, region)}):
                if chance() < HEARING_PROBABILITY:
                    self._refresh(account, region, name)

    def require(self, source_ids: Iterable[bytes]) -> None:
        """Raise ResourceNotFoundException unless these tables and indexes still exist."""
        for source_id in source_ids:
            table = self._inner.find_id(table_id_of(source_id))
            sources = [] if table is None else [table.source_id, *[one.source_id for one in table.entry_sources]]
            if source_id not in sources:
                raise ResourceNotFoundException(RESOURCE_NOT_FOUND)

    def _view(self, account: str, region: str) -> dict[str, OpenTable]:
        view = self._views.get((account, region))
        if view is None:
            view = self._views[account, region] = dict(self._inner.tables(account, region))
        return view

    def _refresh(self, account: str, region: str, name: str) -> bool:
        """Refresh one name in the view; True if that changed the view."""
        view = self._view(account, region)
        seen, table = view.pop(name, None), self._inner.find(account, region, name)
        if table is not None:
            view[name] = table
        return seen is not table


class LateCatalogStore(WrappedStore):
    """A wrapper, with a LateCatalog, of a store that other wrappers may share."""

    catalog: LateCatalog

    def __init__(self, inner: WholeStore, seed: int) -> None:
        super().__init__(inner)
        self._chance = random.Random(seed).random
        self.catalog = LateCatalog(inner.catalog)
        self.mutate, self.transact = self._hearing(inner.mutate), self._hearing(inner.transact)

    def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Soon[Row | None]:
        """The row at `key` of a table or index that exists."""
        self.catalog.require([source_id])
        return self._hearing(self.inner.get)(source_id, key, meter, consistent=consistent)

    def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, meter: Payer = None, *, consistent: bool
    ) -> Soon[Page]:
        """Rows of `span` of a table or index that exists."""
        self.catalog.require([source_id])
        return self._hearing(self.inner.page)(source_id, span, limit_rows, limit_bytes, meter, consistent=consistent)

    def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> Soon[FoundEntries]:
        """Search a vector index that exists."""
        self.catalog.require([source.source_id])
        return self._hearing(self.inner.search_vectors)(table, source, query, meter)

    async def snapshot_get(
        self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int, meter: Payer = None
    ) -> list[Row | None]:
        """The rows at `places`, of tables that exist."""
        self.catalog.require([table.source_id for table, _ in places])
        return await self._hearing(self.inner.snapshot_get)(places, limit_bytes, meter)

    def _hearing(self, method: Callable[P, T]) -> Callable[P, T]:
        """Wrap `method` so that a call first brings some of the catalog's views up to date."""

        def call(*arguments: P.args, **options: P.kwargs) -> T:
            self.catalog.hear(self._chance)
            return method(*arguments, **options)

        return call
