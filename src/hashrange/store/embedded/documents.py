"""Where are documents stored? In system rows, one for each, outside of all tables.

    prefix ‖ name in UTF-8     → the document

Documents are few and small compared with items, so each read is one of the engine, without a cache.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from hashrange.items.keys import prefix_upper_bound
from hashrange.store.embedded import layout
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.reading import CHUNK_ROWS, scan_range
from hashrange.store.embedded.site import Site

NO_TABLE_ID = 0
"""The table id of system rows: a commit of documents changes no table, so no read of a table waits for it."""


class EmbeddedDocuments:
    """Implements `documents.Documents`."""

    def __init__(self, site: Site, commits: Commits) -> None:
        self._site = site
        self._commits = commits
        self.generation = 0
        """Number of times that an engine was opened: it may hold other documents than the one before."""

    def load(self) -> None:
        """Prepare for a newly opened engine."""
        self.generation += 1

    def get(self, name: str) -> bytes | None:
        """The document of this name; None if there is none. Raises StorageError."""
        try:
            found: bytes | None = self._site.engine.get(layout.DOCUMENT_PREFIX + name.encode())
        except Exception as error:
            raise self._site.fail(error) from error
        return found

    def below(self, prefix: str) -> Sequence[tuple[str, bytes]]:
        """Name and value of every document whose name begins with `prefix`, in order. Raises StorageError."""
        return self._read(prefix, None, None)

    def some_below(self, prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        """At most `count` of these documents: those that follow the name `after`, None: the first ones. Raises StorageError."""
        return self._read(prefix, after, count)

    def _read(self, prefix: str, after: str | None, count: int | None) -> Sequence[tuple[str, bytes]]:
        start, whole = len(layout.DOCUMENT_PREFIX), layout.DOCUMENT_PREFIX + prefix.encode()
        first = whole if after is None else layout.DOCUMENT_PREFIX + after.encode() + b"\x00"
        try:
            scan = scan_range(self._site.engine, first, prefix_upper_bound(whole), count or CHUNK_ROWS)
            rows = list(islice(scan, count))
        except Exception as error:
            raise self._site.fail(error) from error
        return [(engine_key[start:].decode(), row) for engine_key, row in rows]

    async def write(self, changes: Mapping[str, bytes | None], generation: int | None = None) -> bool:
        """Put documents, or delete those whose value is None, all in one commit. Raises StorageError.

        Returns False (nothing done) if `generation` is given and out of date.
        """

        def make(draft: Draft) -> bool:
            if generation is not None and generation != self.generation:
                return False
            draft.only_of = NO_TABLE_ID
            for name, value in changes.items():
                engine_key = layout.DOCUMENT_PREFIX + name.encode()
                if value is None:
                    draft.batch.delete(engine_key)
                else:
                    draft.batch.put(engine_key, value)
            return True

        return await self._commits.commit(make)
