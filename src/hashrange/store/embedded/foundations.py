"""Is what a plan was made for still true, when the plan took long and let others run? If not, it was overtaken, and is made again.

A single write looks at its row once more. A transaction, and a read of many rows, asks whether any commit has come meanwhile; with its rows
claimed (`claims.py`) only whether its tables and the engine are still the same, for nobody changes claimed rows: whoever
began to before sees the claim here.
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
    """While a plan gave way, another write changed what it was made for."""


class Moment(NamedTuple):
    """When something long began."""

    ways_given: int
    engine: Engine
    position: int


class Foundations:
    """Of all long plans of a store."""

    def __init__(self, site: Site, tables: OpenTables, claims: Claims) -> None:
        self._site = site
        self._tables = tables
        self._claims = claims

    def moment(self) -> Moment:
        """Now, to be compared with later."""
        return Moment(gave_way(), self._site.engine, self._site.barrier.position)

    def require_row(
        self, engine: Engine, table: OpenTable, engine_key: bytes, old: Row | None, *, has_claim: bool
    ) -> None:
        """Raise Overtaken unless what was read before a plan gave way is true now: the engine, the table, the row."""
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
        self, moment: Moment, tables: Sequence[OpenTable], places: Sequence[bytes], *, has_claim: bool
    ) -> None:
        """Raise Overtaken unless everything is as it was at the moment, or the rows at `places`, which are to be written, are claimed."""
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
        """Raise Overtaken if somebody else has claimed one of these rows meanwhile: whoever has takes for granted that they stay."""
        if not has_claim and not self._claims.rows.keys().isdisjoint(places):
            raise Overtaken
