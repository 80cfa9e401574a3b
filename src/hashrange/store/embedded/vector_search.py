"""How does the embedded store search a vector index? In a part of it in memory, which the first search loads, if numpy
is there; else it reads all entries that may be found, page by page, and ranks them exactly. Both find the same, except
in large parts (`vectors/loaded_part.py`).

The entries are not those of one moment: other requests may write while a search gives way. Rows that are found in
memory are read from the engine at the end, so that an entry that has gone is not found. Of entries with equal scores,
those with the lesser keys are found.
"""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from hashrange.errors import StorageBusy
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.rows import decode_for
from hashrange.items.steps import READ_BYTES_PER_STEP, gave_way, spend, undisturbed
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.part_loading import PartLoading
from hashrange.store.embedded.stored_part import StoredPart, stored_part, vector_reader
from hashrange.store.embedded.vector_parts import VectorParts
from hashrange.store.interface import Store
from hashrange.store.pause import FIRST_SLICE, PAUSE, hand_back
from hashrange.tables.open_table import ReadSource
from hashrange.tables.read_spans import narrow, scan_span
from hashrange.tables.span import Span
from hashrange.vectors.ranking import RankedRow, Ranking, scorer, sign_of
from hashrange.vectors.search import FoundEntries, VectorQuery
from hashrange.work_threads import WorkThread

if TYPE_CHECKING:
    from hashrange.vectors.loaded_part import LoadedPart
    from hashrange.vectors.part_search import RankedKey

PAGE_ROWS_MAX = 1_024
PAGE_BYTES = 1024 * 1024
LOADED_ENTRIES_MIN = 32
"""Up to so many entries are read for each search, which takes no longer than a millisecond or two."""
_ATTEMPTS = 4
"""How often a search in memory is repeated because an entry that it has found has gone."""
_ROW_STEPS = 4
_CODE = "hashrange.vectors.loaded_part"
_importing = WorkThread("hashrange-vectors-code")
_log = logging.getLogger("hashrange.store")


def _span_of(hash_key: bytes | None) -> Span:
    return scan_span(None, None) if hash_key is None else Span(hash_key, prefix_upper_bound(hash_key))


async def search_entries(
    store: Store, source: ReadSource, query: VectorQuery, monotonic: Callable[[], float]
) -> FoundEntries:
    """What a search of a vector index finds, page by page. Gives way between pages. Raises StorageError."""
    vectors = source.vectors
    assert vectors is not None, "only a vector index can be searched"
    ranking = Ranking(vectors.index.distance, query.vector, query.top_k)
    vector_of = vector_reader(source)
    span = _span_of(query.hash_key)
    rows_max = FIRST_SLICE
    read_bytes = 0
    while True:
        page = await settled(store.page(source.source_id, span, rows_max, PAGE_BYTES, consistent=False))
        read_bytes += page.size_bytes
        for row in page.rows:
            if query.test is None or query.test(decode_for(row, query.tested_names)):
                ranking.see(row, vector_of(row))
        if page.last_key is None:
            return FoundEntries(ranking.result(), read_bytes)
        span = narrow(span, page.last_key)
        rows_max = await hand_back(monotonic, rows_max, PAGE_ROWS_MAX)


