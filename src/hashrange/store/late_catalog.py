"""What if tables are made elsewhere? A wrapper of a store whose catalog hears late of what others did to tables, for tests.

Several wrappers of one store stand for several servers. Each has a view of its own: what was done through it is in it at
once, what was done through another comes with some call, drawn from a seed, or when it is looked up. Rows are those of the store.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from hashrange.store.interface import Catalog, WholeStore
from hashrange.store.wrapped import WrappedStore
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table

HEARING_PROBABILITY = 0.05
"""So often does a call bring what others did."""

P = ParamSpec("P")
T = TypeVar("T")


class LateCatalog:
    """A view of the inner catalog."""

    is_late = True

    def __init__(self, inner: Catalog) -> None:
        self._inner = inner
        self._views: dict[tuple[str, str], dict[str, OpenTable]] = {}
        self.look_ups = 0
        """How often names were looked up, for tests that want to know."""

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """The table as it was heard of."""
        return self.tables(account, region).get(name)

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """A live view; it begins with all that there is."""
        return self._view(account, region)

    def elsewhere(self, name: str) -> list[tuple[str, str]]:
        """As the inner catalog."""
        return self._inner.elsewhere(name)

    def all_tables(self) -> Sequence[OpenTable]:
        """As the inner catalog."""
        return self._inner.all_tables()

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Take these names over; True if a table has appeared."""
        self.look_ups += 1
        have_appeared = [self._refresh(account, region, name) for name in names]
        return any(have_appeared)

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """As the inner catalog; what has the name, be it another's table, is then in the view."""
        wanted: list[Table] = []

        def make_noted(table_id: int) -> Table:
            wanted.append(make(table_id))
            return wanted[-1]

        table = await self._inner.create(make_noted)
        self._refresh(wanted[-1].account, wanted[-1].region, wanted[-1].name)
        return table

    async def replace(self, old: Table, new: Table) -> bool:
        """As the inner catalog; what is stored is then in the view."""
        is_done = await self._inner.replace(old, new)
        self._refresh(old.account, old.region, old.name)
        return is_done

    async def delete(self, table: Table) -> bool:
        """As the inner catalog, likewise."""
        is_done = await self._inner.delete(table)
        self._refresh(table.account, table.region, table.name)
        return is_done

    def hear(self) -> None:
        """Take over all that others did."""
        for (account, region), view in self._views.items():
            for name in {*view, *self._inner.tables(account, region)}:
                self._refresh(account, region, name)

    def _view(self, account: str, region: str) -> dict[str, OpenTable]:
        view = self._views.get((account, region))
        if view is None:
            view = self._views[account, region] = dict(self._inner.tables(account, region))
        return view

    def _refresh(self, account: str, region: str, name: str) -> bool:
        """Take one name over; True if there is a table that the view did not have."""
        view = self._view(account, region)
        seen, table = view.get(name), self._inner.find(account, region, name)
        if table is None:
            view.pop(name, None)
            return False
        view[name] = table
        return seen is None or seen.table_id != table.table_id


class LateCatalogStore(WrappedStore):
    """A store over another one, of which others may be wrappers too."""

    def __init__(self, inner: WholeStore, seed: int) -> None:
        super().__init__(inner)
        self._chance = random.Random(seed).random  # noqa: S311 - reproducible, not secret
        self.catalog = LateCatalog(inner.catalog)
        self.get, self.page = self._heard(inner.get), self._heard(inner.page)
        self.mutate, self.transact = self._heard(inner.mutate), self._heard(inner.transact)
        self.snapshot_get = self._heard(inner.snapshot_get)

    def _heard(self, method: Callable[P, T]) -> Callable[P, T]:
        """The method, a call of which brings, now and then, what others did to tables."""

        def call(*arguments: P.args, **options: P.kwargs) -> T:
            if self._chance() < HEARING_PROBABILITY:
                self.catalog.hear()
            return method(*arguments, **options)

        return call
