"""Which sources are watched, and what has been counted of each? `Insights` follows the documents of watches, and has the counts of every rule."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.insights.rule_counts import RuleCounts
from hashrange.items.key_scalars import key_scalars
from hashrange.items.rows import decode_attributes
from hashrange.items.types import Key, Row
from hashrange.operations.insights.rule_names import InsightRuleKind, rule_kinds, rule_name
from hashrange.operations.insights.watching import Watch, all_watches
from hashrange.store.interface import WholeStore
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.throttling import ThrottleEvent

READ_WEIGHT, WRITE_WEIGHT = 1.0, 3.0
"""ConsumedThroughputUnits are read units, and three times the write units. Source: global-tables-backup.md 8."""


_encode = msgspec.json.encode


class InsightRule(NamedTuple):
    """A rule of a source that is watched."""

    name: str
    kind: InsightRuleKind
    table: OpenTable
    source: ReadSource
    counts: RuleCounts

    @property
    def key_labels(self) -> list[str]:
        """Names of the attributes that its keys consist of."""
        keys = self.source.keys
        return [*keys.partition_names, *(keys.sort_names if self.kind.startswith("S") else ())]


class WatchedRules(NamedTuple):
    """A table or global index that is watched, with the counts of its rules."""

    watch: Watch
    table: OpenTable
    source: ReadSource
    rules: dict[InsightRuleKind, RuleCounts]

    def scalars_of_key(self, key: Key) -> list[str]:
        """The scalars of the key attributes of an item, or of an entry."""
        keys = self.source.keys
        return key_scalars(key, keys.partition_types, keys.sort_types)

    def scalars_of_row(self, row: Row) -> list[str]:
        """The same of a row."""
        keys = self.source.keys
        names = (*keys.partition_names, *keys.sort_names)
        item = decode_attributes(row, names)
        types = (*keys.partition_types, *keys.sort_types)
        return [str(item[name][type_name]) for name, type_name in zip(names, types, strict=True)]

    def count_units(self, scalars: list[str], units: float, now_seconds: float) -> None:
        """Count consumed units of the item with these key attributes."""
        self._count("PKC", "SKC", scalars, units, now_seconds)

    def count_throttle(self, scalars: list[str], now_seconds: float) -> None:
        """Count a throttled part of a request for the item with these key attributes."""
        self._count("PKT", "SKT", scalars, 1.0, now_seconds)

    def _count(
        self,
        partition: InsightRuleKind,
        item: InsightRuleKind,
        scalars: list[str],
        count: float,
        now_seconds: float,
    ) -> None:
        counts = self.rules.get(partition)
        if counts is not None:
            counts.add(_encode(scalars[: len(self.source.keys.partition_names)]), count, now_seconds)
        counts = self.rules.get(item)
        if counts is not None:
            counts.add(_encode(scalars), count, now_seconds)


class Insights:
    """Contributor Insights of one store. Counts are in memory, and begin anew with a restart, a restore, and in forks."""

    def __init__(self, store: WholeStore, now_seconds: Callable[[], float]) -> None:
        self._documents = store.documents
        self._catalog = store.catalog
        self.now_seconds = now_seconds
        self._generation = -1
        self._watches: list[Watch] = []
        self._counts: dict[str, RuleCounts] = {}
        """By name of the rule."""
        self._tables: dict[tuple[str, str, str, str], OpenTable | None] = {}
        self._sources: dict[bytes, WatchedRules] = {}

    @property
    def is_watching(self) -> bool:
        """True if any table or index is watched."""
        self._see_content()
        return bool(self._watches)

    def look(self) -> None:
        """Read the documents of watches again. Raises StorageError."""
        self._generation = self._documents.generation
        self._watches = [watch for watch in all_watches(self._documents) if watch.is_on]
        self._tables.clear()
        self._sources.clear()

    def _see_content(self) -> None:
        if self._generation != self._documents.generation:
            self._counts.clear()
            self.look()

    def find(self, source_id: bytes) -> WatchedRules | None:
        """The source of this id, if it is watched."""
        self._see_content()
        self._see_tables()
        return self._sources.get(source_id)

    def _see_tables(self) -> None:
        """Find the sources anew if a table of a watch has changed."""
        tables = {
            (watch.account, watch.region, watch.table_name, watch.index_name or ""): self._catalog.tables(
                watch.account, watch.region
            ).get(watch.table_name)
            for watch in self._watches
        }
        if all(self._tables.get(place, self) is table for place, table in tables.items()):
            return
        self._tables = tables
        self._sources = {}
        for watch, table in zip(self._watches, tables.values(), strict=True):
            source = None if table is None else table.read_source(watch.index_name)
            if table is None or source is None or table.schema.table_id != watch.table_id:
                continue
            rules = {
                kind: self._counts.setdefault(rule_name(kind, watch), RuleCounts())
                for kind in rule_kinds(table.schema, watch)
            }
            self._sources[bytes(source.source_id)] = WatchedRules(watch, table, source, rules)
        kept = {rule_name(kind, one.watch) for one in self._sources.values() for kind in one.rules}
        self._counts = {name: counts for name, counts in self._counts.items() if name in kept}

    def throttled(self, event: ThrottleEvent) -> None:
        """Count a throttled part of a request, except a write that an index has throttled."""
        if event.key is None or not self.is_watching or (event.is_write and event.index_name is not None):
            return
        source = event.table.read_source(event.index_name)
        watched = None if source is None else self.find(bytes(source.source_id))
        if watched is not None:
            try:
                scalars = watched.scalars_of_key(event.key)
            except (ValueError, IndexError):  # the begin of a page, which is no whole key
                return
            watched.count_throttle(scalars, self.now_seconds())

    def rules(self, caller: Caller) -> Sequence[InsightRule]:
        """The rules of one account and Region, by name."""
        self._see_content()
        self._see_tables()
        return sorted(self._rules_of(caller), key=lambda rule: rule.name)

    def _rules_of(self, caller: Caller) -> Iterator[InsightRule]:
        for one in self._sources.values():
            if (one.watch.account, one.watch.region) == caller:
                for kind, counts in one.rules.items():
                    yield InsightRule(rule_name(kind, one.watch), kind, one.table, one.source, counts)
