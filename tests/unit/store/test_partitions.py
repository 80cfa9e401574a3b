"""Which partitions does a source have? One, covering all hashes, for as long as the source exists;
these tests only store them.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hashrange.store.embedded import EmbeddedStore, layout, open_store
from hashrange.store.embedded.partitions import read_partitions
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import HASH_SPACE, WHOLE, HashRange, Partition, is_complete_cover
from hashrange.tables.schema import Index, IndexProjection, KeySchema
from hashrange.tables.source_id import SourceId, make_source_id
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, table_maker

GLOBAL, LATER = (
    Index(number, name, True, KeySchema(("sk",), ("S",)), IndexProjection("ALL"))
    for number, name in ((2, "global"), (3, "later"))
)
LOCAL = Index(1, "local", False, KeySchema(("pk",), ("S",), ("l",), ("S",)), IndexProjection("KEYS_ONLY"))
MIDDLE = HASH_SPACE // 2
LAST = HASH_SPACE - 1


def create(store: EmbeddedStore) -> OpenTable:
    """A table with two indexes."""
    make = table_maker("t")
    table = finish(store.catalog.create(lambda number: replace(make(number), indexes=(LOCAL, GLOBAL), next_index_id=3)))
    assert table is not None
    return table


def current(store: EmbeddedStore) -> OpenTable:
    (table,) = store.catalog.all_tables()
    return table


def whole(*sources: SourceId) -> dict[bytes, list[Partition]]:
    return {source: [Partition(source, 1, WHOLE)] for source in sources}


def test_each_source_begins_with_a_whole_partition(store: EmbeddedStore) -> None:
    table = create(store)
    expected = whole(make_source_id(1), make_source_id(1, 1), make_source_id(1, 2))
    assert read_partitions(store.engine) == table.partitions == expected


@pytest.mark.parametrize("has_steps", [True, False])
def test_an_index_begins_and_ends_with_its_own(store: EmbeddedStore, has_steps: bool) -> None:
    """The partition of an index is removed when the index becomes DELETING, or when it disappears at once."""
    before = create(store)
    added = replace(before.schema, indexes=(LOCAL, GLOBAL, replace(LATER, state="CREATING")), next_index_id=4)
    assert finish(store.catalog.replace(before.schema, added))
    expected = whole(*before.schema.sources, make_source_id(1, 3))
    assert read_partitions(store.engine) == current(store).partitions == expected
    if has_steps:
        deleting = replace(added, indexes=(LOCAL, replace(GLOBAL, state="DELETING"), LATER))
        assert finish(store.catalog.replace(added, deleting))
        del expected[make_source_id(1, 2)]
        assert read_partitions(store.engine) == current(store).partitions == expected
        added = deleting
    assert finish(store.catalog.replace(added, replace(added, indexes=(LOCAL, LATER))))
    expected = whole(make_source_id(1), make_source_id(1, 1), make_source_id(1, 3))
    assert read_partitions(store.engine) == current(store).partitions == expected


def test_those_of_a_table_end_with_it(store: EmbeddedStore) -> None:
    gone = create(store)
    other = finish(store.catalog.create(table_maker("other")))
    assert other is not None
    assert finish(store.catalog.delete(gone.schema))
    assert read_partitions(store.engine) == other.partitions == whole(other.source_id)


def test_they_are_there_after_reopening(tmp_path: Path) -> None:
    """Reopening keeps the partition of each source, also several parts, which are read in order and deleted
    together."""
    folder = str(tmp_path / "data")
    store = open_store(folder, VirtualClock(), None)
    expected = whole(*create(store).schema.sources)
    store.close_now()
    store = open_store(folder, VirtualClock(), None)
    assert read_partitions(store.engine) == current(store).partitions == expected
    expected[make_source_id(1)] = parts = partitions((0, MIDDLE - 1), (MIDDLE, LAST))
    for part in reversed(parts):
        store.engine.put(layout.partition_key(part), layout.encode_partition_row(part))
    store.close_now()
    store = open_store(folder, VirtualClock(), None)
    assert read_partitions(store.engine) == current(store).partitions == expected
    assert finish(store.catalog.delete(current(store).schema))
    assert read_partitions(store.engine) == {}
    store.close_now()


def partitions(*ranges: tuple[int, int]) -> list[Partition]:
    return [Partition(make_source_id(1), number, HashRange(*one)) for number, one in enumerate(ranges, 1)]


@pytest.mark.parametrize(
    "ranges",
    [
        [(0, LAST)],
        [(0, MIDDLE - 1), (MIDDLE, LAST)],
        [(0, 0), (1, 1), (2, LAST - 1), (LAST, LAST)],
    ],
)
def test_a_cover(ranges: list[tuple[int, int]]) -> None:
    assert is_complete_cover(partitions(*ranges))


@pytest.mark.parametrize(
    "ranges",
    [
        [],
        [(1, LAST)],
        [(0, LAST - 1)],
        [(0, MIDDLE - 1), (MIDDLE, LAST - 1)],
        [(0, MIDDLE - 1), (MIDDLE + 1, LAST)],
        [(0, MIDDLE), (MIDDLE, LAST)],
        [(0, LAST), (0, LAST)],
        [(MIDDLE, LAST), (0, MIDDLE - 1)],
        [(0, LAST), (LAST + 1, LAST)],
        [(0, MIDDLE), (MIDDLE + 1, MIDDLE - 1), (MIDDLE, LAST)],
    ],
)
def test_no_cover(ranges: list[tuple[int, int]]) -> None:
    """Invalid partitions: none at all, a gap, an overlap, wrong order, an empty range."""
    assert not is_complete_cover(partitions(*ranges))
