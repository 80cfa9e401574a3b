"""Which accesses are parts of one read? The slices of a page, and the items that are fetched for entries of a local
index: a read meets its faults once.
"""

from typing import NamedTuple

from hashrange.faults.table_rows import TableRows
from hashrange.items.types import Key
from hashrange.store.interface import Page
from hashrange.tables.open_table import OpenTable
from hashrange.tables.span import Span

READS_MAX = 1000
"""Most requests of which it is remembered what they read. A later slice of any other request may meet faults that its
first slice has not met."""


class UnfinishedRead(NamedTuple):
    """A page of a Query or Scan of which slices have been read; the faults that its first slice met hold for all."""

    request: object
    what: TableRows
    last_key: Key | None
    """Key of the last row of the last slice; None if the span ended with it."""
    since_seconds: float | None
    """Service time as of which the page shows rows; None: it shows them as they are now."""


class UnfinishedReads:
    """What each request is reading now. A request is known by an object that it alone has."""

    def __init__(self) -> None:
        self._by_request: dict[int, UnfinishedRead] = {}
        """`id` of a request's object → what the request reads; the oldest first."""

    def note(self, request: object, what: TableRows, page: Page, since_seconds: float | None) -> None:
        """Remember the last slice of a request, if another slice follows it, or items may be fetched for it."""
        if page.last_key is None and not what.is_local_index:
            return
        self._by_request[id(request)] = UnfinishedRead(request, what, page.last_key, since_seconds)
        if len(self._by_request) > READS_MAX:
            del self._by_request[next(iter(self._by_request))]

    def go_on(self, request: object, what: TableRows, span: Span) -> UnfinishedRead | None:
        """The page that a request has begun to read, if `span` is the rest of that page; otherwise None.

        It is forgotten; `note` follows once the slice has been read.
        """
        read = self._by_request.pop(id(request), None)
        if read is None or read.last_key is None or read.what.read.source_id != what.read.source_id:
            return None
        is_rest = span.upper == read.last_key if span.is_reverse else span.lower == read.last_key + b"\x00"
        return read if is_rest else None

    def fetches_for(self, request: object, table: OpenTable) -> UnfinishedRead | None:
        """The page of a local index of `table` for whose entries a request now fetches items;
        None if it reads no such page.
        """
        read = self._by_request.get(id(request))
        if read is None or not read.what.is_local_index or read.what.table.table_id != table.table_id:
            return None
        return read