class VectorSearches:
    """The searches of one store."""

    def __init__(self, store: Store, site: Site) -> None:
        self._store, self._site = store, site
        self._parts: VectorParts = site.vector_parts
        self._loading = PartLoading(site)
        self._make: type[LoadedPart] | None = None
        """Makes a part; None: the code has not been imported."""
        self.may_load = True
        """False if there is no numpy."""

    async def search(self, source: ReadSource, query: VectorQuery) -> FoundEntries:
        """What a search of a vector index finds. Gives way. Raises StorageError."""
        health = self._site.health
        for _ in range(_ATTEMPTS):
            generation = health.generation
            part = await self._part(source, query)
            if part is None:
                break
            part.searches += 1
            try:
                found, read_bytes = self._found(part, source, query), part.entries.read_bytes
            finally:
                self._parts.search_ended(part)
            health.require(generation)
            if found is not None:
                return FoundEntries(found, read_bytes)
        return await search_entries(self._store, source, query, self._site.clock.monotonic)

    # --- the part -------------------------------------------------------------------------------

    async def _part(self, source: ReadSource, query: VectorQuery) -> StoredPart | None:
        """The complete part that holds what may be found; None: there is none, and the pages must be read.

        Loads it, if there is none yet. Gives way. Raises StorageError.
        """
        prefix = source.source_id + (query.hash_key or b"")
        part = self._parts.find(prefix)
        assert part is None or query.tested_names.issubset(part.names)
        if part is None:
            part = await self._begun(source, query, prefix)
        generation = self._site.health.generation
        while part is not None and not part.is_complete:
            await self._load_slice(part)
            await PAUSE
            self._site.health.require(generation)
            if self._parts.find(prefix) is not part:  # it has been dropped
                return None
        return part

    async def _begun(self, source: ReadSource, query: VectorQuery, prefix: bytes) -> StoredPart | None:
        """A part that has just been added; None if there should be none."""
        vectors = source.vectors
        assert vectors is not None, "only a vector index can be searched"
        is_whole = query.hash_key is None and vectors.hash_name is not None
        if not self.may_load or is_whole or vectors.index.state != "ACTIVE":
            return None
        if not self._parts.may_hold(source, prefix):
            return None
        generation = self._site.health.generation
        span = _span_of(query.hash_key)
        page = await settled(self._store.page(source.source_id, span, LOADED_ENTRIES_MIN, PAGE_BYTES, consistent=False))
        make = None if page.last_key is None else await self._code()
        self._site.health.require(generation)
        if make is None or self._site.tables.find_index(source.source_id) is None:
            return None
        part = self._parts.find(prefix)  # another search may have added it meanwhile
        if part is None:
            part = stored_part(source, prefix, make)
            self._parts.add(part)
        return part

    async def _code(self) -> "type[LoadedPart] | None":
        """The class of parts; None if its code cannot be imported. The first call imports numpy, which takes 0.1 s, on
        a thread if there is an event loop.
        """
        if self._make is None and self.may_load:
            try:
                if self._site.is_served:
                    await _importing.run(import_module, _CODE)
                self._make = import_module(_CODE).LoadedPart
            except ImportError as error:
                self.may_load = False
                if not isinstance(error, ModuleNotFoundError):
                    _log.warning("numpy cannot be imported, so vectors are compared one by one: %s", error)
        return self._make

    async def _load_slice(self, part: StoredPart) -> None:
        """Load the next rows of a part, or more of its file. Raises StorageError."""
        if part.reading is not None or part.behind:
            await self._loading.step(part)
            return
        site = self._site
        try:
            ways_given, next_key = gave_way(), part.next_key
            with site.failures():
                rows, are_last = part.next_rows(site.engine)
            read = part.read(rows)
            with undisturbed:
                if gave_way() != ways_given:
                    if part.next_key != next_key or not self._parts.holds(part):
                        return  # another search has loaded the slice, or the part has been dropped
                    with site.failures():
                        rows, are_last = part.next_rows(site.engine)
                part.load(rows, read, are_last=are_last)
        except StorageBusy:
            if not part.skipped_keys_max:
                raise
            await site.compact(part.next_key, prefix_upper_bound(part.prefix))
            part.skipped_keys_max = 0
        except MemoryError:
            if self._parts.holds(part):
                self._parts.refuse(part)
        else:
            if self._parts.holds(part):
                self._parts.count(part)

    # --- what is found --------------------------------------------------------------------------

    def _found(self, part: StoredPart, source: ReadSource, query: VectorQuery) -> list[RankedRow] | None:
        """The best entries of the part, most similar first; None if one of them has gone. Gives way."""
        ways_given = gave_way()
        best = part.entries.search(query)
        found = []
        for one in best:
            with self._site.failures():
                stored = self._site.engine.get(source.source_id + Key(one.key))
            if stored is None:
                return None
            entry = (-one.merit, one.key, RankedRow(Row(stored), one.score))
            if gave_way() != ways_given:
                changed = _as_it_is(part, source, query, one, Row(stored))
                if changed is None:
                    return None
                entry = changed
            found.append(entry)
            spend(_ROW_STEPS + len(stored) // READ_BYTES_PER_STEP)
        found.sort()
        return [row for _, _, row in found]


def _as_it_is(
    part: StoredPart, source: ReadSource, query: VectorQuery, one: "RankedKey", row: Row
) -> tuple[float, bytes, RankedRow] | None:
    """Negative merit, key, and row with score of an entry that may have changed since it was found; None if it may not
    be found any more.
    """
    if query.test is not None and not query.test(decode_for(row, query.tested_names)):
        return None
    vector = part.vector_of(row)
    if vector == one.vector:
        return -one.merit, one.key, RankedRow(row, one.score)
    assert source.vectors is not None
    distance = source.vectors.index.distance
    score = scorer(distance, query.vector)(vector)
    return -sign_of(distance) * score, one.key, RankedRow(row, score)
