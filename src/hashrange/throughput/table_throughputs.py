"""Which buckets belong to which source? Those of its table, or of the global index; a local index uses the table's.

Found by source id in the catalog, and kept over changes of the table's description.
A table whose throughput is not enforced has none.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import msgspec

from hashrange.store.interface import WholeStore
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index
from hashrange.tables.states import changing_until_seconds, shown_table
from hashrange.tables.throttling import ThrottleEvents
from hashrange.throughput.capacity_side import AdaptiveCapacity, CapacitySide, SideTerms

ThroughputMode = Literal["unlimited", "enforced"]
"""`unlimited`: units are counted and reported; `enforced`: who uses more than there are is throttled."""


class ThroughputBuckets(msgspec.Struct, frozen=True, eq=False):
    """The buckets of a table or global index."""

    reads: CapacitySide
    writes: CapacitySide
    entry_writes: Mapping[bytes, CapacitySide] = {}
    """Of a table: by source id of each index, whose units a write of its entries uses:
    those of the index, or of the table."""


class ThroughputTerms(NamedTuple):
    """How the throughput of a table is enforced."""

    mode: ThroughputMode
    adaptive: AdaptiveCapacity


OwnTerms = Mapping[tuple[str, str, str], ThroughputTerms]
"""Account, Region and name of a table → its own terms."""


class _Known(NamedTuple):
    """A source, as of the last look into the catalog."""

    table: OpenTable
    """The description that its buckets follow: the former one while the table or index is UPDATING."""
    throughput: ThroughputBuckets | None
    """None: its table's throughput is not enforced."""
    is_early: bool = False
    """True if the buckets were made while `table` was UPDATING, and have its former units."""


