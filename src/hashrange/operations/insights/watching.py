"""Which tables and global indexes are watched by Contributor Insights? What is kept of each, as a document of the store.

A document names its table by number, so that a later table of the same name is not watched.
"""

from typing import Literal

import msgspec

from hashrange.operations.operation import Scope
from hashrange.store.documents import Documents
from hashrange.tables.schema import Table

WatchMode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]
USUAL_MODE: WatchMode = "ACCESSED_AND_THROTTLED_KEYS"
WATCH_PREFIX = "contributor-insights/"


class Watch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table or index that is watched, or was. Times are seconds of service time."""

    account: str
    region: str
    table_name: str
    table_id: int
    index_name: str | None
    mode: WatchMode
    since_seconds: float
    """When it began to be watched; part of the names of its rules."""
    changed_seconds: float
    settled_seconds: float
    """When the last change has taken effect: until then the status says ENABLING or DISABLING."""
    is_on: bool = True

    def status(self, now_seconds: float) -> str:
        """The status that the API shows."""
        if now_seconds < self.settled_seconds:
            return "ENABLING" if self.is_on else "DISABLING"
        return "ENABLED" if self.is_on else "DISABLED"


_read = msgspec.json.Decoder(Watch).decode


def watch_document(table: Table, index_name: str | None) -> str:
    """Name of the document of a table or index."""
    return f"{WATCH_PREFIX}{table.account}/{table.region}/{table.name}/{index_name or ''}"


def find_watch(documents: Documents, table: Table, index_name: str | None) -> Watch | None:
    """What is kept of a table or index; None if it has never been watched. Raises StorageError."""
    stored = documents.get(watch_document(table, index_name))
    watch = None if stored is None else _read(stored)
    return watch if watch is not None and watch.table_id == table.table_id else None


def all_watches(documents: Documents) -> list[Watch]:
    """What is kept of all tables and indexes, former ones too, in order of their names. Raises StorageError."""
    return [_read(value) for _, value in documents.below(WATCH_PREFIX)]


async def keep_watch(scope: Scope, table: Table, watch: Watch) -> None:
    """Keep a watch, and let it be followed. Raises StorageError."""
    name = watch_document(table, watch.index_name)
    await scope.documents.write({name: msgspec.json.encode(watch)})
    scope.see_watches()
