"""Which tables exist? The catalog of an embedded store: rows in the engine, dicts in memory.

Each change is one commit; the dicts change only after it has been written. The views that `tables` returns stay the
same objects while somebody has them, even if the engine is replaced; no memory is kept of places without tables that
nobody asks for.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from hashrange.errors import StorageError
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.steps import spend, walk
from hashrange.store.embedded import layout
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.open_tables import StoredTable
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.partitions import Partitions, partitions_of, read_partitions
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.embedded.statistics import TableStatistics, grown_sources, read_statistics
from hashrange.store.embedded.walks import Walks
from hashrange.store.interface import TableChanged
from hashrange.store.table_view import TableView
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import SourceId
from hashrange.work_threads import free_entries

ALWAYS_GROWN = -1
"""Size limit in bytes of a source with too few partitions: every source is beyond it."""
REOPENING_STEPS = 6
"""Steps (`hashrange.items.steps`) of opening a table anew."""
RECLAIMED_BYTES_MIN = 4_000_000
"""The deletion of an index, or of a table with its indexes, starts a compaction if these held at least this many bytes;
otherwise their space is freed by later compactions of neighbouring keys.
"""


class StoredCatalog(NamedTuple):
    """What an engine holds of tables, made ready for one store, which takes it over."""

    by_id: dict[int, StoredTable]
    """In order of table id."""
    by_place: dict[tuple[str, str], dict[str, OpenTable]]
    """Account and Region → name → table, of those that are listed."""
    places: dict[str, set[tuple[str, str]]]
    """Name → (account, Region) of each table of this name."""
    partitions: dict[bytes, list[Partition]]
    """Source id → partitions in order of their hashes."""
    statistics: dict[bytes, TableStatistics]
    size_limits: dict[bytes, int]
    """Source id → size in bytes beyond which one of the source's partitions is to be split."""
    grown: set[bytes]
    """Source ids of the sources beyond these sizes."""
    next_table_id: int


def read_catalog(engine: Engine, options: Options) -> StoredCatalog:
    """Read the tables of a newly opened engine, on any thread. 20 µs for each.

    Raises StorageCorruption and the engine's bare exceptions.
    """
    counter = engine.get(layout.NEXT_TABLE_ID_KEY)
    partitions = read_partitions(engine)
    schemas = [layout.decode_table(row) for _, row in scan_prefix(engine, layout.CATALOG_PREFIX)]
    by_id = {schema.table_id: StoredTable(schema, partitions_of(schema, partitions)) for schema in schemas}
    by_place: dict[tuple[str, str], dict[str, OpenTable]] = {}
    places: dict[str, set[tuple[str, str]]] = {}
    for table in by_id.values():
        if not table.schema.is_importing:
            place = (table.schema.account, table.schema.region)
            by_place.setdefault(place, {})[table.name] = table
            places.setdefault(table.name, set()).add(place)
    limits = dict([limit for table in by_id.values() for limit in size_limits(table, options)])
    statistics = read_statistics(engine)
    grown = grown_sources(statistics, limits)
    next_table_id = 1 if counter is None else int.from_bytes(counter, "big")
    return StoredCatalog(by_id, by_place, places, partitions, statistics, limits, grown, next_table_id)


def size_limits(table: OpenTable, options: Options) -> Iterator[tuple[bytes, int]]:
    """Each source of a table, and its size limit, beyond which one of the source's partitions splits.

    A source with too few partitions for its throughput is beyond any.
    """
    for source_id, partitions in table.partitions.items():
        has_few = len(partitions) < options.initial_partitions(table.schema, SourceId(source_id))
        yield source_id, ALWAYS_GROWN if has_few else len(partitions) * options.partition_size_max_bytes


