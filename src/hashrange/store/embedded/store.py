"""How is the store on one machine put together, and how does it read?
EmbeddedStore: RocksDB, one process, one event loop.

Writes are in `commits.py`, work without a request in `upkeep.py`, copies in `checkpoints.py`. After a failed write,
sync or read nothing is served until the engine has been reopened (`health.py`), which shows what the disk holds; if a
write failed because the disk is full, reading continues.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hashrange.clock import Clock
from hashrange.errors import StorageBusy
from hashrange.items.types import Key, Row
from hashrange.soon import Soon, settled
from hashrange.store.embedded import layout
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.store.embedded.checkpoints import Copies, Home
from hashrange.store.embedded.claims import Claims
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.documents import EmbeddedDocuments
from hashrange.store.embedded.durability import Waiter
from hashrange.store.embedded.engine import Engine, close_engine
from hashrange.store.embedded.engine_errors import OPENING, storage_errors, undone_on_failure
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.identity import FolderLock
from hashrange.store.embedded.item_collections import collection_size_bytes
from hashrange.store.embedded.loading import StoredContent, read_content
from hashrange.store.embedded.participant import Options, Terms
from hashrange.store.embedded.participants import MakeParticipant
from hashrange.store.embedded.reading import PageReader
from hashrange.store.embedded.row_copies import EmbeddedRowCopies
from hashrange.store.embedded.saved_parts import save_parts
from hashrange.store.embedded.staged_rows import StagedRows
from hashrange.store.embedded.stream_reads import StreamReads
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.store.embedded.tokens import Tokens
from hashrange.store.embedded.upkeep import Upkeep
from hashrange.store.embedded.vector_parts import LeavingGroups, worth_saving
from hashrange.store.embedded.vector_search import VectorSearches
from hashrange.store.embedded.walks import Walks
from hashrange.store.interface import Page, Payer
from hashrange.store.pause import PAUSE
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.span import Span
from hashrange.vectors.search import FoundEntries, VectorQuery

PAGE_SECONDS_MAX = 0.005
"""After this time, the reading of a page lets other requests run."""


class LockedHome(NamedTuple):
    """Where a store's engine is, and how it is used."""

    home: Home
    lock: FolderLock | None
    """The data folder's; None: in memory."""
    options: Options

    def unlock(self) -> None:
        """Release the data folder, if there is one."""
        if self.lock is not None:
            self.lock.release()


