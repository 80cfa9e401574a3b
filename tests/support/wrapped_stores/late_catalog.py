"""What if other servers change tables? For tests: a wrapper of a store whose catalog learns late of changes
made through other wrappers.

Several wrappers of one store stand for several servers, each with its own view of the catalog. A view has the changes
made through its own wrapper at once, other changes with some later call, drawn from a seed, or after a look-up. Rows
are read from the inner store.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from hashrange.store.interface import Catalog, TableChanged, WholeStore
from hashrange.store.wrapped import WrappedStore
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table

HEARING_PROBABILITY = 0.05
"""Probability that a call of the store first brings the wrapper's late copy of the catalog up to date."""

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

    def elsewhere(self, name: str) -> list[tuple[str, str]]:
        """Delegates to the inner catalog."""
        return self._inner.elsewhere(name)

    def all_tables(self) -> Sequence[OpenTable]:
        """Delegates to the inner catalog."""
        return self._inner.all_tables()

    def find_id(self, table_id: int) -> OpenTable | None:
        """Delegates to the inner catalog."""
        return self._inner.find_id(table_id)

    def on_change(self, changed: TableChanged) -> None:
        """Delegates to the inner catalog."""
        self._inner.on_change(changed)

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Refresh these names in the view; True if that added a table to the view."""
        self.look_ups += 1
        have_appeared = [self._refresh(account, region, name) for name in names]
        return any(have_appeared)

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

    def refresh_all(self) -> None:
        """Bring the views of all accounts and Regions up to date."""
        for (account, region), view in self._views.items():
            for name in {*view, *self._inner.tables(account, region)}:
                self._refresh(account, region, name)

    def _view(self, account: str, region: str) -> dict[str, OpenTable]:
        view = self._views.get((account, region))
        if view is None:
            view = self._views[account, region] = dict(self._inner.tables(account, region))
        return view

    def _refresh(self, account: str, region: str, name: str) -> bool:
        """Refresh one name in the view; True if that added a table, or a new one of the same name."""
        view = self._view(account, region)
        seen, table = view.get(name), self._inner.find(account, region, name)
        if table is None:
            view.pop(name, None)
            return False
        view[name] = table
        return seen is None or seen.table_id != table.table_id


class LateCatalogStore(WrappedStore):
    """A wrapper, with a LateCatalog, of a store that other wrappers may share."""

    catalog: LateCatalog

    def __init__(self, inner: WholeStore, seed: int) -> None:
        super().__init__(inner)
        self._chance = random.Random(seed).random
        self.catalog = LateCatalog(inner.catalog)
        self.get, self.page = self._refreshing_sometimes(inner.get), self._refreshing_sometimes(inner.page)
        self.mutate, self.transact = (
            self._refreshing_sometimes(inner.mutate),
            self._refreshing_sometimes(inner.transact),
        )
        self.snapshot_get = self._refreshing_sometimes(inner.snapshot_get)

    def _refreshing_sometimes(self, method: Callable[P, T]) -> Callable[P, T]:
        """Wrap `method` so that a call sometimes refreshes the catalog's views first."""

        def call(*arguments: P.args, **options: P.kwargs) -> T:
            if self._chance() < HEARING_PROBABILITY:
                self.catalog.refresh_all()
            return method(*arguments, **options)

        return call
