"""Which sources are watched, and what has been counted of each? `Insights` follows the documents of watches,
and has the counts of every rule, which a job keeps every quarter of an hour of service time (`Insights.tend`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.errors import StorageCorruption
from hashrange.insights.rule_counts import COUNTS_PREFIX, RuleCounts
from hashrange.insights.watched_keys import WatchedKeys
from hashrange.items.steps import look, sort
from hashrange.jobs.job import AT_ONCE
from hashrange.operations.insights.watching import (
    RULE_KINDS,
    USUAL_MODE,
    WATCH_PREFIX,
    InsightRuleKind,
    Watch,
    kept_watches,
    rule_kinds,
    rule_name,
    watch_path,
)
from hashrange.store.interface import WholeStore
from hashrange.store.records import RecordChange, SharedReading, WasRead, below_in_pieces
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.schema import Table
from hashrange.tables.source_id import SourceId, make_source_id, table_id_of
from hashrange.tables.throttling import ThrottleEvent

READ_WEIGHT, WRITE_WEIGHT = 1.0, 3.0
"""ConsumedThroughputUnits are read units, and three times the write units. Source: global-tables-backup.md 8."""
SAVE_SECONDS = 900.0
"""Service time from one save to the next."""
CHECKED_TOGETHER, LOOKED_TOGETHER = 500, 4
"""Tables that a slice of the job compares with the catalog, and those of them at which it looks anew: a millisecond."""
ASKED_TOGETHER, REMOVED_TOGETHER = 50, 100
"""Rules for whose documents a slice asks until it finds some, and documents that it removes."""
FREED_TOGETHER = 100
"""Tables and indexes whose counts are freed at once: a millisecond."""
UNCOUNTED_OPERATIONS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})


WatchedPlace = tuple[str, str, str]
"""Account, Region and name of a table."""


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


class _SeenTable(NamedTuple):
    """A table that has watches, as it was when they were last read."""

    table: OpenTable
    watched: list[WatchedKeys]
    """The table and those of its indexes that are watched now."""


class Insights:
    """Contributor Insights of one store. All calls come from one thread, that of the event loop.

    The watches of all tables are read in pieces, by the job or by whoever needs all; until then, those of one table
    are read when it is first asked for. A change of one table, or of its watches, concerns that table alone.
    """

    def __init__(self, store: WholeStore, now_seconds: Callable[[], float], wake: Callable[[], None]) -> None:
        """`wake` is called when there is something to save or to remove."""
        self._documents = store.documents
        self._watches = kept_watches(store.documents)
        self._catalog = store.catalog
        self.now_seconds = now_seconds
        self._wake = wake
        self._generation = -1
        self._reading = SharedReading(store.documents, self._read, self._has_read)
        self._is_unread = False
        """True if there are watches, and not all have been read."""
        self._unasked: dict[int, WatchedPlace] | None = None
        """By table id: tables that nobody has asked for while watches are unread; None: these are not known."""
        self._former: list[WatchedKeys] = []
        """What was watched of former content. It is freed in pieces, because that takes long."""
        self._damaged: dict[WatchedPlace, str] = {}
        """For each table one of whose documents holds no watch: what is wrong with that document."""
        self._seen: dict[WatchedPlace, _SeenTable] = {}
        self._unchecked: list[WatchedPlace] = []
        """Tables that are still to be compared with the catalog, because the catalog has changed."""
        self._is_catalog_changed = False
        """True if the catalog has changed since `_unchecked` was filled."""
        self._watched: dict[SourceId, WatchedKeys] = {}
        """By source id, which no other table or index ever has."""
        self._rules: dict[Caller, dict[str, InsightRule]] = {}
        """By name, for each account and Region that has some."""
        self._counts: dict[str, RuleCounts] = {}
        """By how the names of their documents begin."""
        self._changed: dict[str, None] = {}
        """Names of the members of `_counts` in which something may have been counted since they were saved."""
        self._with_units: dict[bytes, WatchedKeys] = {}
        self._written_tables: set[int] = set()
        self.find: Callable[[bytes], WatchedKeys | None] = self._with_units.get
        """`find(source_id)`: the table or index whose units are counted; None if they are not."""
        self.is_written: Callable[[int], bool] = self._written_tables.__contains__
        """`is_written(table_id)`: True if the table is found in this way, or one of its indexes."""
        self._gone: dict[str, None] = {}
        """How the names of documents begin that belong to rules that are no more."""
        self._gone_watches: dict[tuple[str, ...], None] = {}
        """Paths of watches whose table or index is no more."""
        self._due_seconds: float | None = None
        """Service time of the next save; None if nothing is to be saved."""
        self._catalog.on_change(self._see_catalog)

    @property
    def is_watching(self) -> bool:
        """True if any table or index is watched, or may be because not all watches have been read."""
        return bool(self._watched) or self._is_unread

    # --- what is watched -------------------------------------------------------------------------

    def look(self, table: Table | None) -> None:
        """Find anew what is watched of a table, after a change of that; None: after a change of the store's content.
        Raises StorageError.
        """
        self._see_content()
        if table is not None:
            self._look_at((table.account, table.region, table.name))
        self._wake()

    def _see_content(self) -> None:
        """Forget what was read of former content. Raises StorageError."""
        generation = self._documents.generation
        if self._generation == generation:
            return
        self._is_unread = bool(self._documents.some_below(WATCH_PREFIX, None, 1))
        self._generation, self._unasked = generation, None
        self._forget_all()
        if self._is_unread:
            self.find, self.is_written = self._find_unread, self._is_unread_written

    def _forget_all(self) -> None:
        self._former += self._watched.values()
        for known in (self._damaged, self._seen, self._watched, self._rules, self._counts, self._changed):
            known.clear()
        for more in (self._with_units, self._gone, self._gone_watches, self._written_tables, self._unchecked):
            more.clear()

    def drop(self) -> Iterator[None]:
        """Free in pieces what is watched, once nobody asks for it any more."""
        self._forget_all()
        return self._free_former()

    def _free_former(self) -> Iterator[None]:
        while self._former:
            del self._former[-FREED_TOGETHER:]
            yield

    def _find_unread(self, source_id: bytes) -> WatchedKeys | None:
        self._ask_for(table_id_of(source_id))
        return self._with_units.get(source_id)

    def _is_unread_written(self, table_id: int) -> bool:
        self._ask_for(table_id)
        return table_id in self._written_tables

    def _ask_for(self, table_id: int) -> None:
        """Read the watches of a table that is asked for the first time. Raises StorageError."""
        if self._unasked is None:
            schemas = [table.schema for table in self._catalog.all_tables()]
            self._unasked = {one.table_id: (one.account, one.region, one.name) for one in schemas}
        place = self._unasked.pop(table_id, None)
        if place is not None and place not in self._seen:
            self._look_at(place)

    def _read(self) -> Iterator[None]:
        """Look at the tables of which watches are kept, one at each step."""
        self._see_content()
        yield from self._free_former()
        for some in below_in_pieces(self._documents, WATCH_PREFIX):
            yield
            for place in dict.fromkeys([_place_of(name[len(WATCH_PREFIX) :]) for name, _ in some]):
                if place not in self._seen:
                    self._look_at(place)
                    yield

    def _has_read(self) -> None:
        self._is_unread, self._unasked = False, None
        self.find, self.is_written = self._with_units.get, self._written_tables.__contains__
        self._wake()

    def _look_at(self, place: WatchedPlace) -> None:
        """Find anew what is watched of one table. Does not give way. Raises StorageError."""
        self._damaged.pop(place, None)
        pieces = self._watches.pieces(*place, note_damaged=lambda _, wrong: self._damaged.update({place: wrong}))
        watches = [watch for some in pieces for _, watch in some]
        former = self._forget(place)
        table = self._catalog.find(*place)
        watched = []
        for watch in watches:
            source = None if table is None else _source_of(table, watch)
            if table is None or source is None:
                self._gone_watches[watch_path(watch)] = None
                self._gone.update(dict.fromkeys([_counts_name(watch, kind) for kind in RULE_KINDS]))
                continue
            kinds = rule_kinds(table.schema, watch) if watch.is_on else ()
            possible = rule_kinds(table.schema, msgspec.structs.replace(watch, mode=USUAL_MODE))
            self._gone.update(dict.fromkeys([_counts_name(watch, kind) for kind in possible if kind not in kinds]))
            if kinds:
                watched.append(self._watch(watch, table, source, kinds, former))
        for name in former.keys() - self._counts.keys():
            self._gone[name] = None
            self._changed.pop(name, None)
        if table is not None and watches:
            self._seen[place] = _SeenTable(table, watched)

    def _watch(
        self,
        watch: Watch,
        table: OpenTable,
        source: ReadSource,
        kinds: Sequence[InsightRuleKind],
        former: Mapping[str, RuleCounts],
    ) -> WatchedKeys:
        """Begin to count the keys of a source, or go on with what `former` has counted."""
        counts: dict[InsightRuleKind, RuleCounts] = {}
        for kind in kinds:
            name = _counts_name(watch, kind)
            counts[kind] = self._counts[name] = former.get(name) or self._new_counts(name)
            self._gone.pop(name, None)
        one = self._watched[source.source_id] = WatchedKeys(watch, table, source, counts, self.now_seconds)
        if one.has_units:
            self._with_units[source.source_id] = one
            self._written_tables.add(table.table_id)
        rules = self._rules.setdefault(Caller(watch.account, watch.region), {})
        for kind in kinds:
            rule = InsightRule(rule_name(kind, watch), kind, one, counts[kind])
            rules[rule.name] = rule
        return one

    def _forget(self, place: WatchedPlace) -> Mapping[str, RuleCounts]:
        """Watch nothing of a table any more; returns what has been counted, by name."""
        seen = self._seen.pop(place, None)
        former: dict[str, RuleCounts] = {}
        for one in () if seen is None else seen.watched:
            del self._watched[one.source.source_id]
            self._with_units.pop(one.source.source_id, None)
            self._written_tables.discard(one.table.table_id)
            caller = Caller(one.watch.account, one.watch.region)
            rules = self._rules.get(caller, {})
            for kind, counts in one.rules.items():
                former[counts.name] = self._counts.pop(counts.name)
                rules.pop(rule_name(kind, one.watch), None)
            if not rules:
                self._rules.pop(caller, None)
        return former

    def _see_catalog(self, _before: OpenTable | None, _after: OpenTable | None) -> None:
        self._is_catalog_changed = True

    def _check_some(self) -> bool:
        """Look anew at some tables that are no more as they were seen; returns True if there may be more.
        Raises StorageError.
        """
        if self._is_catalog_changed and not self._unchecked:
            self._is_catalog_changed = False
            self._unchecked = list(self._seen)
        looked = 0
        for _ in range(min(CHECKED_TOGETHER, len(self._unchecked))):
            place = self._unchecked[-1]
            seen = self._seen.get(place)
            if seen is not None and self._catalog.find(*place) is not seen.table:
                if looked == LOOKED_TOGETHER:
                    break
                looked += 1
                self._look_at(place)
            self._unchecked.pop()
        return bool(self._unchecked)

    def _be_current(self) -> None:
        """See all that is watched now; gives way. Raises StorageError."""
        self._reading.finish()
        while self._check_some() or self._is_catalog_changed:
            look()

    def rules(self, caller: Caller) -> Sequence[InsightRule]:
        """The rules of one account and Region, by name; gives way. Raises StorageError."""
        self._be_current()
        self._refuse_damaged(caller)
        return sort(list(self._rules.get(caller, {}).values()), key=lambda rule: rule.name)

    def rule(self, caller: Caller, name: str) -> InsightRule | None:
        """The rule of this name, of one account and Region; gives way. Raises StorageError."""
        self._be_current()
        found = self._rules.get(caller, {}).get(name)
        if found is None:
            self._refuse_damaged(caller)
        return found

    def _refuse_damaged(self, caller: Caller) -> None:
        for place, wrong in self._damaged.items():
            if place[:2] == caller:
                raise StorageCorruption(wrong)

    # --- counting --------------------------------------------------------------------------------

    def throttled(self, event: ThrottleEvent) -> None:
        """Count a throttled part of a request, except a write that an index has throttled, and pages of a Scan."""
        operation = event.operation
        if event.key is None or operation == "Scan" or operation in UNCOUNTED_OPERATIONS:
            return
        if event.is_write and event.index_name is not None:
            return
        if self._is_unread:
            self._ask_for(event.table.table_id)
        source = event.table.read_source(event.index_name)
        watched = None if source is None else self._watched.get(source.source_id)
        if watched is not None:
            watched.count_throttle(event.key, is_whole=operation != "Query")

    # --- keeping ---------------------------------------------------------------------------------

    def _new_counts(self, name: str) -> RuleCounts:
        return RuleCounts(self._documents, name, partial(self._note_changed, name))

    def _note_changed(self, name: str) -> None:
        """Note that something is counted by a rule in which nothing has been since it was saved."""
        if name in self._counts:
            self._changed[name] = None
            self._wake()

    async def tend(self) -> float | None:
        """Look at some tables that have changed, remove some of what belongs to tables and rules that are gone, and
        save one rule if it is time to; returns the seconds of service time until then, None if nothing is counted.
        Gives way while watches are read. Raises StorageError.
        """
        self._reading.finish()
        if self._check_some() or await self._remove_some():
            return AT_ONCE
        now_seconds = self.now_seconds()
        if not self._changed:
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
        self._see_content()
        if self._changed:
            name = next(iter(self._changed))
            del self._changed[name]
            try:
                await self._counts[name].save(self.now_seconds(), self._generation)
            except BaseException:
                self._note_changed(name)
                raise
        return bool(self._changed)

    async def _remove_some(self) -> bool:
        """Delete some documents of rules that are gone, then of tables and indexes that are: these tell which rules
        there may have been. Returns True if there may be more. Raises StorageError.
        """
        generation = self._generation
        if not self._gone and not self._gone_watches:
            return False
        changes: list[RecordChange] = []
        paths: list[tuple[str, ...]] = []
        asked = 0
        while self._gone and asked < ASKED_TOGETHER and not changes:
            asked += 1
            name = next(iter(self._gone))
            changes = [RecordChange(one, None) for one, _ in self._documents.some_below(name, None, REMOVED_TOGETHER)]
            if not changes:
                del self._gone[name]
        if not self._gone:
            paths = list(islice(self._gone_watches, REMOVED_TOGETHER))
        for path in paths:
            watch, document = self._watches.find(*path)
            table = None if watch is None else self._catalog.find(watch.account, watch.region, watch.table_name)
            if watch is not None and (table is None or _source_of(table, watch) is None):
                changes.append(self._watches.removal(*path, read=WasRead(document)))
        if changes:
            await self._watches.write(*changes, generation=generation)
        for path in paths:
            self._gone_watches.pop(path, None)
        return True


def _place_of(path: str) -> WatchedPlace:
    """The table of the watch with this path."""
    account, region, name, _ = path.split("/", 3)
    return account, region, name


def _source_of(table: OpenTable, watch: Watch) -> ReadSource | None:
    """The source of a watch, which may be of a former table of this name; None if there is none any more."""
    source = table.read_source(watch.index_name) if table.table_id == watch.table_id else None
    if source is None:
        return None
    index_id = 0 if source.index is None else source.index.index_id
    return source if index_id == watch.index_id else None


def _counts_name(watch: Watch, kind: InsightRuleKind) -> str:
    """How the names of the documents of a rule's counts begin."""
    return f"{COUNTS_PREFIX}{make_source_id(watch.table_id, watch.index_id).hex()}/{watch.since_ms}/{kind}/"
