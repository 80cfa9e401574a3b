"""Have rows, tables or the engine changed while a long plan gave way?
If so, the plan was overtaken, and is called again.

A write of one row reads the row again. A transaction, or a read of many rows, checks that nothing was committed
meanwhile. If it has claimed its rows (`claims.py`), it checks only that tables and engine are the same, because no
other write changes claimed rows: a write that began before the claim finds the claim when it is checked, and is
overtaken.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hashrange.items.steps import gave_way
from hashrange.items.types import Row
from hashrange.store.embedded.claims import Claims
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.open_tables import OpenTables
from hashrange.store.embedded.site import Site
from hashrange.tables.open_table import OpenTable


class Overtaken(Exception):
    """Rows, tables or the engine may have changed while a plan or read that depends on them gave way."""


class StoreState(NamedTuple):
    """State of the store when a transaction or a read of many rows began."""

    ways_given: int
    engine: Engine
    position: int


class Foundations:
    """Checks whether plans and reads that gave way were overtaken."""

    def __init__(self, site: Site, tables: OpenTables, claims: Claims) -> None:
        self._site = site
        self._tables = tables
        self._claims = claims

    def moment(self, *, is_write: bool) -> StoreState:
        """The present state of the store, for `require_calm`; before a commit, with the engine for it."""
        site = self._site
        return StoreState(gave_way(), site.engine_to_write() if is_write else site.engine, site.barrier.position)

    def require_row(
        self, engine: Engine, table: OpenTable, engine_key: bytes, old: Row | None, *, has_claim: bool
    ) -> None:
        """Raise Overtaken if engine, table or row changed after they were read, or another write claimed the row.

        `has_claim`: this write has claimed the row. Raises StorageError.
        """
        self._require_unclaimed([engine_key], has_claim=has_claim)
        if self._site.engine is not engine or not self._tables.is_current(table):
            raise Overtaken
        try:
            row = self._site.reads.row_to_replace(engine, engine_key)
        except Exception as error:
            raise self._site.fail(error) from error
        if row != old:
            raise Overtaken

    def require_calm(
        self, moment: StoreState, tables: Sequence[OpenTable], places: Sequence[bytes], *, has_claim: bool
    ) -> None:
        """Raise Overtaken if a commit since `moment`, another write's claim or a new engine may have changed the rows.

        Does nothing if no code gave way since. `places`: engine keys of rows that no other write may have claimed.
        `has_claim`: the caller has claimed its rows, so that a commit counts only if it changed or deleted one of
        `tables`.
        """
        if gave_way() == moment.ways_given:
            return
        self._require_unclaimed(places, has_claim=has_claim)
        if self._site.engine is not moment.engine:
            raise Overtaken
        if self._site.barrier.position == moment.position:
            return
        if not has_claim or not all(self._tables.is_current(table) for table in tables):
            raise Overtaken

    def _require_unclaimed(self, places: Sequence[bytes], *, has_claim: bool) -> None:
        """Raise Overtaken if one of these rows is claimed, unless by the caller itself (`has_claim`)."""
        if not has_claim and not self._claims.rows.keys().isdisjoint(places):
            raise Overtaken
