"""What is counted of a table or global index that is watched? Its keys, each as the part of the stored key that
names them (docs/formats/keys.md).

The units of a page, and of the replay of a transaction, are known only when the request has ended; until then, its keys
are noted. A Query pays for one partition key. The items of a page share its units in proportion to their sizes.

Noting and counting give way: a page may have 60,000 keys, and a transaction 100 items with 20 indexes each. What is
counted belongs to the minute in which it is counted.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from hashrange.insights.rule_counts import MINUTE_SECONDS, RuleCounts
from hashrange.items.keys import encode_component, key_end, key_scalars
from hashrange.items.row_layout import row_sizes_bytes
from hashrange.items.rows import decode_attributes
from hashrange.items.steps import batches, look, spend
from hashrange.items.types import Key, Row
from hashrange.operations.insights.watching import InsightRuleKind, Watch
from hashrange.operations.meter import AnyUsage, PageUsage, TransactedReadUsage, Usage
from hashrange.tables.entry_keys import partition_bytes
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import HASH_BYTES, partition_prefix

NOTED_ROW_STEPS = 10
"""Steps of noting the keys of one row."""
COUNTED_TOGETHER = 100
"""Keys of a page that are counted between two looks at the clock: 0.3 ms."""


class WatchedKeys:
    """A table or global index with the counts of its rules. A key is counted without its hash."""

    def __init__(
        self,
        watch: Watch,
        table: OpenTable,
        source: ReadSource,
        rules: Mapping[InsightRuleKind, RuleCounts],
        now_seconds: Callable[[], float],
    ) -> None:
        """`now_seconds`: returns the service time."""
        self.watch = watch
        self.table = table
        self.source = source
        self.rules = rules
        self._now_seconds = now_seconds
        self._keys = keys = source.keys
        self._names = (*keys.partition_names, *keys.sort_names)
        self._types = (*keys.partition_types, *keys.sort_types)
        self.has_units = "PKC" in rules
        """True if consumed units are counted, and not only throttles."""
        self.has_item_units = "SKC" in rules
        """True if they are counted for each partition key and sort key, too."""
        local = [one.source_id for one in table.indexes if one.index is not None and not one.index.is_global]
        self.local_source_ids = frozenset(local if source.index is None else ())
        """Sources of the local indexes, which use the table's units."""

    # --- names of keys ---------------------------------------------------------------------------

    def partition_of(self, key: Key) -> bytes:
        """The name of the partition key of an item or entry."""
        return partition_prefix(key)[HASH_BYTES:]

    def item_of(self, key: Key) -> bytes:
        """The name of partition key and sort key of an item, or of an entry."""
        if self.source.index is None:
            return key[HASH_BYTES:]
        return key[HASH_BYTES : key_end(key, self._keys.sort_types)]

    def key_of_row(self, row: Row) -> Key:
        """The key of a row, of an entry without that of its item. Takes some 5 µs."""
        item = decode_attributes(row, self._names)
        scalars = [item[name][type_name] for name, type_name in zip(self._names, self._types, strict=True)]
        keys, count = self._keys, len(self._keys.partition_names)
        sort = b"".join(map(encode_component, keys.sort_types, scalars[count:]))
        return Key(partition_bytes(keys, scalars[:count]) + sort)

    def scalars(self, name: bytes, kind: InsightRuleKind) -> list[str]:
        """The values of the attributes of a key that is counted under this name, as texts."""
        sort_types = self._keys.sort_types if kind.startswith("S") else ()
        return key_scalars(bytes(HASH_BYTES) + name, self._keys.partition_types, sort_types)

    # --- counting --------------------------------------------------------------------------------

    def count_units(self, key: Key, units: float) -> None:
        """Count consumed units of an item or entry; may give way before."""
        self.rules["PKC"].add(self.partition_of(key), units, self._minute())
        if self.has_item_units:
            self.rules["SKC"].add(self.item_of(key), units, self._minute())

    def count_named_units(self, kind: InsightRuleKind, counted: Iterable[tuple[bytes, float]]) -> None:
        """Count consumed units of the keys of these names at one rule; may give way before."""
        minute, add = self._minute(), self.rules[kind].add
        for name, units in counted:
            add(name, units, minute)

    def count_throttle(self, key: Key, *, is_whole: bool) -> None:
        """Count a throttled part of a request; may give way before.
        `is_whole`: False if `key` is where a page of a Query begins.
        """
        self.rules["PKT"].add(self.partition_of(key), 1.0, self._minute())
        if is_whole and "SKT" in self.rules:
            self.rules["SKT"].add(self.item_of(key), 1.0, self._minute())

    def _minute(self) -> int:
        """The present minute since 1970; gives way before. A rule takes some milliseconds to begin a minute."""
        look()
        return int(self._now_seconds() // MINUTE_SECONDS)


# --- units that are known late --------------------------------------------------------------------


class KeysToPay:
    """The keys of one request that has read pages, or was the replay of a transaction."""

    def __init__(self) -> None:
        self.source: WatchedKeys | None = None
        self.partition: bytes | None = None
        """Name of the partition key of a Query."""
        self.bytes_of_partition: defaultdict[bytes, int] = defaultdict(int)
        self.bytes_of_item: defaultdict[bytes, int] = defaultdict(int)
        self.replayed: list[tuple[WatchedKeys, Key]] = []
        """The items that a replay reads."""

    def note_rows(self, source: WatchedKeys, partition: bytes | None, rows: Sequence[Row]) -> None:
        """Note rows of the request's page. `partition`: name of the partition key that all rows have;
        None: they may differ. Gives way.
        """
        self.source, self.partition = source, partition
        if partition is not None and not source.has_item_units:
            return
        for row, size_bytes in zip(rows, row_sizes_bytes(rows), strict=True):
            spend(NOTED_ROW_STEPS)
            key = source.key_of_row(row)
            if partition is None:
                self.bytes_of_partition[source.partition_of(key)] += size_bytes
            if source.has_item_units:
                self.bytes_of_item[source.item_of(key)] += size_bytes

    def count(self, meter: Sequence[AnyUsage]) -> None:
        """Count the units of the request, which has ended. Gives way."""
        for usage in meter:
            if isinstance(usage, PageUsage) and self.source is not None:
                self._count_page(self.source, usage)
            elif isinstance(usage, TransactedReadUsage):
                read = [one for one in self.replayed if one[0].source.source_id == usage.table.source_id]
                for source, key in read:
                    source.count_units(key, usage.table_units / len(read))

    def _count_page(self, source: WatchedKeys, usage: Usage) -> None:
        """Count the units of a page at its keys.
        Items that are fetched for a local index are counted where they are read.
        """
        units = sum(units for _, units in usage.index_units) if usage.index_units else usage.table_units
        if self.partition is not None:
            source.count_named_units("PKC", ((self.partition, units),))
        sizes_by_kind: dict[InsightRuleKind, dict[bytes, int]] = {
            "PKC": self.bytes_of_partition,
            "SKC": self.bytes_of_item,
        }
        for kind, sizes_bytes in sizes_by_kind.items():
            if not sizes_bytes:
                continue
            all_bytes = sum(sizes_bytes.values())
            for some in batches(sizes_bytes.items(), COUNTED_TOGETHER):
                source.count_named_units(kind, [(name, units * size_bytes / all_bytes) for name, size_bytes in some])
