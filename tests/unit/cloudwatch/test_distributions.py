"""Distributions of values are counted as work: saving, reading and percentiles of them hold up nobody. What is
recorded, read and forgotten while work gives way is neither lost nor counted twice.
"""

import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.api.get_metric_statistics import GetMetricStatisticsRequest, get_metric_statistics
from hashrange.cloudwatch.blocks import Cells, decode_cells, encode_cells, together
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistic import Cell, StatisticSet, of_value, statistic_of
from hashrange.items import steps
from tests.support.working import give_way_always, lines_between_looks
from tests.unit.cloudwatch.conftest import START_SECONDS, World

OWN = MetricId("000000000000", "us-east-1", "Own", "Load")
SERVICE = OWN._replace(namespace="AWS/DynamoDB")
BUCKETS, CELLS = 200, 60
WIDE = dict.fromkeys(range(10_000, 10_000 + BUCKETS), 1.0)
OBSERVED = StatisticSet(float(BUCKETS), 300.0, 1.0, 1e9)
FEW_CELLS = 4
"""Cells of a test that reads all of them each time that work gives way."""
LINES_MAX = 3_000
"""Python lines between two looks; all buckets are 12,000."""


def wide_cells(seed: int = 1) -> Cells:
    chance = Random(seed)
    return {number: Cell(OBSERVED, {bucket: chance.random() for bucket in WIDE}) for number in range(CELLS)}


def record_minutes(world: World, metric: MetricId = OWN, minutes: int = CELLS) -> None:
    for minute in range(minutes):
        world.metrics.record(metric, "None", START_SECONDS + 60 * minute, OBSERVED, WIDE)


def total(world: World, metric: MetricId = OWN, end_seconds: float = START_SECONDS + 86_400) -> tuple[float, float]:
    """How many values were observed since START_SECONDS, by their statistics and by their buckets."""
    points = world.metrics.points(metric, START_SECONDS - 86_400, end_seconds, 60)
    values = [sum((point.distribution or {}).values()) for point in points]
    return sum(point.statistics.sample_count for point in points), sum(values)


def test_blocks_of_distributions_are_made_and_read_in_pieces() -> None:
    """A block of 360 minutes with 150 different values each took 28 ms in one step."""
    cells = wide_cells()
    block = encode_cells(cells)
    assert decode_cells(block) == cells
    assert lines_between_looks(partial(encode_cells, cells)) < LINES_MAX
    assert lines_between_looks(partial(decode_cells, block)) < LINES_MAX


def test_long_blocks_are_compressed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    between: list[int] = []

    class Noted:
        def __init__(self, inner: Any) -> None:
            self.inner = inner
            self.flush = getattr(inner, "flush", None)

        def _noted(self, piece: bytes, work: Callable[[bytes], bytes]) -> bytes:
            between.append(len(piece))
            return work(piece)

        def compress(self, piece: bytes) -> bytes:
            return self._noted(piece, self.inner.compress)

        def decompress(self, piece: bytes) -> bytes:
            return self._noted(piece, self.inner.decompress)

    def look() -> None:
        sizes.append(sum(between))
        between.clear()

    made, read = zlib.compressobj, zlib.decompressobj
    monkeypatch.setattr(zlib, "compressobj", lambda level: Noted(made(level)))
    monkeypatch.setattr(zlib, "decompressobj", lambda: Noted(read()))
    monkeypatch.setattr(steps, "_look", look)
    cells = wide_cells()
    assert decode_cells(encode_cells(cells)) == cells
    assert 0 < max(sizes) <= 16 * 1024 < sum(sizes) // 4


def test_cells_are_put_together_in_pieces() -> None:
    """Two weeks of such minutes as one period took 300 ms to 3 s."""
    cells = list(wide_cells().values())
    assert lines_between_looks(partial(together, cells)) < LINES_MAX
    assert together(cells).statistics.sample_count == BUCKETS * CELLS


@pytest.mark.parametrize("name", ["p99", "TM(10%:90%)", "TM(2:9000)", "WM(10%:90%)", "PR(2:9000)", "IQM"])
def test_percentiles_of_a_wide_cell_give_way(name: str) -> None:
    """Values of all magnitudes have more than 14,000 buckets, which took 25 ms and more in one step."""
    statistic = statistic_of(name)
    assert statistic is not None
    buckets = range(3_000, 17_000)
    cell = Cell(StatisticSet(14_000.0, 1.0, 1e-300, 1e300), dict.fromkeys(buckets, 1.0))
    assert lines_between_looks(partial(statistic, cell)) < 7 * len(buckets)


