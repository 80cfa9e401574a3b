"""How do megabytes of index entries not block other requests? They are written after their commit, one entry at a time.

An item of 400 KB may have twenty entries of that size, and a commit takes about 7 ms per MB, during which nothing else
runs. So if a commit's new entries have LATE_BYTES_MIN bytes or more, the commit holds only a short row for each of them
(docs/formats/store.md), and they are *late*: written by later commits. Until all are written, the items are claimed
(`claims.py`), and other writes of these items, consistent reads of these indexes and the commit's reply wait. Late
entries left by a kill or failure are written when the engine is opened again. Why: docs/adr/0029-late-entries.md.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from hashrange.items.row_layout import ROW_HEADER_BYTES
from hashrange.items.steps import undisturbed
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Commit, Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.participant import Terms
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.pause import PAUSE
from hashrange.tables.change import Change
from hashrange.tables.entries import Entry, EntryWrite, derive_stored_entry
from hashrange.tables.open_table import ReadSource
from hashrange.tables.source_id import make_source_id, table_id_of

LATE_BYTES_MIN = 1_000_000
"""If the new index entries of one commit together have at least this many bytes, all of them are written after it."""
_NUMBER_BYTES = 2


class LateRow(NamedTuple):
    """A stored row that stands for one late entry: one of a commit with 1 MB of entries or more, written after it.

    After a restart the entry is derived again from the item.
    """

    source_id: bytes
    """Source id of the index."""
    key: bytes
    """Key of the item."""
    old_key: bytes | None
    old_header: bytes | None
    """First bytes of the old entry's row, which hold its size; None if there is no old entry."""


_encode = msgspec.msgpack.Encoder().encode
_decode = layout.row_decoder(msgspec.msgpack.Decoder(LateRow).decode, "the row of a late index entry")


class LateCommit(msgspec.Struct, eq=False):
    """A commit whose new index entries are written after it, by further commits."""

    engine_keys: set[bytes]
    """Engine keys of the items whose entries are late; these items are claimed until all entries are written."""
    left: deque[tuple[bytes, EntryWrite]]
    """For each entry still to be written: the engine key of its stored `LateRow`, and the write."""


