"""What is counted of a table or global index that is watched? Its keys, each as the part of the stored key that
names them (docs/formats/keys.md).
"""

from collections.abc import Mapping

from hashrange.insights.rule_counts import MINUTE_SECONDS, RuleCounts
from hashrange.items.keys import encode_component, key_end, key_scalars
from hashrange.items.rows import decode_attributes
from hashrange.items.types import Key, Row
from hashrange.operations.insights.rule_names import InsightRuleKind
from hashrange.operations.insights.watching import Watch
from hashrange.tables.entry_keys import partition_bytes
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import HASH_BYTES, partition_prefix


class WatchedKeys:
    """A table or global index with the counts of its rules. A key is counted without its hash."""

    def __init__(
        self, watch: Watch, table: OpenTable, source: ReadSource, rules: Mapping[InsightRuleKind, RuleCounts]
    ) -> None:
        self.watch = watch
        self.table = table
        self.source = source
        self.rules = rules
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

    def count_units(self, key: Key, units: float, now_seconds: float) -> None:
        """Count consumed units of an item or entry."""
        self.count_named_units("PKC", self.partition_of(key), units, now_seconds)
        if self.has_item_units:
            self.count_named_units("SKC", self.item_of(key), units, now_seconds)

    def count_named_units(self, kind: InsightRuleKind, name: bytes, units: float, now_seconds: float) -> None:
        """Count consumed units of the key of this name at one rule."""
        self.rules[kind].add(name, units, int(now_seconds // MINUTE_SECONDS))

    def count_throttle(self, key: Key, now_seconds: float, *, is_whole: bool) -> None:
        """Count a throttled part of a request. `is_whole`: False if `key` is where a page of a Query begins."""
        minute = int(now_seconds // MINUTE_SECONDS)
        self.rules["PKT"].add(self.partition_of(key), 1.0, minute)
        if is_whole and "SKT" in self.rules:
            self.rules["SKT"].add(self.item_of(key), 1.0, minute)
