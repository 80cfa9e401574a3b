"""Which sources are watched, and what has been counted of each? `Insights` follows the documents of watches,
and has the counts of every rule, which a job keeps every quarter of an hour of service time (`Insights.tend`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hashrange.aws_services.operation import Caller
from hashrange.insights.rule_counts import COUNTS_PREFIX, RuleCounts
from hashrange.insights.watched_keys import KeysToPay, WatchedKeys
from hashrange.jobs.job import AT_ONCE
from hashrange.operations.insights.watching import (
    RULE_KINDS,
    InsightRuleKind,
    Watch,
    kept_watches,
    rule_kinds,
    rule_name,
    watch_path,
)
from hashrange.store.interface import WholeStore
from hashrange.store.records import RecordChange
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import SourceId, make_source_id
from hashrange.tables.throttling import ThrottleEvent

READ_WEIGHT, WRITE_WEIGHT = 1.0, 3.0
"""ConsumedThroughputUnits are read units, and three times the write units. Source: global-tables-backup.md 8."""
SAVE_SECONDS = 900.0
"""Service time from one save to the next."""
UNCOUNTED_OPERATIONS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})


class InsightRule(NamedTuple):
    """A rule of a source that is watched."""

    name: str
    kind: InsightRuleKind
    source: WatchedKeys
    counts: RuleCounts

    @property
    def key_labels(self) -> list[str]:
        """Names of the attributes that its keys consist of."""
        keys = self.source.source.keys
        return [*keys.partition_names, *(keys.sort_names if self.kind.startswith("S") else ())]


class Insights:
    """Contributor Insights of one store. All calls come from one thread, that of the event loop."""

    def __init__(self, store: WholeStore, now_seconds: Callable[[], float], wake: Callable[[], None]) -> None:
        """`wake` is called when there is something to save or to remove."""
        self._documents = store.documents
        self._watches = kept_watches(store.documents)
        self._catalog = store.catalog
        self.now_seconds = now_seconds
        self._wake = wake
        self.keys_to_pay = KeysToPay(now_seconds)
        self._generation = -1
        self._watched: dict[SourceId, WatchedKeys] = {}
        """By source id, which no other table or index ever has."""
        self._counts: dict[str, RuleCounts] = {}
        """By how the names of their documents begin."""
        self._with_units: dict[bytes, WatchedKeys] = {}
        self.find = self._with_units.get
        """`find(source_id)`: the table or index whose units are counted; None if they are not."""
        self.written_tables: set[int] = set()
        """Ids of tables that are found in this way, or one of whose indexes is."""
        self._gone: set[str] = set()
        """How the names of documents begin that belong to rules that are no more."""
        self._has_leftovers = False
        """True if there may be documents of what is not watched any more."""
        self._due_seconds: float | None = None
        """Service time of the next save; None if nothing is to be saved."""

    @property
    def is_watching(self) -> bool:
        """True if any table or index is watched."""
        return bool(self._watched)

    # --- what is watched -------------------------------------------------------------------------

    def look(self) -> None:
        """Find what is watched anew: after a change of what is watched, or of the store's content.
        Raises StorageError.
        """
        if self._generation != self._documents.generation:
            self._generation = self._documents.generation
            self._counts.clear()
            self._gone.clear()
        before, self._counts, self._watched = self._counts, {}, {}
        for watch in self._watches.by_path().values():
            found = self._source_of(watch)
            kinds = () if found is None or not watch.is_on else rule_kinds(found[0].schema, watch)
            rules: dict[InsightRuleKind, RuleCounts] = {}
            for kind in RULE_KINDS:
                name = _counts_name(watch, kind)
                if kind in kinds:
                    rules[kind] = self._counts[name] = before.get(name) or RuleCounts(self._documents, name, self._wake)
                else:
                    self._gone.add(name)
            if found is not None and rules:
                self._watched[found[1].source_id] = WatchedKeys(watch, *found, rules)
        self._with_units.clear()
        self._with_units.update({name: one for name, one in self._watched.items() if one.has_units})
        self.written_tables = {one.table.table_id for one in self._with_units.values()}
        self._gone = (self._gone | before.keys()) - self._counts.keys()
        self._has_leftovers = True
        self._wake()

    def _source_of(self, watch: Watch) -> tuple[OpenTable, ReadSource] | None:
        """The table and the source of a watch; None if there is none any more."""
        table = self._catalog.find(watch.account, watch.region, watch.table_name)
        source = None if table is None else table.read_source(watch.index_name)
        if table is None or source is None or table.table_id != watch.table_id:
            return None
        index_id = 0 if source.index is None else source.index.index_id
        return (table, source) if index_id == watch.index_id else None

    @property
    def is_outdated(self) -> bool:
        """True if something that is watched is gone."""
        return any(self._source_of(one.watch) is None for one in self._watched.values())

    def rules(self, caller: Caller) -> Sequence[InsightRule]:
        """The rules of one account and Region, by name. Raises StorageError."""
        if self._generation != self._documents.generation or self.is_outdated:
            self.look()
        return sorted(self._rules_of(caller), key=lambda rule: rule.name)

    def _rules_of(self, caller: Caller) -> Iterator[InsightRule]:
        for one in self._watched.values():
            if (one.watch.account, one.watch.region) == caller:
                for kind, counts in one.rules.items():
                    yield InsightRule(rule_name(kind, one.watch), kind, one, counts)

    # --- counting --------------------------------------------------------------------------------

    def throttled(self, event: ThrottleEvent, operation: str | None) -> None:
        """Count a throttled part of a request of this operation, except a write that an index has
        throttled, and pages of a Scan.
        """
        if event.key is None or operation == "Scan" or operation in UNCOUNTED_OPERATIONS:
            return
        if event.is_write and event.index_name is not None:
            return
        source = event.table.read_source(event.index_name)
        watched = None if source is None else self._watched.get(source.source_id)
        if watched is not None:
            watched.count_throttle(event.key, self.now_seconds(), is_whole=operation != "Query")

    # --- keeping ---------------------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        """True if anything has been counted since the last save."""
        return any(one.is_changed for one in self._counts.values())

    async def tend(self) -> float | None:
        """Remove what belongs to tables and rules that are gone, and save one rule if it is time to; returns the
        seconds of service time until then, None if nothing is counted. Raises StorageError.
        """
        now_seconds = self.now_seconds()
        if self._has_leftovers:
            await self._remove_leftovers()
        if not self.is_changed:
            self._due_seconds = None
            return None
        if self._due_seconds is None or self._due_seconds > now_seconds + SAVE_SECONDS:
            self._due_seconds = now_seconds + SAVE_SECONDS
        if now_seconds < self._due_seconds:
            return self._due_seconds - now_seconds
        if await self.save_some():
            return AT_ONCE
        self._due_seconds = None
        return None

    async def save_some(self) -> bool:
        """Save what one rule has counted; returns True if there is more to save. Raises StorageError."""
        if self._generation != self._documents.generation:
            self.look()
        changed = next((one for one in self._counts.values() if one.is_changed), None)
        if changed is not None:
            await changed.save(self.now_seconds(), self._generation)
        return self.is_changed

    async def _remove_leftovers(self) -> None:
        """Delete the documents of tables and indexes that are gone, and of rules that are. Raises StorageError."""
        generation = self._generation
        changes = [
            self._watches.removal(*watch_path(watch))
            for watch in self._watches.by_path().values()
            if self._source_of(watch) is None
        ]
        gone, self._gone = self._gone, set()
        self._has_leftovers = False
        for name in gone:
            changes += [RecordChange(document, None) for document, _ in self._documents.below(name)]
        if changes:
            await self._watches.write(*changes, generation=generation)


def _counts_name(watch: Watch, kind: InsightRuleKind) -> str:
    """How the names of the documents of a rule's counts begin."""
    return f"{COUNTS_PREFIX}{make_source_id(watch.table_id, watch.index_id).hex()}/{watch.since_ms}/{kind}/"