class EmbeddedStore(Commits):
    """Rows by key in one engine: it reads them, and writes them as `Commits` does. Made by `opening.open_store`.

    It serves nothing before `begin`.
    """

    is_clustered = False

    def __init__(
        self,
        place: LockedHome,
        clock: Clock,
        loop: asyncio.AbstractEventLoop | None,
        participants: Sequence[MakeParticipant],
    ) -> None:
        home, lock, options = place
        self._lock, self._options = lock, options
        self.place = home.place
        """The data folder, or `memory`; for messages to people."""
        site = Site(clock, loop, lock, self.load, options.vector_memory_bytes)
        claims, streams = Claims(), EmbeddedStreams()
        self._health, self._barrier, self._stream_states = site.health, site.barrier, streams
        self._late_sources: Counter[bytes] = Counter()
        walks = Walks(site.tables, site.wake_jobs)
        terms = Terms(
            clock,
            options,
            streams,
            site.tables.find,
            site.tables.find_index,
            walks.has_passed,
            claims,
            self._late_sources,
            site.wake_jobs,
            site.vector_parts,
        )
        site.tables.take_participants([make(terms) for make in participants])
        super().__init__(site, walks, Tokens(site.housekeeper), claims)
        staged = next(one for one in site.tables.participants if isinstance(one, StagedRows))
        self.catalog = EmbeddedCatalog(self, walks, options, staged.needs)
        self.row_copies = EmbeddedRowCopies(self, self.catalog)
        self.streams, self.documents = StreamReads(site, streams), EmbeddedDocuments(self)
        self.vector_searches = VectorSearches(self, site)
        self.maintenance = self.local_maintenance = Upkeep(self, walks, self.catalog, streams, options)
        self.copying = Copies(site, self.read, self.take_engine, lock, home)
        self.is_kept = self.copying.is_kept

    def begin(self, engine: Engine | None = None, stored: StoredContent | None = None) -> None:
        """Serve the engine of the store's place; `engine`: the same, if it has been opened, `stored`: what has been
        read of it. It is closed if that fails. Raises StorageError.
        """
        self.site.engine = self.copying.open_engine() if engine is None else engine
        place = self.site.place
        with storage_errors(place, OPENING), undone_on_failure(lambda: close_engine(self.engine, place, may_fail=True)):
            self._health.begin()
            if self._lock is not None and self.is_kept:
                self.site.vector_parts.saved.open(self.engine, self._lock.folder)
            self.load(stored)

    @property
    def engine(self) -> Engine:
        """The engine, or its stand-in after a failure."""
        return self.site.engine

    # --- rows ------------------------------------------------------------------------------------

    def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Row | None:
        """The current row at `key`, whatever `consistent` says, or None. Never suspends. Raises StorageError."""
        site = self.site
        try:
            return site.reads.row(site.engine, source_id + key)
        except Exception as error:
            raise site.fail(error) from error

    def unread(self, source_id: bytes, key: Key, units: float, meter: Payer = None) -> None:
        """Does nothing: this store counts no units."""

    def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, meter: Payer = None, *, consistent: bool
    ) -> Soon[Page]:
        """Rows of `span` up to and including the row that reaches a limit. Raises StorageError.

        A short or cached page is returned at once. The reading of a long page lets other requests run every few
        milliseconds and continues after the last row read, so the page is no snapshot. A consistent read waits until
        the index has no late entries.
        """
        if consistent and source_id in self._late_sources:
            return self._page_behind_late_entries(source_id, span, limit_rows, limit_bytes)
        site = self.site
        reader, was_kept = site.reads.page(site.engine, source_id, span, limit_rows, limit_bytes)
        if not was_kept:
            self.maintenance.pages_read += 1
        return reader if isinstance(reader, Page) else self._read_on(source_id, span, reader)

    def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> Soon[FoundEntries]:
        """The most similar entries of a vector index, of all that may be found. Raises StorageError."""
        return self.vector_searches.search(source, query)

    async def _page_behind_late_entries(self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int) -> Page:
        while source_id in self._late_sources:
            await PAUSE
        return await settled(self.page(source_id, span, limit_rows, limit_bytes, consistent=True))

    async def _read_on(self, source_id: bytes, span: Span, reader: PageReader) -> Page:
        """Complete the page that `reader` has begun, giving way in between. Raises StorageError."""
        site = self.site
        monotonic = site.clock.monotonic
        generation = self._health.generation
        while True:
            try:
                page = reader.advance(site.engine, monotonic, monotonic() + PAGE_SECONDS_MAX)
            except Exception as error:
                fault = site.fail(error)
                if not isinstance(fault, StorageBusy) or not reader.skipped_keys_max:
                    raise fault from error
                await site.compact(source_id + span.lower, source_id + span.upper)
                reader.skipped_keys_max = 0
                page = None
            if page is not None:
                return page
            await PAUSE
            self._health.require(generation)

    async def collection_size_bytes(self, table: OpenTable, key: Key) -> int:
        """Size of the item collection that `key` belongs to. Never suspends. Raises StorageError."""
        with self.site.failures():
            return collection_size_bytes(self.site.engine, table, key)

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """Item count and size of each source; exact, as of the last commit. Never suspends."""
        statistics_of = self.site.statistics.of
        return {source_id: statistics_of(source_id) for source_id in sources}

    # --- durability ------------------------------------------------------------------------------

    def position(self) -> int:
        """Number of the last commit."""
        return self._barrier.position

    def durable_position(self) -> int:
        """Number of the last commit that would survive a power cut; always `position()` for a store in memory."""
        return self._barrier.durable_position

    def position_of(self, table: OpenTable) -> int:
        """Number of the last commit that may have changed rows or index entries of the table."""
        site = self.site
        return max(site.all_changed_at, site.changed_at.get(table.table_id, 0))

    def when_durable(self, position: int, callback: Waiter) -> None:
        """Call `callback` once all commits up to `position` are durable (perhaps at once), or with a StorageError."""
        self._barrier.when_durable(position, callback)

    # --- replacing the engine, and closing ---------------------------------------------------------

    def read(self, engine: Engine) -> StoredContent:
        """Read what is kept in memory of a newly opened engine's content, for `begin` or `take_engine`, on any thread.

        Raises StorageCorruption and the engine's bare exceptions.
        """
        return read_content(engine, self._options, self._tables.participants, self._walks)

    def load(self, stored: StoredContent | None = None) -> None:
        """Put all state in place that is kept in memory of a newly opened engine's content, and commit what
        `Participant.recover` yields.

        `stored`: the state, if it has been read; then 0.05 µs for each table.
        Raises StorageError, EngineRefused and the engine's bare exceptions.
        """
        engine = self.site.engine
        stored = stored or self.read(engine)
        self._barrier.begin_at(last_position(engine, self._barrier.position))
        self._tokens.load()
        self.documents.load(stored.documents)
        for participant, read in zip(self._tables.participants, stored.of_participants, strict=True):
            participant.load(engine, read)
        self.catalog.load(stored.catalog)
        self._walks.positions = stored.walks
        for participant in self._tables.participants:
            for make in participant.recover(engine):
                self.commit_now(make)
        self.site.wake_jobs()

    def take_engine(self, engine: Engine, stored: StoredContent) -> Sequence[dict[Any, Any]]:
        """Serve the content of a newly opened engine; `stored`: what has been read of it.

        Returns what takes long to free of the former content (`free_entries`). Raises OSError, and what `load` raises.
        """
        tables = self._tables
        of_participants = [one for participant in tables.participants for one in participant.content()]
        former = *self._stream_states.content, *self.catalog.content, *of_participants, tables.written
        self._stream_states.content_goes()
        self.site.use(engine)
        self._health.begin()
        self.load(stored)
        return former

    async def close(self) -> None:
        """Make all commits durable and release the folder. May raise StorageError; the store is closed all the same.

        With an event loop, that does not wait for the engine's files, and gives way.
        """
        if not self.site.is_served:
            self.close_now()
            return
        engine, leaving = self._end()
        try:
            await asyncio.to_thread(self._close, engine, leaving)
        except asyncio.CancelledError:
            leaving = None  # the thread still reads the parts
            raise
        finally:
            for _ in self.site.vector_parts.end(leaving):
                await asyncio.sleep(0)

    def close_now(self) -> None:
        """Close the store as `close` does, for callers without an event loop."""
        engine, leaving = self._end()
        try:
            self._close(engine, leaving)
        finally:
            for _ in self.site.vector_parts.end(leaving):
                pass

    def _end(self) -> tuple[Engine | None, LeavingGroups | None]:
        """Sync all commits, unless the content is deleted now, and refuse all calls;
        returns the engine to be closed, if one is open, and the parts of vector indexes, if some may be saved.
        """
        self._barrier.finish(is_kept=self.is_kept)
        leaving = None
        if self.is_kept and self._health.failure is None:
            leaving = self.site.vector_parts.let_go()
        return self._health.shut(), leaving

    def _close(self, engine: Engine | None, leaving: LeavingGroups | None) -> None:
        """Save parts of vector indexes and close the engine, on any thread, and release the folder. May raise
        StorageError.
        """
        try:
            if engine is not None:
                is_failing = False
                if leaving is not None and self._lock is not None:
                    is_failing = not save_parts(
                        worth_saving(leaving), engine, self._lock.folder, self.site.clock.monotonic
                    )
                is_cut_short = self.site.housekeeper.stop(engine) or is_failing
                close_engine(engine, self.place, may_fail=is_cut_short or self.site.is_in_memory)
                if not is_cut_short:
                    self._health.forget_synced()
        finally:
            if self._lock is not None:
                self._lock.release()
            self.copying.closed()
            self._stream_states.drop()
            self.catalog.drop()


def last_position(engine: Engine, at_least: int) -> int:
    """The position of the last commit in a newly opened engine: the number of the engine's last write.

    Each commit raises that number by at least one, so positions grow across restarts, and nothing has to be written for
    that. The number may be below `at_least`, the last position so far, if the engine replaces another one in a running
    store, or was reopened without the last commits: then returns `at_least`, and stores the difference at AHEAD_KEY.
    Raises StorageCorruption and the engine's bare exceptions.
    """
    row = engine.get(layout.AHEAD_KEY)
    sequence: int = engine.latest_sequence_number()
    position = sequence + (0 if row is None else layout.decode_counter(row))
    if position >= at_least:
        return position
    engine.put(layout.AHEAD_KEY, layout.encode_counter(at_least - sequence))
    return at_least