class EmbeddedCatalog:
    """The tables of a store, by (account, Region, name)."""

    is_late = False

    def __init__(self, commits: Commits, walks: Walks, options: Options, is_needed: Callable[[bytes], bool]) -> None:
        """`is_needed`: tells whether a source's rows are to stay although its table is deleted."""
        site = self._site = commits.site
        self._opened = site.tables
        self._walks = walks
        self._commits = commits
        self._options = options
        self._is_needed = is_needed
        self._partitions = Partitions(options.initial_partitions)
        self._tables: dict[tuple[str, str], TableView] = {}
        """The views that have tables."""
        self._views: WeakValueDictionary[tuple[str, str], TableView] = WeakValueDictionary()
        """All views."""
        self._places: dict[str, set[tuple[str, str]]] = {}
        """Name → (account, Region) of each table of this name."""
        self._next_table_id = 1
        self._followers: list[TableChanged] = []
        """Called after each change."""

    def on_change(self, changed: TableChanged) -> None:
        """Call `changed` after each change of a table's description or partitions."""
        self._followers.append(changed)

    def _tell(self, before: OpenTable | None, after: OpenTable | None) -> None:
        for changed in self._followers:
            changed(before, after)

    def load(self, stored: StoredCatalog) -> None:
        """Replace all tables, partitions and statistics by those of a newly opened engine;
        results of `tables` stay valid. 0.05 µs for each table, 1 µs for each account and Region.
        """
        former, self._tables = self._tables, {}
        for tables in former.values():
            tables.clear()
        self._opened.replace_all(stored.by_id)
        for place, listed in stored.by_place.items():
            view = former.pop(place, None)
            tables = self._tables[place] = self._view(place) if view is None else view
            tables.update(listed)
        self._places = stored.places
        self._partitions.by_source = stored.partitions
        self._site.statistics.load(stored.statistics, stored.size_limits, stored.grown)
        self._next_table_id = stored.next_table_id
        self._site.changed_at = {}  # what a newly opened engine holds is durable
        self._tell(None, None)

    @property
    def content(self) -> Sequence[dict[Any, Any]]:
        """What takes long to free of all tables. Other dicts take the place of these when the engine is replaced."""
        statistics = self._site.statistics
        return self._opened.by_id, self._places, self._partitions.by_source, statistics.by_table, statistics.size_limits

    def drop(self) -> None:
        """Free all tables, on any thread, once nobody asks for them any more."""
        for tables in self._tables.values():
            tables.clear()
        self._tables.clear()
        free_entries(*self.content)

    def reopen(self) -> None:
        """Open all tables with global indexes anew that have been written to, because participants may now take part
        in the writes of others of them than before. Their descriptions and partitions stay as they are. May give way.
        6 µs each.
        """
        for table in walk(list(self._opened.written.values())):
            if self._opened.is_current(table) and any(index.is_global for index in table.schema.indexes):
                spend(REOPENING_STEPS)
                self._list(self._opened.reopen(table))

    def reopen_table(self, table_id: int) -> None:
        """Open a table anew, if it is there, because a participant may now take part in its writes, or no longer."""
        table = self._opened.find(table_id)
        if table is not None:
            self._list(self._opened.reopen(table))

    def find(self, account: str, region: str, name: str) -> OpenTable | None:
        """The table with this name, whatever its state; None if there is none."""
        tables = self._tables.get((account, region))
        return None if tables is None else tables.get(name)

    def tables(self, account: str, region: str) -> Mapping[str, OpenTable]:
        """A live, read-only view: name → table, of one account and Region."""
        return self._view((account, region))

    def elsewhere(self, name: str) -> Collection[tuple[str, str]]:
        """(account, Region) of every table named `name`."""
        return self._places.get(name, ())

    async def look_up(self, account: str, region: str, names: Iterable[str]) -> bool:
        """Always False, which means that no table was added: the tables in memory are always those in the engine."""
        return False

    def all_tables(self) -> Sequence[OpenTable]:
        """Every table of all accounts and Regions, ordered by table id."""
        return [table for table in self._opened.all() if not table.schema.is_importing]

    def importing(self) -> Sequence[OpenTable]:
        """The tables that imports fill."""
        return [table for table in self._opened.all() if table.schema.is_importing]

    def find_id(self, table_id: int) -> OpenTable | None:
        """The table with this id, whatever its state; None if there is none."""
        return self._opened.find(table_id)

    async def create(self, make: Callable[[int], Table]) -> OpenTable | None:
        """Store the table that `make(table_id)` describes, under the next table id; None (nothing stored) when the
        table's name is taken. Raises StorageError, such as when no table id is left.
        """
        table = await self._commits.commit(lambda draft: self._create(draft, make))
        return None if table is None else self.find_id(table.table_id)

    async def replace(self, old: Table, new: Table) -> bool:
        """Replace a table's description `old` by `new`; False (nothing changed) when `old` is no longer the stored one.

        Raises StorageError, such as when no index id is left.
        """
        assert (old.table_id, old.account, old.region, old.name) == (new.table_id, new.account, new.region, new.name)
        return await self._commits.commit(lambda draft: self._replace(draft, old, new))

    async def delete(self, table: Table) -> bool:
        """Remove a table with its rows and index entries in one commit; False (nothing changed) when `table` is no
        longer the stored description.
        """
        return await self._commits.commit(lambda draft: self._delete(draft, table))

    def _create(self, draft: Draft, make: Callable[[int], Table]) -> Table | None:
        table = make(self._next_table_id)
        if not table.is_importing and self.find(table.account, table.region, table.name) is not None:
            return None
        table_id = self.take_table_id(draft)
        assert table.table_id == table_id
        self.put(draft, None, table)
        return table

    def take_table_id(self, draft: Draft) -> int:
        """The next table id, which the draft's commit takes. Raises StorageError if none is left."""
        table_id = self._next_table_id
        if table_id > layout.TABLE_ID_MAX:
            raise StorageError("This store has given out every table id. Move its tables to a new data folder.")
        draft.batch.put(layout.NEXT_TABLE_ID_KEY, layout.encode_counter(table_id + 1))
        draft.afterwards.append(partial(setattr, self, "_next_table_id", table_id + 1))
        return table_id

    def _replace(self, draft: Draft, old: Table, new: Table) -> bool:
        is_shown = old.is_importing and not new.is_importing
        if not self._is_stored(old) or (is_shown and self.find(new.account, new.region, new.name) is not None):
            return False
        if new.next_index_id > layout.INDEX_ID_MAX + 1:
            raise StorageError("This table has given out every index id. Move its items to a new table.")
        self.put(draft, old, new)
        return True

    def put(self, draft: Draft, old: Table | None, new: Table) -> None:
        """Add to `draft` a table's description `new`, which replaces `old` (None: the table is new), and the
        rows of partitions, participants and walks that change with it. Sources that `new` lacks are deleted.
        """
        draft.batch.put(layout.catalog_key(new.table_id), layout.encode_table(new))
        before, after = set([] if old is None else old.sources), set(new.sources)
        for source_id in sorted(before - after):
            self._drop(draft, source_id, prefix_upper_bound(source_id), [source_id])
        partitions = self._partitions.begin(draft, new, sorted(after - before))
        draft.afterwards.append(lambda: self._adopt(new))
        for participant in self._opened.participants:
            participant.table_changes(draft, old, new, partitions)
        self._walks.table_changes(draft, new)

    def split(self, draft: Draft, table: OpenTable, partition: Partition) -> None:
        """Add to `draft` that two partitions replace `partition`, which belongs to `table` or one of its indexes."""
        children = self._partitions.split(draft, partition)
        for participant in self._opened.participants:
            participant.partition_splits(draft, table.schema, partition, children)
        draft.afterwards.append(lambda: self._adopt(table.schema))

    def _delete(self, draft: Draft, table: Table) -> bool:
        if not self._is_stored(table):
            return False
        draft.batch.delete(layout.catalog_key(table.table_id))
        draft.afterwards.append(lambda: self._forget(table))
        lower, upper = layout.table_range(table.table_id)
        if self._is_needed(table.source_id):
            lower = prefix_upper_bound(table.source_id)
            draft.afterwards.append(lambda: self._site.statistics.size_limits.pop(table.source_id, None))
        self._drop(draft, lower, upper, table.sources)
        for participant in self._opened.participants:
            participant.table_changes(draft, table, None, ())
        return True

    def _drop(self, draft: Draft, lower: bytes, upper: bytes, sources: Sequence[SourceId]) -> None:
        """Delete the `sources` of a table, all in `lower <= source id < upper`: rows, statistics, walks and partitions.

        If they held RECLAIMED_BYTES_MIN or more, and the store has an event loop, a compaction of
        `lower <= key < upper` starts after the commit.
        """
        draft.batch.delete_range(lower, upper)
        site = self._site
        size_bytes = site.statistics.drop(draft, lower, upper)
        self._walks.drop(draft, lower, upper)
        self._partitions.drop(draft, sources)
        draft.afterwards += [site.reads.clear, partial(site.vector_parts.drop, sources)]
        if size_bytes >= RECLAIMED_BYTES_MIN and site.is_served:
            draft.afterwards.append(lambda: site.housekeeper.compact(site.engine, lower, upper))

    def _adopt(self, table: Table) -> None:
        """Make the `OpenTable` of a table just written, list it by name, and set the size limits of its sources."""
        before = self._opened.find(table.table_id)
        partitions = partitions_of(table, self._partitions.by_source)
        opened = self._opened.open(table, partitions)
        self._list(opened)
        for source_id, most_bytes in size_limits(opened, self._options):
            self._site.statistics.limit(source_id, most_bytes)
        if not table.is_importing:
            self._tell(None if before is None or before.schema.is_importing else before, opened)

    def _forget(self, table: Table) -> None:
        self._site.changed_at.pop(table.table_id, None)  # the deletion itself counts as a change of any table
        closed = self._opened.close(table.table_id)
        if table.is_importing:
            return
        place = (table.account, table.region)
        tables, places = self._tables[place], self._places[table.name]
        del tables[table.name]
        places.remove(place)
        if not tables:
            del self._tables[place]
        if not places:
            del self._places[table.name]
        self._tell(closed, None)

    def _is_stored(self, table: Table) -> bool:
        stored = (
            self.find_id(table.table_id) if table.is_importing else self.find(table.account, table.region, table.name)
        )
        return stored is not None and (stored.schema is table or stored.schema == table)

    def _list(self, table: OpenTable) -> None:
        """List a table by its place and name, in the place of a former one, unless it is being imported."""
        if table.schema.is_importing:
            return
        place = (table.schema.account, table.schema.region)
        tables = self._tables.get(place) or self._tables.setdefault(place, self._view(place))
        tables[table.name] = table
        self._places.setdefault(table.name, set()).add(place)

    def _view(self, place: tuple[str, str]) -> TableView:
        return self._views.setdefault(place, TableView())