class TableThroughputs:
    """The buckets of all tables."""

    def __init__(
        self,
        store: WholeStore,
        now: Callable[[], float],
        service_seconds: Callable[[], float],
        usual: ThroughputTerms,
        throttle_events: ThrottleEvents,
    ) -> None:
        """`now`: seconds of a clock that passes as service time does; `service_seconds`: of service time.
        `usual`: the terms of tables that have none of their own.

        All buckets are full when the content of the store has been replaced.
        """
        self._store = store
        self._now = now
        self._service_seconds = service_seconds
        self._usual = usual
        self._throttle_events = throttle_events
        self.own_terms: dict[tuple[str, str, str], ThroughputTerms] = {}
        """By account, Region and name of the table."""
        self._known: dict[bytes, _Known] = {}
        self.by_source: dict[bytes, ThroughputBuckets | None] = {}
        """Source id → buckets, None if its table has none; empty after a change until `find` looks.
        Always the same dict."""
        self._changing: dict[bytes, float] = {}
        """Source id → service time until which the source's buckets keep to the description from before a change.
        `by_source` lacks these sources."""
        self._generation = store.documents.generation
        store.catalog.on_change(self._forget_found)

    def terms_of(self, account: str, region: str, name: str) -> ThroughputTerms:
        """How the throughput of this table is enforced."""
        return self.own_terms.get((account, region, name), self._usual)

    def replace_terms(self, own: OwnTerms) -> None:
        """Let these tables have terms of their own, and no others. All buckets are full then."""
        self.own_terms, self._known = dict(own), {}
        self._forget_found()

    def set_terms(self, account: str, region: str, name: str, terms: ThroughputTerms) -> None:
        """Enforce the throughput of this table, of tables of this name later too, on these terms.
        Its buckets are full then.
        """
        self.own_terms[account, region, name] = terms
        self._forget_found()
        self._known = {
            source_id: one
            for source_id, one in self._known.items()
            if (one.table.schema.account, one.table.schema.region, one.table.name) != (account, region, name)
        }

    @property
    def is_any_enforced(self) -> bool:
        """True if a table may have buckets."""
        return self._usual.mode == "enforced" or any(one.mode == "enforced" for one in self.own_terms.values())

    def find(self, source_id: bytes) -> ThroughputBuckets | None:
        """The buckets of a source; None if its table has none, or has been deleted."""
        if source_id not in self.by_source:
            until_seconds = self._changing.get(source_id)
            if until_seconds is None or self._service_seconds() >= until_seconds:
                self._look()
        known = self._known.get(source_id)
        return None if known is None else known.throughput

    def _forget_found(self) -> None:
        """Let the next `find` look into the catalog."""
        self.by_source.clear()
        self._changing.clear()

    def _look(self) -> None:
        """Look at all tables of the catalog."""
        now_seconds = self._now()
        if self._generation != (generation := self._store.documents.generation):
            self._generation, self._known = generation, {}
        self._forget_found()
        known: dict[bytes, _Known] = {}
        for table in self._store.catalog.all_tables():
            if (unchanged := self._unchanged(table)) is not None:
                known.update(unchanged)
                continue
            schema = table.schema
            terms = self.terms_of(schema.account, schema.region, schema.name)
            of_table = self._throughput(table, None, terms, now_seconds)
            of_indexes = {
                bytes(source.source_id): self._throughput(table, source.index, terms, now_seconds)
                for source in table.indexes
                if source.index is not None and source.index.is_global
            }
            own = of_table._replace(throughput=self._with_indexes(table, of_table.throughput, of_indexes))
            known[bytes(table.source_id)] = own
            ends_seconds = [
                self._changing[one] for one in (bytes(table.source_id), *of_indexes) if one in self._changing
            ]
            if ends_seconds:  # the table's buckets go with those of its indexes
                self._changing[bytes(table.source_id)] = min(ends_seconds)
            for source in table.indexes:
                known[bytes(source.source_id)] = of_indexes.get(bytes(source.source_id), own)
        self._known = known
        self.by_source.update(
            (source_id, one.throughput) for source_id, one in known.items() if source_id not in self._changing
        )

    def _unchanged(self, table: OpenTable) -> dict[bytes, _Known] | None:
        """What is known of a table and its indexes, by source id; None if it is not what the catalog has now. 1 µs,
        of which a catalog may have thousands.
        """
        found = {}
        for source_id in (table.source_id, *[source.source_id for source in table.indexes]):
            one = self._known.get(source_id)
            if one is None or one.table is not table or one.is_early:
                return None
            found[bytes(source_id)] = one
        return found

    @staticmethod
    def _with_indexes(
        table: OpenTable, own: ThroughputBuckets | None, of_indexes: Mapping[bytes, _Known]
    ) -> ThroughputBuckets | None:
        """The buckets of a table, with those of its indexes."""
        if own is None:
            return None
        found = {source_id: one.throughput for source_id, one in of_indexes.items()}
        global_writes = {source_id: one.writes for source_id, one in found.items() if one is not None}
        own.writes.indexes_blocked_until_seconds = float("-inf")
        for writes in global_writes.values():
            writes.belong_to(own.writes)
        entry_writes = {
            bytes(one.source_id): global_writes.get(bytes(one.source_id), own.writes) for one in table.indexes
        }
        return ThroughputBuckets(own.reads, own.writes, entry_writes)

    def _throughput(self, table: OpenTable, index: Index | None, terms: ThroughputTerms, now_seconds: float) -> _Known:
        if terms.mode == "unlimited":
            return _Known(table, None)
        source = table.read_source(None if index is None else index.name)
        assert source is not None
        former = self._known.get(bytes(source.source_id))
        if former is None or former.throughput is None:
            shown, until_seconds = shown_table(table.schema, self._service_seconds())
            if until_seconds is not None:
                self._changing[bytes(source.source_id)] = until_seconds
            side_terms = SideTerms(terms.adaptive, self._throttle_events, self._store.maintenance.want_partitions)
            reads, writes = [
                CapacitySide(table, index, side_terms, now_seconds, is_write=is_write, shown=shown)
                for is_write in (False, True)
            ]
            return _Known(table, ThroughputBuckets(reads, writes), is_early=until_seconds is not None)
        if former.table is table and not former.is_early:
            return former
        if (until_seconds := changing_until_seconds(table.schema, index)) > self._service_seconds():
            self._changing[bytes(source.source_id)] = until_seconds
            return former
        for side in (former.throughput.reads, former.throughput.writes):
            side.follow(table, index, now_seconds)
        return _Known(table, former.throughput)
