"""Partitions: the number a source begins with, which one splits, and that together they cover all hashes."""

from typing import Any

import pytest
from msgspec.structs import replace

from hashrange.limits import (
    GLOBAL_INDEXES_MAX,
    LOCAL_INDEXES_MAX,
    ON_DEMAND_PARTITIONS,
    ON_DEMAND_WARM_READ_UNITS,
    ON_DEMAND_WARM_WRITE_UNITS,
    PARTITION_READ_UNITS,
    PARTITION_WRITE_UNITS,
    PARTITIONS_MAX,
    TABLE_CAPACITY_UNITS_MAX,
)
from hashrange.tables.partitions import (
    WHOLE,
    HashRange,
    Partition,
    first_partitions,
    is_complete_cover,
    next_to_split,
    one_partition,
    partitions_of_service,
    split_partition,
)
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table, Throughput
from hashrange.tables.source_id import SourceId
from tests.support.samples import table_maker

SOURCE = SourceId(b"\x00\x00\x00\x01\x00\x00")
BY_G, BY_L = SourceId(b"\x00\x00\x00\x01\x00\x01"), SourceId(b"\x00\x00\x00\x01\x00\x02")


def table_of(throughput: Throughput | None = None, of_index: Throughput | None = None, **more: Any) -> Table:
    """A table with a global and a local index."""
    keys = KeySchema(("g",), ("S",))
    indexes = (
        Index(1, "by-g", is_global=True, keys=keys, projection=IndexProjection("ALL"), throughput=of_index),
        Index(2, "by-l", is_global=False, keys=keys, projection=IndexProjection("ALL")),
    )
    mode = "PAY_PER_REQUEST" if throughput is None else "PROVISIONED"
    return replace(table_maker("t")(1), indexes=indexes, billing_mode=mode, throughput=throughput, **more)


def test_a_table_on_demand_begins_as_the_service_has_it() -> None:
    assert [partitions_of_service(table_of(), source) for source in (SOURCE, BY_G, BY_L)] == [ON_DEMAND_PARTITIONS] * 3
    assert one_partition(table_of(), SOURCE) == 1


@pytest.mark.parametrize(
    ("reads", "writes", "count"),
    [
        (1, 1, 1),
        (PARTITION_READ_UNITS, 0, 1),
        (PARTITION_READ_UNITS, 1, 2),
        (PARTITION_READ_UNITS * 2, PARTITION_WRITE_UNITS * 3, 5),
        (PARTITION_READ_UNITS // 2, PARTITION_WRITE_UNITS // 2, 1),
        (PARTITION_READ_UNITS * PARTITIONS_MAX * 2, 1, PARTITIONS_MAX // 3),
    ],
)
def test_provisioned_throughput_says_how_many(reads: int, writes: int, count: int) -> None:
    units = Throughput(reads, writes)
    assert partitions_of_service(table_of(units, Throughput(1, 1)), SOURCE) == count
    assert partitions_of_service(table_of(units, Throughput(1, 1)), BY_G) == 1
    assert partitions_of_service(table_of(units, Throughput(1, 1)), BY_L) == count
    assert partitions_of_service(table_of(Throughput(1, 1), units), BY_G) == count


def test_a_table_and_its_indexes_share_the_most_that_there_may_be() -> None:
    """A table of 4,000 partitions with 20 indexes of 4,000 each was created in one step of 260 ms."""
    units = Throughput(TABLE_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX)
    most = Throughput(PARTITION_READ_UNITS * PARTITIONS_MAX, PARTITION_WRITE_UNITS * PARTITIONS_MAX)
    alone = replace(table_of(most), indexes=())
    assert partitions_of_service(alone, SOURCE) == PARTITIONS_MAX
    indexes_max = GLOBAL_INDEXES_MAX + LOCAL_INDEXES_MAX
    index = table_of(units, units).indexes[0]
    for given, count in ((units, 54), (most, PARTITIONS_MAX // (1 + indexes_max))):
        indexes = tuple(replace(index, index_id=number, throughput=given) for number in range(1, 1 + indexes_max))
        table = replace(table_of(given), indexes=indexes)
        sources = [SOURCE, *[SourceId(SOURCE[:4] + one.index_id.to_bytes(2, "big")) for one in indexes]]
        assert [partitions_of_service(table, one) for one in sources] == [count] * (1 + indexes_max)


def test_warm_throughput_asks_for_more() -> None:
    warm: dict[str, Any] = {"warm_read_units": PARTITION_READ_UNITS * 6, "warm_write_units": PARTITION_WRITE_UNITS * 4}
    assert partitions_of_service(table_of(**warm), SOURCE) == 6
    assert partitions_of_service(table_of(Throughput(1, 1), Throughput(1, 1), **warm), SOURCE) == 6
    assert partitions_of_service(table_of(**warm), BY_G) == ON_DEMAND_PARTITIONS


def test_the_warm_throughput_of_a_new_table_on_demand_asks_for_no_more() -> None:
    warm: dict[str, Any] = {
        "warm_read_units": ON_DEMAND_WARM_READ_UNITS,
        "warm_write_units": ON_DEMAND_WARM_WRITE_UNITS,
    }
    assert partitions_of_service(table_of(**warm), SOURCE) == ON_DEMAND_PARTITIONS
    assert partitions_of_service(table_of(Throughput(1, 1), Throughput(1, 1), **warm), SOURCE) == ON_DEMAND_PARTITIONS


@pytest.mark.parametrize("count", [1, 2, 3, 7, PARTITIONS_MAX])
def test_the_first_ones_are_equal_parts(count: int) -> None:
    partitions = first_partitions(SOURCE, count)
    assert [one.number for one in partitions] == list(range(1, count + 1))
    assert is_complete_cover(partitions)
    widths = {one.hashes.last - one.hashes.first for one in partitions}
    assert max(widths) - min(widths) <= 1


def test_halves_cover_what_was_split() -> None:
    (whole,) = first_partitions(SOURCE)
    assert whole.hashes == WHOLE
    one, other = split_partition(whole, 2)
    assert (one.number, other.number, is_complete_cover([one, other])) == (2, 3, True)
    assert not is_complete_cover([other])
    assert not is_complete_cover([one])
    assert not is_complete_cover([one, one])


def test_the_first_of_the_widest_splits_once_they_hold_too_much_on_average() -> None:
    one, two = first_partitions(SOURCE, 2)
    narrow = [*split_partition(one, 3), two]
    assert next_to_split([one, two], 20, 10) is None
    assert next_to_split([one, two], 21, 10) == one
    assert next_to_split(narrow, 31, 10) == two
    assert next_to_split(first_partitions(SOURCE, PARTITIONS_MAX), 1 << 60, 1) is None
    assert next_to_split([Partition(SOURCE, 1, HashRange(5, 5))], 100, 1) is None
