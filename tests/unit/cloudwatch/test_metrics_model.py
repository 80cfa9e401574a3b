"""Metrics agree with a list of all observations: over random records, runs, times, periods,
saves, roll-ups and restarts.
"""

import math
import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistic import Datapoint, StatisticSet
from tests.support.seeds import seeds
from tests.unit.cloudwatch.conftest import START_SECONDS, World

DAY_SECONDS = 86_400
METRICS = [
    MetricId("000000000000", "us-east-1", namespace, name, dimensions)
    for namespace, name in (("AWS/DynamoDB", "ConsumedReadCapacityUnits"), ("Own", "Delay"))
    for dimensions in ((), (("TableName", "a"),))
]
UNITS = ("Count", "Milliseconds")
SHORT_PERIODS_SECONDS = (1, 5, 10, 20, 30)
PERIODS_SECONDS = (60, 120, 300, 420, 600, 3600, 7200, 86_400)


class Observation(NamedTuple):
    """What was observed in one minute or, of high resolution, in one second."""

    metric: MetricId
    unit: str
    at_seconds: int
    statistics: StatisticSet
    distribution: dict[int, float] | None


class Model:
    """All observations, and a world that must agree with them."""

    def __init__(self, seed: int, world: World) -> None:
        self.chance = random.Random(seed)
        self.world = world
        self.observed: list[Observation] = []
        self.steady_until = dict.fromkeys(METRICS, START_SECONDS)

    def step(self) -> None:
        """Do something at random."""
        kinds = [self.record] * 8 + [self.steady] * 3 + [self.move] * 3 + [self.save, self.restart, self.rest]
        self.chance.choice(kinds)()

    def record(self) -> None:
        now_seconds = self.world.clock.service_time()
        for _ in range(self.chance.choice((1, 5, 50))):
            age_seconds = self.chance.choice((60, 3600, 13 * DAY_SECONDS)) * self.chance.random()
            at_seconds = now_seconds - age_seconds
            metric, unit = self.chance.choice(METRICS), self.chance.choice(UNITS)
            low = self.chance.choice((0.0, 0.5, 2.0, -3.25, self.chance.random(), 2.0**300))
            high = low if self.chance.random() < 0.7 else low + self.chance.randrange(4)
            count = float(self.chance.randrange(1, 300))
            statistics = StatisticSet(count, low * count if low == high else low + high * (count - 1), low, high)
            distribution = None
            if self.chance.random() < 0.9:
                distribution = {self.chance.randrange(-9_000, 12_000): float(self.chance.randrange(1, 9)) for _ in "ab"}
            by_second = self.chance.random() < 0.3
            self.world.metrics.record(metric, unit, at_seconds, statistics, distribution, by_second=by_second)
            shown_seconds = int(at_seconds) if by_second else int(at_seconds // 60) * 60
            self._observe(metric, unit, shown_seconds, statistics, distribution)

    def steady(self) -> None:
        """Record the same since the last time, in one call or two."""
        metric, period_seconds = self.chance.choice(METRICS), self.chance.choice((60, 300))
        begin_seconds, now_seconds = self.steady_until[metric], self.world.clock.service_time()
        statistics = StatisticSet(1.0, value := float(self.chance.randrange(2)), value, value)
        middle_seconds = begin_seconds + (now_seconds - begin_seconds) * self.chance.random()
        for begin, end in ((begin_seconds, middle_seconds), (middle_seconds, now_seconds)):
            self.world.metrics.record_steadily(metric, "Count", begin, end, period_seconds, statistics)
        for at_seconds in range(math.ceil(begin_seconds / period_seconds) * period_seconds, math.ceil(now_seconds)):
            if at_seconds % period_seconds == 0:
                self._observe(metric, "Count", at_seconds, statistics, None)
        self.steady_until[metric] = now_seconds

    def _observe(
        self, metric: MetricId, unit: str, at_seconds: int, statistics: StatisticSet, found: dict[int, float] | None
    ) -> None:
        self.observed.append(Observation(metric, unit, at_seconds, statistics, found))

    def move(self) -> None:
        """Move time; gauges that have not been recorded for long lose their past, so that the model stays small."""
        self.world.clock.advance(
            self.chance.choice((30, 900, 20_000, 3 * DAY_SECONDS, 40 * DAY_SECONDS)) * self.chance.random()
        )
        now_seconds = self.world.clock.service_time()
        for metric, until_seconds in self.steady_until.items():
            self.steady_until[metric] = max(until_seconds, now_seconds - 2 * DAY_SECONDS)

    def save(self) -> None:
        self.world.save()

    def restart(self) -> None:
        self.world.save()
        self.world.restart()

    def rest(self) -> None:
        self.world.run_job()

    def check(self) -> None:
        """Compare the datapoints of a random question."""
        now_seconds = self.world.clock.service_time()
        age_seconds = self.chance.choice((3600, 2 * DAY_SECONDS, 20 * DAY_SECONDS, 80 * DAY_SECONDS, 500 * DAY_SECONDS))
        begin_seconds = now_seconds - age_seconds * self.chance.random()
        end_seconds = begin_seconds + (now_seconds + 60 - begin_seconds) * self.chance.random()
        period_seconds = self.chance.choice(PERIODS_SECONDS)
        if age_seconds == 3600:
            period_seconds = self.chance.choice((*SHORT_PERIODS_SECONDS, 60))
        if self.chance.random() < 0.3:
            end_seconds = begin_seconds + period_seconds * self.chance.randrange(1, 9)
        if begin_seconds < now_seconds - 15 * DAY_SECONDS:
            end_seconds = max(end_seconds // 3600 * 3600, begin_seconds)
        metric, unit = self.chance.choice(METRICS), self.chance.choice((None, *UNITS))
        found = self.world.metrics.points(metric, begin_seconds, end_seconds, period_seconds, unit)
        expected = self._points(metric, begin_seconds, end_seconds, period_seconds, unit)
        assert [(one.at_seconds, one.unit) for one in found] == [(one.at_seconds, one.unit) for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.distribution == other.distribution
            assert one.statistics == pytest.approx(other.statistics)

    def _points(
        self, metric: MetricId, begin_seconds: float, end_seconds: float, period_seconds: int, unit: str | None
    ) -> list[Datapoint]:
        now_seconds = self.world.clock.service_time()
        age_seconds = now_seconds - begin_seconds
        step = (
            period_seconds
            if period_seconds < 60
            else 60
            if age_seconds <= 15 * DAY_SECONDS
            else 300
            if age_seconds <= 63 * DAY_SECONDS
            else 3600
        )
        first = int(begin_seconds // step) * step
        if (
            period_seconds > step
            and end_seconds - first > math.ceil((end_seconds - begin_seconds) / period_seconds) * period_seconds
        ):
            first += step
        days: float = 455 if period_seconds % 3600 == 0 else 63 if period_seconds % 300 == 0 else 15
        days = days if period_seconds >= 60 else 3 / 24
        found: dict[tuple[int, str], Datapoint] = {}
        for one in self.observed:
            own_seconds = one.at_seconds if period_seconds < 60 else one.at_seconds // 60 * 60
            at_seconds = first + (own_seconds - first) // period_seconds * period_seconds
            if (
                one.metric == metric
                and unit in (None, one.unit)
                and first <= own_seconds < end_seconds
                and at_seconds >= now_seconds - days * DAY_SECONDS
            ):
                before = found.get((at_seconds, one.unit))
                found[at_seconds, one.unit] = _with(before, at_seconds, one)
        return [found[key] for key in sorted(found)]


def _with(before: Datapoint | None, at_seconds: int, one: Observation) -> Datapoint:
    if before is None:
        return Datapoint(at_seconds, one.unit, one.statistics, one.distribution)
    a, b = before.statistics, one.statistics
    statistics = StatisticSet(
        a.sample_count + b.sample_count, a.sum + b.sum, min(a.minimum, b.minimum), max(a.maximum, b.maximum)
    )
    distribution = None
    if before.distribution is not None and one.distribution is not None:
        buckets = {*before.distribution, *one.distribution}
        distribution = {key: before.distribution.get(key, 0) + one.distribution.get(key, 0) for key in buckets}
    return Datapoint(at_seconds, one.unit, statistics, distribution)


@pytest.mark.parametrize("kind", ["memory", "disk", "suspending"])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_datapoints_agree_with_all_observations(open_world: Callable[[str], World], kind: str, seed: int) -> None:
    model = Model(seed, open_world(kind))
    for _ in range(120):
        model.step()
        model.check()
    assert any(one.distribution for one in model.observed)
