"""Which buckets belong to which source? Those of its table, or of the global index; a local index uses the table's.

A table's buckets are made, full, when one of them is first asked for. From then on they follow each change of the table
at once, and keep what they hold; until then, nothing is known of the table. So no request looks at all tables, of which
there may be thousands. A table whose throughput is not enforced has none.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple

import msgspec

from hashrange.settings import AdaptiveSetting, ThroughputSetting
from hashrange.store.interface import WholeStore, local_maintenance_of
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index
from hashrange.tables.source_id import table_id_of
from hashrange.tables.states import changing_until_seconds, shown_table
from hashrange.tables.throttling import SeeThrottled
from hashrange.throughput.capacity_side import CapacitySide, SeeBlocked, SideTerms


class ThroughputBuckets(msgspec.Struct, frozen=True, eq=False):
    """The buckets of a table or global index."""

    reads: CapacitySide
    writes: CapacitySide
    entry_writes: Mapping[bytes, CapacitySide] = {}
    """Of a table: by source id of each index, whose units a write of its entries uses:
    those of the index, or of the table."""


class ThroughputTerms(NamedTuple):
    """How the throughput of a table is enforced."""

    mode: ThroughputSetting
    """`unlimited`: units are counted and reported; `enforced`: who uses more than there are is throttled."""
    adaptive: AdaptiveSetting


OwnTerms = Mapping[tuple[str, str, str], ThroughputTerms]
"""Account, Region and name of a table → its own terms."""


FREED_TOGETHER = 4
"""Whenever the buckets of a table are made or changed, those of this many tables are freed that were forgotten with all
others: 0.1 ms for a table with twenty indexes."""


class TableThroughputs:
    """The buckets of all tables."""

    def __init__(
        self,
        store: WholeStore,
        now: Callable[[], float],
        service_seconds: Callable[[], float],
        usual: ThroughputTerms,
        see_throttled: Sequence[SeeThrottled],
    ) -> None:
        """`now`: seconds of a clock that passes as service time does; `service_seconds`: of service time.
        `usual`: the terms of tables that have none of their own.

        All buckets are full when the content of the store has been replaced.
        """
        self._store = store
        self._now = now
        self._service_seconds = service_seconds
        self._usual = usual
        self._see_throttled = see_throttled
        self.own_terms: dict[tuple[str, str, str], ThroughputTerms] = {}
        """By account, Region and name of the table."""
        self._known: dict[int, dict[bytes, ThroughputBuckets | None]] = {}
        """Table id → buckets of the table and of each index, by source id: of tables that have been asked for.
        None: it has no buckets."""
        self.by_source: dict[bytes, ThroughputBuckets | None] = {}
        """The same of all tables by source id alone, without the tables of `_changing`. Always the same dict."""
        self._changing: dict[int, float] = {}
        """Table id → service time until which buckets of the table keep to the description from before a change."""
        self._former: list[dict[bytes, ThroughputBuckets | None]] = []
        """Members of `_known` that were forgotten together, and are still to be freed."""
        self._see_blocked: SeeBlocked = lambda until_seconds: None
        store.catalog.on_change(self._follow_change)

    def on_blocked(self, see: SeeBlocked) -> None:
        """Call `see` from now on when a bucket is empty; before any table's buckets are made."""
        self._see_blocked = see

    def terms_of(self, account: str, region: str, name: str) -> ThroughputTerms:
        """How the throughput of this table is enforced."""
        return self.own_terms.get((account, region, name), self._usual)

    def replace_terms(self, own: OwnTerms) -> None:
        """Let these tables have terms of their own, and no others. All buckets are full then."""
        self.own_terms = dict(own)
        self._forget_all()

    def set_terms(self, account: str, region: str, name: str, terms: ThroughputTerms) -> None:
        """Enforce the throughput of this table, of tables of this name later too, on these terms.
        Its buckets are full then.
        """
        self.own_terms[account, region, name] = terms
        table = self._store.catalog.find(account, region, name)
        if table is not None:
            self._forget(table.table_id)

    @property
    def is_any_enforced(self) -> bool:
        """True if a table may have buckets."""
        return self._usual.mode == "enforced" or any(one.mode == "enforced" for one in self.own_terms.values())

    def find(self, source_id: bytes) -> ThroughputBuckets | None:
        """The buckets of a source; None if its table has none, or has been deleted."""
        if source_id in self.by_source:
            return self.by_source[source_id]
        table_id = table_id_of(source_id)
        if table_id not in self._known or self._service_seconds() >= self._changing.get(table_id, inf):
            table = self._store.catalog.find_id(table_id)
            if table is not None:
                self._follow(table)
        return self._known.get(table_id, {}).get(source_id)

    def _follow_change(self, before: OpenTable | None, after: OpenTable | None) -> None:
        """Let the buckets of a table that has any follow a change of the catalog."""
        if before is None and after is None:
            self._forget_all()
        elif before is not None and before.table_id in self._known:
            if after is None:
                self._forget(before.table_id)
            else:
                self._follow(after)

    def _forget_all(self) -> None:
        """Forget all buckets: they are full when they are asked for again."""
        self._former += self._known.values()
        self._known.clear()
        self.by_source.clear()
        self._changing.clear()

    def _forget(self, table_id: int) -> Mapping[bytes, ThroughputBuckets | None]:
        """Forget the buckets of a table, and return them."""
        known = self._known.pop(table_id, {})
        for source_id in known:
            self.by_source.pop(source_id, None)
        self._changing.pop(table_id, None)
        return known

    def _follow(self, table: OpenTable) -> None:
        """Make the buckets of a table, or let those that it has follow its description."""
        del self._former[-FREED_TOGETHER:]
        schema, former = table.schema, self._forget(table.table_id)
        terms = self.terms_of(schema.account, schema.region, schema.name)
        known = self._known[table.table_id] = (
            dict.fromkeys([bytes(one.source_id) for one in (table.table_source, *table.indexes)])
            if terms.mode == "unlimited"
            else self._buckets(table, former, terms.adaptive)
        )
        ends_seconds = [changing_until_seconds(schema, one) for one in (None, *schema.indexes)]
        ahead_seconds = [one for one in ends_seconds if one > self._service_seconds()]
        if ahead_seconds:
            self._changing[table.table_id] = min(ahead_seconds)
        else:
            self.by_source.update(known)

    def _buckets(
        self, table: OpenTable, former: Mapping[bytes, ThroughputBuckets | None], adaptive: AdaptiveSetting
    ) -> dict[bytes, ThroughputBuckets | None]:
        """The buckets of a table and its indexes, by source id; `former`: those that it has."""
        want_partitions = local_maintenance_of(self._store).want_partitions
        terms = SideTerms(adaptive, self._see_throttled, want_partitions, self._see_blocked)
        own = self._source_buckets(table, None, former.get(table.source_id), terms)
        own.writes.indexes_blocked_until_seconds = -inf
        known: dict[bytes, ThroughputBuckets | None] = {}
        entry_writes: dict[bytes, CapacitySide] = {}
        own = known[table.source_id] = ThroughputBuckets(own.reads, own.writes, entry_writes)
        for source in table.indexes:
            source_id, found = source.source_id, own
            if source.index is not None and source.index.is_global:
                found = self._source_buckets(table, source.index, former.get(source_id), terms)
                found.writes.belong_to(own.writes)
            known[source_id], entry_writes[source_id] = found, found.writes
        return known

    def _source_buckets(
        self, table: OpenTable, index: Index | None, former: ThroughputBuckets | None, terms: SideTerms
    ) -> ThroughputBuckets:
        """The buckets of a table, or of one of its global indexes: new ones, or `former`, which keep to the description
        from before a change until that is over.
        """
        service_seconds = self._service_seconds()
        shown = None
        if former is None:
            former = ThroughputBuckets(CapacitySide(terms, is_write=False), CapacitySide(terms, is_write=True))
            shown, _ = shown_table(table.schema, service_seconds)
        elif changing_until_seconds(table.schema, index) > service_seconds:
            return former
        for side in (former.reads, former.writes):
            side.follow(table, index, self._now(), shown)
        return former
