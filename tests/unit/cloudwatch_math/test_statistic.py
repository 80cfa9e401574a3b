"""Statistics of distributions lie within a bucket's width of those of all values, sorted."""

import math
import random
from collections.abc import Callable, Sequence

import pytest

from hashrange.cloudwatch.percentiles import bucket_of, distribution_of, upper_bound
from hashrange.cloudwatch.statistic import Datapoint, StatisticSet, statistic_of

WIDTH = 1.1
"""A bucket's upper bound divided by its lower one."""


def point_of(values: Sequence[float]) -> Datapoint:
    """The datapoint of these values."""
    observed = StatisticSet(float(len(values)), math.fsum(values), min(values), max(values))
    return Datapoint(0, "Count", observed, distribution_of((value, 1.0) for value in values))


def of(name: str, values: Sequence[float]) -> float:
    """A statistic of these values."""
    statistic = statistic_of(name)
    assert statistic is not None, name
    found = statistic(point_of(values))
    assert found is not None
    return found


def is_near(found: float, least: float, greatest: float) -> bool:
    """True if `found` lies between the two, or at most a bucket's width beyond."""
    return least / WIDTH - 1e-12 <= found <= greatest * WIDTH + 1e-12


def lists(seed: int) -> list[float]:
    """Values of one of several kinds."""
    chance = random.Random(seed)
    size = chance.choice((1, 2, 10, 500))
    kinds: Sequence[Callable[[], float]] = (
        lambda: chance.lognormvariate(0, 2),
        lambda: float(chance.randrange(4)),
        lambda: chance.uniform(0, 1e-9),
        lambda: chance.choice((0.0, 0.0, 5.0, 1e12)),
        lambda: 7.0,
    )
    draw = chance.choice(kinds)
    return sorted(draw() for _ in range(size))


@pytest.mark.parametrize("seed", range(40))
def test_percentiles(seed: int) -> None:
    values = lists(seed)
    for percent in (0, 1, 10, 25, 50, 75, 90, 99, 99.9, 100):
        rank = percent / 100 * len(values)
        least = values[max(math.ceil(rank) - 1, 0)]
        greatest = values[min(math.floor(rank), len(values) - 1)]
        assert is_near(of(f"p{percent}", values), least, greatest), percent
    assert values[0] <= of("p0", values) <= of("p50", values) <= of("p100", values) == values[-1]


@pytest.mark.parametrize("seed", range(40))
def test_trimmed_statistics_by_percent(seed: int) -> None:
    values = lists(seed)
    for low, high in ((0, 100), (10, 90), (0, 50), (25, 75), (80, 100)):
        first, last = low / 100 * len(values), high / 100 * len(values)
        shares = [max(0.0, min(place + 1, last) - max(place, first)) for place in range(len(values))]
        count, total = sum(shares), sum(share * value for share, value in zip(shares, values, strict=True))
        text = f"({low}%:{high}%)"
        assert of(f"TC{text}", values) == pytest.approx(count)
        assert is_near(of(f"TS{text}", values), total, total)
        assert is_near(of(f"TM{text}", values), total / count, total / count)
        below, above = values[max(math.ceil(first) - 1, 0)], values[min(math.ceil(last) - 1, len(values) - 1)]
        moved = [min(max(value, below), above) for value in values]
        assert of(f"WM{text}", values) <= of("p100", values)
        assert is_near(of(f"WM{text}", values), min(moved), max(moved))
    assert of("tm90", values) == of("TM(:90%)", values) == of("TM(0%:90%)", values)
    assert of("IQM", values) == of("TM(25%:75%)", values)
    assert of("ts90", values) == pytest.approx(of("tm90", values) * of("tc90", values))


@pytest.mark.parametrize("seed", range(40))
def test_statistics_between_values(seed: int) -> None:
    values = lists(seed)
    bound = values[len(values) // 2]
    near = [value for value in values if bound / WIDTH < value < bound * WIDTH]
    at_most = sum(value <= bound for value in values)
    assert at_most - len(near) - 1e-9 <= of(f"TC(:{bound:.40f})", values) <= at_most + len(near) + 1e-9
    assert of("PR(:100)", values) + of("PR(100:)", values) == pytest.approx(100)
    assert of("TC(:100)", values) + of("TC(100:)", values) == pytest.approx(len(values))
    assert of(f"TC(:{values[-1]:.40f})", values) == pytest.approx(len(values))


def test_the_lower_bound_is_exclusive_and_the_upper_one_is_inclusive() -> None:
    values = [300.0] * 4
    assert [of(f"PR({bounds})", values) for bounds in (":300", "300:", "100:300", "300:500")] == [100, 0, 100, 0]
    assert of("TC(0:10)", [0.0, 0.0, 5.0]) == 1
    assert of("TC(:0)", [0.0, 0.0, 5.0]) == 2
    assert of("WM(10:20)", [1.0] * 3) == 10


def test_a_percentile_is_known_of_a_statistic_set_only_if_its_values_are_equal() -> None:
    p99 = statistic_of("p99")
    assert p99 is not None
    assert p99(Datapoint(0, "None", StatisticSet(3.0, 15.0, 5.0, 5.0))) == 5
    assert p99(Datapoint(0, "None", StatisticSet(3.0, 15.0, 1.0, 9.0))) is None
    assert p99(Datapoint(0, "None", StatisticSet(0.0, 0.0, 0.0, 0.0))) is None


def test_no_percentile_is_known_if_a_value_is_negative() -> None:
    statistic = statistic_of("p50")
    assert statistic is not None
    assert statistic(point_of([-1.0, 2.0, 3.0])) is None
    assert of("Minimum", [-1.0, 2.0]) == -1


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-9, 0.999999, 1.0, 1.1, 42.0, 1e308, -5e-324, -1.0, -1e300])
def test_a_value_lies_in_its_bucket(value: float) -> None:
    bucket = bucket_of(value)
    assert (bucket > 0) == (value > 0)
    assert (bucket < 0) == (value < 0)
    if abs(value) > 1e-300:
        assert abs(upper_bound(bucket)) / WIDTH * (1 - 1e-9) <= abs(value) <= abs(upper_bound(bucket)) * (1 + 1e-9)


def test_buckets_are_in_the_order_of_values() -> None:
    values = [-1e9, -3.0, -0.1, 0.0, 1e-9, 0.5, 1.0, 2.0, 1e9]
    buckets = [bucket_of(value) for value in values]
    assert buckets == sorted(set(buckets))


NAMES = (
    "p0 p0.0 p5 p99.99 p100 p99.1234567890 tm99 tm99.9 wm98 tc100 ts1 IQM TM(10%:90%) TM(:95%) TM(10%:) TM(150:1000)"
    " TC(0.005:0.030) TS(80%:) WM(:5) PR(:300) PR(100:2000) PR(10:) Sum SampleCount Average Minimum Maximum"
)
OTHER_NAMES = (
    "sum Total p p101 p100.1 p-1 p99.12345678901 P99 tm TM90 tm101 tm( TM() TM(:) TM(10%:5%) TM(10%:90) TM(5:1)"
    " TM(10%:101%) PR(10%:20%) PR90 TM(1.2.3:4) TM(1:2:3)"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_names_of_statistics(name: str) -> None:
    assert statistic_of(name) is not None


@pytest.mark.parametrize("name", ["", *OTHER_NAMES.split()])
def test_other_names_are_no_statistics(name: str) -> None:
    assert statistic_of(name) is None
