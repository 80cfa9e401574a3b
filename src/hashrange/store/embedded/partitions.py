"""Where are the partitions of tables and indexes kept? In system rows of the engine, and in memory.
This file makes, splits and deletes them.

All partitions are in one engine; the keys of items and index entries do not name their partition.
"""

from collections.abc import Iterator, Mapping, Sequence

from hashrange.errors import StorageCorruption
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.partitions import (
    CountInitialPartitions,
    Partition,
    first_partitions,
    is_complete_cover,
    split_partition,
)
from hashrange.tables.schema import Table
from hashrange.tables.source_id import SourceId


class Partitions:
    """All partitions of a store."""

    def __init__(self, initial: CountInitialPartitions) -> None:
        self._initial = initial
        self.by_source: dict[bytes, list[Partition]] = {}
        """Source id → partitions in order of their hashes. Those of a newly opened engine take the place of others."""

    def begin(self, draft: Draft, table: Table, sources: Sequence[SourceId]) -> Sequence[Partition]:
        """Add to the draft the partitions of a table's new sources; return the partitions of the table's own rows."""
        added: dict[bytes, list[Partition]] = {
            source_id: first_partitions(source_id, self._initial(table, source_id)) for source_id in sources
        }
        for partitions in added.values():
            _put(draft, partitions)
        draft.afterwards.append(lambda: self.by_source.update(added))
        return added.get(table.source_id) or self.by_source[table.source_id]

    def split(self, draft: Draft, partition: Partition) -> Sequence[Partition]:
        """Add to the draft that two partitions replace `partition`; return the two, in order of their hashes."""
        partitions = self.by_source[partition.source_id]
        children = split_partition(partition, max(one.number for one in partitions) + 1)
        _put(draft, children)
        place = partitions.index(partition)
        after = [*partitions[:place], *children, *partitions[place + 1 :]]
        draft.afterwards.append(lambda: self.by_source.update({partition.source_id: after}))
        return children

    def drop(self, draft: Draft, sources: Sequence[SourceId]) -> None:
        """Delete the partitions of deleted sources."""
        for source_id in sources:
            for partition in self.by_source[source_id]:
                draft.batch.delete(layout.partition_key(partition))
        draft.afterwards.append(lambda: self._forget(sources))

    def _forget(self, sources: Sequence[SourceId]) -> None:
        for source_id in sources:
            del self.by_source[source_id]


def partitions_of(table: Table, by_source: Mapping[bytes, Sequence[Partition]]) -> Mapping[bytes, Sequence[Partition]]:
    """`by_source`, which has partitions of all sources of `table`. Raises StorageCorruption if a source has none."""
    missing = next((source_id for source_id in table.sources if source_id not in by_source), None)
    if missing is not None:
        raise StorageCorruption(f"source {missing.hex()} of table {table.name} has no partition")
    return by_source


def _put(draft: Draft, partitions: Sequence[Partition]) -> None:
    for one in partitions:
        draft.batch.put(layout.partition_key(one), layout.encode_partition_row(one))


def read_partitions(engine: Engine) -> dict[bytes, list[Partition]]:
    """Source id → stored partitions in order of their hashes. Raises StorageCorruption and the engine's exceptions."""
    found: dict[bytes, list[Partition]] = {}
    for engine_key, row in scan_prefix(engine, layout.PARTITION_PREFIX):
        partition = layout.decode_partition_row(engine_key, row)
        found.setdefault(partition.source_id, []).append(partition)
    return found


def partition_faults(engine: Engine, tables: Sequence[Table]) -> Iterator[str]:
    """A sentence for each fault of the stored partitions. Raises StorageCorruption and the engine's exceptions."""
    found = read_partitions(engine)
    for table in tables:
        for source_id in table.sources:
            if not is_complete_cover(found.pop(source_id, [])):
                yield f"the partitions of source {source_id.hex()} of table {table.name} do not hold every hash once"
    yield from [f"source {source_id.hex()} has partitions and belongs to no table" for source_id in sorted(found)]