class LateEntries:
    """Writes late entries; `index_entries.py` calls it for large commits."""

    def __init__(self, terms: Terms) -> None:
        self._terms, self._sources = terms, terms.late_sources
        self._waiting: deque[LateCommit] = deque()
        """Commits with unwritten late entries, oldest first."""

    def load(self, engine: Engine) -> None:
        """Forget the former engine's late entries, and release the claims on their items.

        `recover` reads the late entries of `engine`.
        """
        while self._waiting:
            self._terms.claims.release(self._waiting.popleft().engine_keys)
        self._sources.clear()

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Yield functions that write the late entries in a newly opened engine; each fills the draft of one commit."""
        for queue_key, write in late_writes(engine, self._terms.find_index):
            yield partial(self._write_found, queue_key=queue_key, write=write)

    def _write_found(self, draft: Draft, queue_key: bytes, write: EntryWrite | None) -> None:
        """Write a late entry that another server has left; files with parts of vector indexes do not have it."""
        _write(draft, queue_key, write)
        if write is not None:
            draft.afterwards.append(partial(self._terms.vector_parts.follow, [write]))

    def take_over(self, draft: Draft, changes: Sequence[Change]) -> None:
        """If the draft's new entries have LATE_BYTES_MIN bytes or more together, leave all of them to later commits.

        Sets `Draft.finish` to the function that makes these commits; once the draft is written, the items of the
        entries are claimed, so that other writes of them wait. Otherwise does nothing.
        """
        entries = draft.entries
        if sum([len(one.new.row) for one in entries if one.new is not None]) < LATE_BYTES_MIN:
            return
        items = {id(entry): change for change in changes for entry in change.entries}
        late = [one for one in entries if one.new is not None]
        draft.entries = [one for one in entries if one.new is None]
        left: deque[tuple[bytes, EntryWrite]] = deque()
        for number, entry in enumerate(late):
            old = None if entry.old is None else Entry(entry.old.key, Row(entry.old.row[:ROW_HEADER_BYTES]))
            former = (None, None) if old is None else (old.key, old.row)
            row = LateRow(entry.source.source_id, items[id(entry)].key, *former)
            queue_key = layout.LATE_PREFIX + draft.position.to_bytes(8, "big") + number.to_bytes(_NUMBER_BYTES, "big")
            draft.batch.put(queue_key, _encode(row))
            left.append((queue_key, entry._replace(old=old)))
        engine_keys = {items[id(entry)].table.source_id + items[id(entry)].key for entry in late}
        late_commit = LateCommit(engine_keys, left)
        draft.afterwards.append(lambda: self._begin(late_commit))
        draft.finish = lambda commit: self._finish(late_commit, commit)

    def _begin(self, late: LateCommit) -> None:
        self._terms.claims.take(late.engine_keys)
        self._waiting.append(late)
        self._sources.update(write.source.source_id for _, write in late.left)

    async def _finish(self, late: LateCommit, commit: Commit) -> None:
        """Write a commit's late entries one by one, giving way in between. After a failure, a job calls `drain`."""
        try:
            while late.left and late in self._waiting:
                await PAUSE
                await commit(lambda draft: self._write_next(draft, late))
        except BaseException:
            self._terms.wake()
            raise

    def drain(self, draft: Draft) -> float | None:
        """Write the next late entry, usually one that a failed request has left, but even if `_finish` still runs.
        Returns 0.0 (call again); None if none is late.
        """
        if not self._waiting:
            return None
        self._write_next(draft, self._waiting[0])
        return 0.0

    def _write_next(self, draft: Draft, late: LateCommit) -> None:
        if not late.left or late not in self._waiting:  # The second holds if the engine was replaced.
            return
        queue_key, write = late.left[0]
        is_there = self._terms.find_index(write.source.source_id) is not None
        draft.only_of = table_id_of(write.source.source_id) if is_there else None
        _write(draft, queue_key, write if is_there else None)
        draft.afterwards.append(lambda: self._written(late))

    def _written(self, late: LateCommit) -> None:
        _, write = late.left.popleft()
        self._terms.vector_parts.follow([write])
        self._sources -= Counter([write.source.source_id])
        if not late.left:
            self._waiting.remove(late)
            self._terms.claims.release(late.engine_keys)


def _write(draft: Draft, queue_key: bytes, write: EntryWrite | None) -> None:
    """Delete a `LateRow`, and write its late entry unless `write` is None: then the index or item is gone."""
    if write is not None:
        draft.write_entry(write)
    draft.batch.delete(queue_key)


def late_writes(
    engine: Engine, find_index: Callable[[bytes], ReadSource | None]
) -> Iterator[tuple[bytes, EntryWrite | None]]:
    """The late entries stored in an engine: key of each `LateRow`, and the entry's write (None: index or item is gone).

    Raises StorageCorruption, and the engine's bare exceptions.
    """
    for queue_key, row in scan_prefix(engine, layout.LATE_PREFIX):
        late = _decode(row)
        index = find_index(late.source_id)
        yield queue_key, None if index is None else _found(engine, index, late)


def _found(engine: Engine, index: ReadSource, late: LateRow) -> EntryWrite | None:
    row = engine.get(make_source_id(table_id_of(index.source_id)) + late.key)
    if row is None:
        return None
    with undisturbed:  # The store is being opened, or its engine is being replaced.
        entry = derive_stored_entry(index, Key(late.key), Row(row))
    assert entry is not None
    old = None if late.old_key is None or late.old_header is None else Entry(Key(late.old_key), Row(late.old_header))
    return EntryWrite(index, old, entry)
