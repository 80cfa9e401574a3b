"""Where do the partitions of tables and indexes stand? In rows of the catalog: one begins and ends with its source.

On one machine they divide what one engine holds; nothing is stored by partition.
"""

from collections.abc import Mapping, Sequence

from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.partitions import Partition, first_partition
from hashrange.tables.source_id import SourceId


class Partitions:
    """All of a store."""

    def __init__(self) -> None:
        self._by_source: dict[bytes, list[Partition]] = {}

    @property
    def by_source(self) -> Mapping[bytes, Sequence[Partition]]:
        """Those of each source, in order of their hashes."""
        return self._by_source

    def load(self, engine: Engine) -> None:
        """Read them from a newly opened engine. Raises StorageCorruption, and the engine's bare exceptions."""
        self._by_source = read_partitions(engine)

    def begin(self, draft: Draft, sources: Sequence[SourceId]) -> None:
        """There are new sources."""
        added = [first_partition(source) for source in sources]
        for partition in added:
            draft.batch.put(layout.partition_key(partition), layout.encode_partition(partition))
        draft.afterwards.append(lambda: self._by_source.update({one.source: [one] for one in added}))

    def drop(self, draft: Draft, sources: Sequence[SourceId]) -> None:
        """These sources are gone."""
        for source in sources:
            for partition in self._by_source[source]:
                draft.batch.delete(layout.partition_key(partition))
        draft.afterwards.append(lambda: self._forget(sources))

    def _forget(self, sources: Sequence[SourceId]) -> None:
        for source in sources:
            del self._by_source[source]


def read_partitions(engine: Engine) -> dict[bytes, list[Partition]]:
    """Those of each source, in order of their hashes. Raises StorageCorruption, and the engine's bare exceptions."""
    found: dict[bytes, list[Partition]] = {}
    for engine_key, row in scan_prefix(engine, layout.PARTITION_PREFIX):
        partition = layout.decode_partition(engine_key, row)
        found.setdefault(partition.source, []).append(partition)
    return found
