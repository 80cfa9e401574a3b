"""What one table or index admits agrees with a slow, obvious simulation, and follows changes of the table."""

import random
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import pytest

from hashrange.errors import ApiError
from hashrange.items.types import Key
from hashrange.settings import AdaptiveSetting
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition, first_partitions
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table, Throughput
from hashrange.tables.source_id import make_source_id
from hashrange.throughput.capacity_side import CapacitySide, SideTerms

THOUSANDTHS = 1_000
PARTITIONS = 4


def table(
    throughput: Throughput | None, partitions: int = 1, index_partitions: int = 1, warm_units: int | None = None
) -> OpenTable:
    """A table with a global index; `throughput` None: on demand."""
    mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PAY_PER_REQUEST" if throughput is None else "PROVISIONED"
    keys = KeySchema(("status",), ("S",))
    index = Index(
        index_id=1,
        name="by-status",
        keys=keys,
        is_global=True,
        projection=IndexProjection("ALL"),
        throughput=throughput,
    )
    schema = Table(
        table_id=1,
        uuid="0",
        account="000000000000",
        region="us-east-1",
        name="orders",
        keys=KeySchema(("pk",), ("S",)),
        attribute_types={"pk": "S", "status": "S"},
        created_at_seconds=0.0,
        active_at_seconds=0.0,
        billing_mode=mode,
        throughput=throughput or Throughput(0, 0),
        warm_write_units=warm_units,
        indexes=(index,),
    )
    own, of_index = schema.source_id, make_source_id(1, 1)
    parts: dict[bytes, Sequence[Partition]] = {
        own: first_partitions(own, partitions),
        of_index: first_partitions(of_index, index_partitions),
    }
    return OpenTable(schema, parts)


def key(partition: int) -> Key:
    """A key in one of PARTITIONS partitions."""
    return Key(bytes([partition * 256 // PARTITIONS]) * 8 + b"item")


def writes(opened: OpenTable, index: Index | None, terms: SideTerms) -> CapacitySide:
    """The side of the writes of a table or index."""
    side = CapacitySide(terms, is_write=True)
    side.follow(opened, index, 0.0)
    return side


class Simulation:
    """A table's bucket and those of its partitions, in steps of a thousandth of a second, in thousandths of a unit."""

    def __init__(self, units: int, adaptive: AdaptiveSetting) -> None:
        share = units / PARTITIONS
        served = {"instant": 1_000.0, "shares": share, "off": 10**9}[adaptive]
        burst = {"instant": 1_000.0, "shares": share * 300, "off": 10**9}[adaptive]
        self._rates = [float(units)] + [served] * PARTITIONS
        self._bursts = [units * 300.0 * THOUSANDTHS] + [burst * THOUSANDTHS] * PARTITIONS
        self._levels = list(self._bursts)
        self._at = 0

    def is_empty(self, partition: int, now: int) -> list[bool]:
        """Of the table and the partition; both must have something."""
        for _ in range(now - self._at):
            self._levels = [
                min(burst, level + rate)
                for level, rate, burst in zip(self._levels, self._rates, self._bursts, strict=True)
            ]
        self._at = now
        return [self._levels[place] <= THOUSANDTHS / 100 for place in (0, partition + 1)]

    def take(self, partition: int, units: int) -> None:
        for place in (0, partition + 1):
            self._levels[place] -= units * THOUSANDTHS


@pytest.mark.parametrize("adaptive", ["instant", "shares", "off"])
@pytest.mark.parametrize("seed", range(4))
def test_a_table_agrees_with_a_slow_one(seed: int, adaptive: AdaptiveSetting) -> None:
    chosen = random.Random(seed)
    units = chosen.choice([4, 40, 1_600])
    side = writes(table(Throughput(1, units), PARTITIONS), None, SideTerms(adaptive))
    slow, now = Simulation(units, adaptive), 0
    refusals = 0
    for _ in range(3_000):
        now += chosen.choice([0, 0, 0, 0, 1, 7, 60])
        partition = min(chosen.randrange(PARTITIONS), chosen.randrange(PARTITIONS))
        is_table_empty, is_partition_empty = slow.is_empty(partition, now)
        try:
            side.admit(key(partition), now / THOUSANDTHS, "GetItem")
        except ApiError as error:
            members: Any = error.members
            (reason,) = members["ThrottlingReasons"]
            expected = "Provisioned" if is_table_empty else "KeyRange"
            assert reason["reason"] == f"TableWrite{expected}ThroughputExceeded"
            assert is_table_empty or is_partition_empty
            refusals += 1
        else:
            assert not is_table_empty
            assert not is_partition_empty
            taken = chosen.choice([1, 10, 200])
            side.take(key(partition), taken, now / THOUSANDTHS)
            slow.take(partition, taken)
    assert refusals


def admitted(side: CapacitySide, now_seconds: float, partitions: int = PARTITIONS) -> int:
    """Units that are admitted at once, spread over partitions in turn."""
    for number in range(100_000):
        try:
            side.admit(key(number % partitions), now_seconds, "GetItem")
        except ApiError:
            return number
        side.take(key(number % partitions), 1, now_seconds)
    raise AssertionError("nothing was throttled")


def test_a_new_table_on_demand_serves_as_much_whatever_its_partitions() -> None:
    side = writes(table(None), None, SideTerms("off"))
    assert admitted(side, 0.0) == 4_000


def test_an_index_has_partitions_of_its_own() -> None:
    opened = table(None, partitions=4, index_partitions=8)
    side = writes(opened, opened.schema.indexes[0], SideTerms("off"))
    assert admitted(side, 0.0) == 8_000


def test_more_warm_throughput_is_served_at_once() -> None:
    side = writes(table(None), None, SideTerms("off"))
    side.follow(table(None, warm_units=9_000), None, 0.0)
    assert admitted(side, 2.0) == 9_000


def test_a_table_that_was_provisioned_serves_as_much_on_demand() -> None:
    side = writes(table(Throughput(1, 6_000)), None, SideTerms("off"))
    side.follow(table(None), None, 10.0)
    assert admitted(side, 10.0) == 6_000


def test_more_partitions_serve_more_of_one_table() -> None:
    opened = table(Throughput(1, 20_000))
    side = writes(opened, None, SideTerms("instant"))
    assert admitted(side, 0.0) == 1_000
    side.follow(table(Throughput(1, 20_000), PARTITIONS), None, 0.0)
    assert admitted(side, 5.0) == 4_000


def test_items_of_a_table_with_local_indexes_stay_with_their_collection() -> None:
    opened = table(Throughput(1, 20_000))
    local = msgspec.structs.replace(opened.schema.indexes[0], is_global=False, throughput=None)
    with_local = OpenTable(msgspec.structs.replace(opened.schema, indexes=(local,)))
    for one, isolated in ((opened, 1), (with_local, 0)):
        side = writes(one, None, SideTerms("instant"))
        for second in range(302):
            admitted(side, float(second), 1)
        assert side.describe(302.0)["isolated_items"] == isolated


def test_a_debt_lasts_longer_at_a_lower_rate() -> None:
    side = writes(table(Throughput(1, 10)), None, SideTerms("off"))
    side.take(key(0), 3_010, 0.0)  # ten below zero
    side.follow(table(Throughput(1, 1)), None, 0.0)
    for now_seconds, expected in ((9.0, 0), (12.0, 2)):
        assert admitted(side, now_seconds) == expected