def test_many_percentiles_of_many_minutes_give_way(open_world: Callable[[str], World]) -> None:
    world = open_world("memory")
    record_minutes(world)
    names = [f"p{number}" for number in range(90, 100)]
    begin, end = (datetime.fromtimestamp(START_SECONDS + 60 * place, UTC) for place in (0, CELLS))
    request = GetMetricStatisticsRequest("Own", "Load", begin, end, 60, ExtendedStatistics=names)
    caller = Caller(*OWN[:2])
    shown: list[int] = []

    def ask() -> None:
        with pytest.raises(StopIteration) as ended:
            get_metric_statistics(world.metrics, caller, request).send(None)
        shown.append(len(ended.value.value["Datapoints"]))

    assert lines_between_looks(ask) < LINES_MAX
    assert shown == [CELLS]
    statistic = statistic_of("p99")
    assert statistic is not None
    ask_alarm = partial(world.metrics.values, OWN, START_SECONDS, START_SECONDS + 3600, 60, statistic)
    assert lines_between_looks(ask_alarm) < LINES_MAX


def test_saving_distributions_gives_way(open_world: Callable[[str], World]) -> None:
    """A snapshot of two weeks of such minutes saved them in one step of 1.5 s."""
    world = open_world("memory")
    for _ in range(2):
        record_minutes(world)
        assert lines_between_looks(world.save) < LINES_MAX
    assert total(world) == (2 * CELLS * BUCKETS, 2 * CELLS * BUCKETS)


# --- what happens meanwhile -------------------------------------------------------------------------


def test_what_is_recorded_and_read_during_a_save_is_neither_lost_nor_counted_twice(
    open_world: Callable[[str], World],
) -> None:
    world = open_world("memory")
    record_minutes(world, minutes=FEW_CELLS)
    world.save()
    record_minutes(world, minutes=FEW_CELLS)
    expected = 2 * FEW_CELLS * BUCKETS

    def between() -> None:
        nonlocal expected
        world.metrics.record(OWN, "None", START_SECONDS + 60 * (expected % FEW_CELLS), of_value(2.0), {10_007: 1.0})
        expected += 1
        assert total(world) == (expected, expected)

    ways_given, _ = give_way_always(world.metrics.save_some(), between)
    assert ways_given > 20
    world.save()
    assert total(world) == (expected, expected)
    world.restart()
    assert total(world) == (expected, expected)


def test_a_save_during_a_read_is_neither_lost_nor_counted_twice(open_world: Callable[[str], World]) -> None:
    world = open_world("memory")
    record_minutes(world)
    world.save()
    saves = 0

    def between() -> None:
        nonlocal saves
        if saves < 3:
            saves += 1
            record_minutes(world, minutes=1)
            world.save()

    async def read() -> tuple[float, float]:
        return total(world)

    world.restart()
    _, found = give_way_always(read(), between)
    assert found == ((CELLS + 3) * BUCKETS,) * 2
    assert total(world) == found, "no block of before is remembered"


def test_what_is_recorded_while_a_block_is_rolled_up_is_kept(open_world: Callable[[str], World]) -> None:
    world = open_world("memory")
    late_seconds = START_SECONDS + 4 * 3600
    for second in range(FEW_CELLS):
        world.metrics.record(OWN, "None", START_SECONDS + second, OBSERVED, WIDE, by_second=True)
    world.save()
    world.clock.advance_to(late_seconds)
    world.metrics.begin_roll_ups()
    expected = FEW_CELLS * BUCKETS

    def between() -> None:
        nonlocal expected
        world.metrics.record(OWN, "None", START_SECONDS + expected % 7, of_value(2.0), {10_007: 1.0}, by_second=True)
        expected += 1
        assert total(world) == (expected, expected)

    ways_given, _ = give_way_always(world.metrics.save_some(), between)
    assert ways_given > 20
    for _ in range(3):
        world.metrics.begin_roll_ups()
        world.save()
    assert total(world) == (expected, expected)
    assert not [name for name in world.documents() if name.startswith("metric-block/0/1/")]


@pytest.mark.parametrize("turn", range(0, 900, 90))
def test_a_metric_that_is_forgotten_while_it_is_saved_leaves_nothing(
    open_world: Callable[[str], World], turn: int
) -> None:
    world = open_world("memory")
    record_minutes(world, SERVICE)
    turns = count()

    def between() -> None:
        if next(turns) == turn:
            for _ in world.metrics.forget(SERVICE[:2], {SERVICE.namespace}):
                pass

    give_way_always(world.metrics.save_some(), between)
    assert next(turns) > turn
    world.save()
    world.save()
    assert world.documents() == {}
