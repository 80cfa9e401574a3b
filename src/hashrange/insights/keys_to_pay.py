"""Which keys pay for a page, and for the replay of a transaction? Their units are known only when the request has
ended; until then, its keys are noted.

A Query pays for one partition key. The items of a page share its units in proportion to their sizes.
"""

from collections.abc import Callable, Sequence

from hashrange.insights.watched_keys import WatchedKeys
from hashrange.items.row_layout import row_sizes_bytes
from hashrange.items.types import Key, Row
from hashrange.operations.insights.rule_names import InsightRuleKind
from hashrange.operations.meter import Meter, PageUsage, TransactedReadUsage, Usage

NOTED_MAX = 1_000
"""Most requests whose keys are noted. A request that fails, or whose client leaves,
may never end; the oldest is forgotten."""


class _Noted:
    """The keys of one request."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        """Kept, so that no other meter has its identity."""
        self.source: WatchedKeys | None = None
        self.partition: bytes | None = None
        """Name of the partition key of a Query."""
        self.bytes_of_partition: dict[bytes, int] = {}
        self.bytes_of_item: dict[bytes, int] = {}
        self.replayed: list[tuple[WatchedKeys, Key]] = []


class KeysToPay:
    """The requests that have read pages and have not ended."""

    def __init__(self, now_seconds: Callable[[], float]) -> None:
        self._now_seconds = now_seconds
        self._noted: dict[int, _Noted] = {}
        """By identity of the meter."""

    def _note_of(self, meter: Meter) -> _Noted:
        noted = self._noted.get(id(meter))
        if noted is None:
            if len(self._noted) >= NOTED_MAX:
                del self._noted[next(iter(self._noted))]
            noted = self._noted[id(meter)] = _Noted(meter)
        return noted

    def note_rows(self, meter: Meter, source: WatchedKeys, partition: bytes | None, rows: Sequence[Row]) -> None:
        """Note rows of a request's page. `partition`: name of the partition key that all rows have;
        None: they may differ.
        """
        noted = self._note_of(meter)
        noted.source, noted.partition = source, partition
        if partition is not None and not source.has_item_units:
            return
        for row, size_bytes in zip(rows, row_sizes_bytes(rows), strict=True):
            key = source.key_of_row(row)
            if partition is None:
                _add(noted.bytes_of_partition, source.partition_of(key), size_bytes)
            if source.has_item_units:
                _add(noted.bytes_of_item, source.item_of(key), size_bytes)

    def note_replay(self, meter: Meter, read: Sequence[tuple[WatchedKeys, Key]]) -> None:
        """Note the items that the replay of a transaction reads."""
        self._note_of(meter).replayed += read

    def count(self, meter: Meter) -> None:
        """Count the units of a request that has ended."""
        if not self._noted:
            return
        noted = self._noted.pop(id(meter), None)
        if noted is None:
            return
        now_seconds = self._now_seconds()
        for usage in meter:
            if isinstance(usage, PageUsage) and noted.source is not None:
                _count_page(noted, noted.source, usage, now_seconds)
            elif isinstance(usage, TransactedReadUsage):
                read = [one for one in noted.replayed if one[0].source.source_id == usage.table.source_id]
                for source, key in read:
                    source.count_units(key, usage.table_units / len(read), now_seconds)


def _add(sizes_bytes: dict[bytes, int], name: bytes, size_bytes: int) -> None:
    sizes_bytes[name] = sizes_bytes.get(name, 0) + size_bytes


def _count_page(noted: _Noted, source: WatchedKeys, usage: Usage, now_seconds: float) -> None:
    """Count the units of a page at its keys.
    Items that are fetched for a local index are counted where they are read.
    """
    units = sum(units for _, units in usage.index_units) if usage.index_units else usage.table_units
    if noted.partition is not None:
        source.count_named_units("PKC", noted.partition, units, now_seconds)
    sizes_by_kind: dict[InsightRuleKind, dict[bytes, int]] = {
        "PKC": noted.bytes_of_partition,
        "SKC": noted.bytes_of_item,
    }
    for kind, sizes_bytes in sizes_by_kind.items():
        all_bytes = sum(sizes_bytes.values())
        for name, size_bytes in sizes_bytes.items():
            source.count_named_units(kind, name, units * size_bytes / all_bytes, now_seconds)
