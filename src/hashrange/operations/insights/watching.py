"""Which tables and global indexes are watched by Contributor Insights? What is kept of each, as a document of the
store, and which rules each has: most accessed and most throttled partition keys, and items if it has a sort key.

A document names its table and index by number, so that later ones of the same names are not watched.
Source of the rules: global-tables-backup.md 8.
"""

from collections.abc import Iterator
from functools import partial
from typing import Literal

import msgspec

from hashrange.limits import RULE_NAME_LENGTH_MAX
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, SharedReading
from hashrange.tables.schema import Table

WatchMode = Literal["THROTTLED_KEYS", "ACCESSED_AND_THROTTLED_KEYS"]
USUAL_MODE: WatchMode = "ACCESSED_AND_THROTTLED_KEYS"
WATCH_PREFIX = "contributor-insights/"


class Watch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table or index that is watched, or was. Times are seconds of service time."""

    account: str
    region: str
    table_name: str
    table_id: int
    index_name: str | None
    index_id: int
    """0: the table itself."""
    mode: WatchMode
    since_ms: int
    """When it began to be watched; part of the names of its rules. No two watches of a store have the same."""
    changed_seconds: float
    settled_seconds: float
    """When the last change has taken effect: until then the status says ENABLING or DISABLING."""
    is_on: bool = True

    def status(self, now_seconds: float) -> str:
        """The status that the API shows."""
        if now_seconds < self.settled_seconds:
            return "ENABLING" if self.is_on else "DISABLING"
        return "ENABLED" if self.is_on else "DISABLED"


def kept_watches(documents: Documents) -> KeptRecords[Watch]:
    """What is kept of all tables and indexes, former ones too."""
    return KeptRecords(documents, WATCH_PREFIX, Watch, "watch of a table or index")


def watch_path(watch: Watch) -> tuple[str, ...]:
    """What identifies the watch of a table or index, as in its document's name."""
    return (watch.account, watch.region, watch.table_name, watch.index_name or "")


def index_id_of(table: Table, index_name: str | None) -> int | None:
    """The id of an index of a table; 0 for the table itself, None if there is no such index."""
    if index_name is None:
        return 0
    return next((index.index_id for index in table.indexes if index.name == index_name), None)


def find_watch(documents: Documents, table: Table, index_name: str | None) -> Watch | None:
    """What is kept of a table or index; None if it has never been watched. Raises StorageError."""
    watch = kept_watches(documents).get(table.account, table.region, table.name, index_name or "")
    return watch if watch is not None and is_of(watch, table) else None


def is_of(watch: Watch, table: Table) -> bool:
    """True if a watch is of this table or one of its indexes, and not of former ones."""
    return watch.table_id == table.table_id and watch.index_id == index_id_of(table, watch.index_name)


CHANGES_MIN = 1_000
"""Changes after which begins of watches that are no more are forgotten: more, if there are more watches."""


class BeginTimes:
    """When the watches of a store began, in memory: read when first asked for, and anew when there may be many that
    are no more, or the content has been replaced.
    """

    def __init__(self, documents: Documents) -> None:
        self._taken_ms: set[int] = set()
        self._changes = 0
        # Nothing leads back to this object: a service that has ended is freed without the collector.
        self._reading = SharedReading(documents, partial(_read_begins, documents, self._taken_ms))

    def free_ms(self, now_seconds: float) -> int:
        """Now, in milliseconds since 1970, or the next millisecond in which nothing began to be watched.
        Gives way while watches are read. Raises StorageError.
        """
        if self._changes > CHANGES_MIN + len(self._taken_ms):
            self._changes = 0
            self._reading.forget()
        self._reading.finish()
        now_ms = int(now_seconds * 1000)
        while now_ms in self._taken_ms:
            now_ms += 1
        return now_ms

    def change(self, before_ms: int | None, now_ms: int) -> None:
        """Note that a watch has been replaced by one that begins now, or is new."""
        self._changes += 1
        if before_ms is not None:
            self._taken_ms.discard(before_ms)
        self._taken_ms.add(now_ms)


def _read_begins(documents: Documents, taken_ms: set[int]) -> Iterator[None]:
    found_ms: set[int] = set()
    for some in kept_watches(documents).pieces():
        found_ms.update([watch.since_ms for _, watch in some])
        yield
    taken_ms.clear()
    taken_ms |= found_ms


# --- rules ----------------------------------------------------------------------------------------


InsightRuleKind = Literal["PKC", "PKT", "SKC", "SKT"]
"""P: partition keys; S: partition key and sort key; KC: consumed units; KT: throttles."""

RULE_KINDS: tuple[InsightRuleKind, ...] = ("PKC", "PKT", "SKC", "SKT")


def rule_kinds(table: Table, watch: Watch) -> tuple[InsightRuleKind, ...]:
    """The rules of a table or index that is watched."""
    index = next((one for one in table.indexes if one.name == watch.index_name), None)
    keys = table.keys if index is None else index.keys
    throttled: tuple[InsightRuleKind, ...] = ("PKT", "SKT") if keys.sort_names else ("PKT",)
    if watch.mode == "THROTTLED_KEYS":
        return throttled
    return (("PKC", "SKC") if keys.sort_names else ("PKC",)) + throttled


def rule_name(kind: InsightRuleKind, watch: Watch) -> str:
    """The name of a rule, which contains when the source began to be watched, in milliseconds.
    Long names of resources are cut.
    """
    resource = watch.table_name if watch.index_name is None else f"{watch.table_name}-{watch.index_name}"
    begin, end = f"DynamoDBContributorInsights-{kind}-", f"-{watch.since_ms}"
    return f"{begin}{resource[: RULE_NAME_LENGTH_MAX - len(begin) - len(end)]}{end}"
