"""Where are documents stored? In system rows outside of all tables: a short one in one row, a long one in pieces,
behind a row that leads to them.

    DOCUMENT_PREFIX ‖ name in UTF-8                → the document
    LONG_DOCUMENT_PREFIX ‖ name in UTF-8           → where the pieces are: a `layout.LongDocument`
    PIECE_PREFIX ‖ id ‖ number of the piece        → a piece; all but the last have DOCUMENT_ROW_BYTES_MAX bytes

Reads of ranges end at the first row behind them, so a long row would make all of them slow that end before it. A write
of much first writes the pieces, in commits of their own, and gives way in between; then one commit puts the rows that
lead to them, and deletes the pieces of what was there before. Until then nothing leads to the new pieces.
What a kill or an error leaves behind is deleted when the store is opened, or with a later write.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from typing import NamedTuple

from hashrange.items.growing_bytes import GrowingBytes
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.steps import READ_BYTES_PER_STEP, spend
from hashrange.store.documents import NOTHING_READ
from hashrange.store.embedded import layout
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.layout import DOCUMENT_ROW_BYTES_MAX, LongDocument
from hashrange.store.embedded.pieces import (
    COMMIT_BYTES_MAX,
    delete_pieces,
    document_piece,
    document_pieces,
    new_long_document,
    piece_ids,
    put_pieces,
)
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.store.pause import PAUSE

NO_TABLE_ID = 0
"""The table id of system rows: a commit of documents changes no table, so no read of a table waits for it."""
SOME_BYTES = 256 * 1024
"""Bytes with which a part of many documents ends: some short documents may be followed by very long ones."""
UNSYNCED_BYTES_MAX = 4 * COMMIT_BYTES_MAX
"""Bytes of pieces after which a write waits until they are durable: a commit of others is synced together with them."""


class StoredDocuments(NamedTuple):
    """What a store keeps in memory of its documents."""

    long: dict[str, LongDocument]
    """By name: the long documents."""
    left_behind: set[bytes]
    """Ids of pieces that nothing leads to."""


def read_documents(engine: Engine) -> StoredDocuments:
    """Read which documents of a newly opened engine are long, on any thread. Raises StorageCorruption and the engine's
    bare exceptions.
    """
    long = dict(long_documents(engine))
    return StoredDocuments(long, set(piece_ids(engine)) - {one.id for one in long.values()})


class EmbeddedDocuments:
    """Implements `documents.Documents`."""

    def __init__(self, commits: Commits) -> None:
        self._site = commits.site
        self._commits = commits
        self.generation = 0
        """Number of times that an engine was opened: it may hold other documents than the one before."""
        self._long: dict[str, LongDocument] = {}
        """By name: the long documents of the last commit."""
        self._left_behind: set[bytes] = set()
        """Ids of pieces that nothing leads to, and nobody is writing."""

    def load(self, stored: StoredDocuments) -> None:
        """Take over what has been read of a newly opened engine. Raises the engine's bare exceptions."""
        self.generation += 1
        self._long, self._left_behind = stored
        if self._left_behind:
            self._commits.commit_now(self._delete_left_behind)

    def get(self, name: str) -> bytes | None:
        """The document of this name; None if there is none. Raises StorageError."""
        while (long := self._long.get(name)) is not None:
            whole = GrowingBytes()
            for number in range(long.piece_count):
                spend(DOCUMENT_ROW_BYTES_MAX // READ_BYTES_PER_STEP)
                if self._long.get(name) is not long:
                    break
                whole.write(self._piece(name, long, number))
            else:
                return whole.getvalue()
        return self._now(name)

    def _now(self, name: str) -> bytes | None:
        """As `get`, without giving way."""
        long, engine = self._long.get(name), self._site.engine
        try:
            if long is not None:
                return b"".join(document_pieces(engine, name, long))
            found: bytes | None = engine.get(layout.DOCUMENT_PREFIX + name.encode())
        except Exception as error:
            raise self._site.fail(error) from error
        return found

    def _piece(self, name: str, long: LongDocument, number: int) -> bytes:
        with self._site.failures():
            return document_piece(self._site.engine, name, long, number)

    async def read(self, name: str) -> bytes | None:
        """As `get`, but gives way while a long document is read."""
        while (long := self._long.get(name)) is not None:
            whole = GrowingBytes()
            for number in range(long.piece_count):
                if number * DOCUMENT_ROW_BYTES_MAX % COMMIT_BYTES_MAX == 0:
                    await PAUSE
                    if self._long.get(name) is not long:
                        break
                whole.write(self._piece(name, long, number))
            else:
                return whole.getvalue()
        return self.get(name)

    def below(self, prefix: str) -> Sequence[tuple[str, bytes]]:
        """Name and value of every document whose name begins with `prefix`, in order. Raises StorageError."""
        return self.some_below(prefix, None, None)

    def some_below(self, prefix: str, after: str | None, count: int | None) -> Sequence[tuple[str, bytes]]:
        """At most `count` of these documents, and none behind the one with which they have SOME_BYTES: those that
        follow the name `after`, None: the first ones. All, whatever their length, if `count` is None. Raises
        StorageError.
        """
        start, whole = len(layout.DOCUMENT_PREFIX), layout.DOCUMENT_PREFIX + prefix.encode()
        first = whole if after is None else layout.DOCUMENT_PREFIX + after.encode() + b"\x00"
        engine = self._site.engine
        found: list[tuple[bytes, bytes | LongDocument]] = [
            (name, long)
            for name, long in ((text.encode(), one) for text, one in self._long.items() if text.startswith(prefix))
            if layout.DOCUMENT_PREFIX + name >= first
        ]
        with self._site.failures():
            rows = scan_range(engine, first, prefix_upper_bound(whole))
            found += [(engine_key[start:], row) for engine_key, row in islice(rows, count)]
            found.sort(key=lambda one: one[0])
            return list(_wholes(engine, found[:count], inf if count is None else SOME_BYTES))

    async def write(
        self,
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        """Put documents, or delete those whose value is None, all in one commit. Raises StorageError.

        Returns False (nothing done) if `generation` is given and out of date, or a document is not as it was `read`.
        Gives way while it compares and writes long documents. One that is not as it was read costs no piece.
        """
        long = {
            name: value for name, value in changes.items() if value is not None and len(value) > DOCUMENT_ROW_BYTES_MAX
        }
        is_much = sum(map(len, long.values())) > COMMIT_BYTES_MAX
        is_much_read = sum([len(document) for document in read.values() if document]) > COMMIT_BYTES_MAX
        compared_first = read if is_much or is_much_read else NOTHING_READ
        while generation is None or generation == self.generation:
            written: dict[str, LongDocument] = {}
            """The long documents whose pieces have been written."""
            compared: dict[str, LongDocument] = {}
            now = self.generation
            try:
                is_done = await self._compare(compared_first, compared)
                if is_done and is_much and not await self._write_pieces(long, written):
                    continue
                is_done = is_done and await self._commits.commit(
                    lambda draft: (
                        self._are_as_read(read, compared)  # noqa: B023 - called at once
                        and self._put(draft, changes, now, written)  # noqa: B023
                    ),
                )
            finally:
                if now == self.generation:
                    self._left_behind |= {one.id for name, one in written.items() if self._long.get(name) is not one}
            if is_done or now == self.generation:
                return is_done
        return False

    async def _compare(self, read: Mapping[str, bytes | None], compared: dict[str, LongDocument]) -> bool:
        """True if these documents are as they were read. Notes in `compared` where long ones are: as long as they are
        there, they need no other comparison. Gives way.
        """
        for name, document in read.items():
            long = self._long.get(name)
            if long is None:
                if self._now(name) != document:
                    return False
                continue
            if document is None or len(document) != long.size_bytes:
                return False
            for number in range(long.piece_count):
                start = number * DOCUMENT_ROW_BYTES_MAX
                if start and start % COMMIT_BYTES_MAX == 0:
                    await PAUSE
                    if self._long.get(name) is not long:
                        return False
                if self._piece(name, long, number) != document[start : start + DOCUMENT_ROW_BYTES_MAX]:
                    return False
            compared[name] = long
        return True

    def _are_as_read(self, read: Mapping[str, bytes | None], compared: Mapping[str, LongDocument]) -> bool:
        """True if these documents are as they were read, of which `_compare` has compared some."""
        return all(
            self._long.get(name) is compared[name] if name in compared else self._now(name) == document
            for name, document in read.items()
        )

    async def _write_pieces(self, long: Mapping[str, bytes], written: dict[str, LongDocument]) -> bool:
        """Write the pieces of long documents, and note in `written` what they are of.
        False if another engine was opened meanwhile.
        """
        generation = self.generation
        for name, value in long.items():
            one = written[name] = new_long_document(len(value))
            for start in range(0, len(value), COMMIT_BYTES_MAX):
                await PAUSE

                def put(draft: Draft, one: LongDocument = one, value: bytes = value, start: int = start) -> bool:
                    if generation != self.generation:
                        return False
                    draft.only_of = NO_TABLE_ID
                    put_pieces(draft.batch, one, value, start)
                    return True

                if not await self._commits.commit(put):
                    return False
                if (start + COMMIT_BYTES_MAX) % UNSYNCED_BYTES_MAX == 0:
                    await self._durable()
        return True

    async def _durable(self) -> None:
        """Wait until all commits so far are durable, or cannot become so, which the next commit finds out."""
        barrier = self._site.barrier
        if barrier.position > barrier.durable_position and is_on_loop():
            ended = asyncio.Event()
            barrier.when_durable(barrier.position, lambda _: ended.set())
            await ended.wait()

    def _put(
        self,
        draft: Draft,
        changes: Mapping[str, bytes | None],
        generation: int,
        written: Mapping[str, LongDocument],
    ) -> bool:
        """Add the changes to a draft. False (nothing added) if the content is another one by now."""
        if generation != self.generation:
            return False
        draft.only_of = NO_TABLE_ID
        after: dict[str, LongDocument | None] = {}
        for name, value in changes.items():
            former = self._long.get(name)
            if value is not None and len(value) > DOCUMENT_ROW_BYTES_MAX:
                after[name] = long = written[name] if name in written else new_long_document(len(value))
                if name not in written:
                    put_pieces(draft.batch, long, value, 0)
                draft.batch.put(layout.LONG_DOCUMENT_PREFIX + name.encode(), layout.encode_long_document(long))
                draft.batch.delete(layout.DOCUMENT_PREFIX + name.encode())
            else:
                if former is not None:
                    after[name] = None
                    draft.batch.delete(layout.LONG_DOCUMENT_PREFIX + name.encode())
                if value is None:
                    draft.batch.delete(layout.DOCUMENT_PREFIX + name.encode())
                else:
                    draft.batch.put(layout.DOCUMENT_PREFIX + name.encode(), value)
            if former is not None:
                delete_pieces(draft.batch, former.id)
        if self._left_behind:
            self._delete_left_behind(draft)
        if after:
            draft.afterwards.append(lambda: self._changed(after))
        return True

    def _changed(self, after: Mapping[str, LongDocument | None]) -> None:
        for name, long in after.items():
            if long is None:
                del self._long[name]
            else:
                self._long[name] = long

    def _delete_left_behind(self, draft: Draft) -> None:
        gone = set(self._left_behind)
        draft.only_of = NO_TABLE_ID
        for one in gone:
            delete_pieces(draft.batch, one)
        draft.afterwards.append(lambda: self._left_behind.difference_update(gone))


def is_on_loop() -> bool:
    """True if an event loop runs this code; tools have none."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _wholes(
    engine: Engine, found: Sequence[tuple[bytes, bytes | LongDocument]], bytes_max: float
) -> Iterator[tuple[str, bytes]]:
    """Name and document of each, up to the one with which they have `bytes_max`."""
    size_bytes = 0
    for name, one in found:
        text = name.decode()
        document = one if isinstance(one, bytes) else b"".join(document_pieces(engine, text, one))
        yield text, document
        size_bytes += len(document)
        if size_bytes >= bytes_max:
            return


def long_documents(engine: Engine) -> Iterator[tuple[str, LongDocument]]:
    """The long documents by name. Raises StorageCorruption and the engine's bare exceptions."""
    start = len(layout.LONG_DOCUMENT_PREFIX)
    for engine_key, row in scan_prefix(engine, layout.LONG_DOCUMENT_PREFIX):
        yield engine_key[start:].decode(), layout.decode_long_document(row)
