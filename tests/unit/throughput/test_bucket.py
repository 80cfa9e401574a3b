"""No sequence of requests gets more than rate × time + burst + its largest request; a slow, obvious bucket agrees."""

import random

import pytest

from hashrange.throughput.bucket import Bucket


class Simulation:
    """A bucket in steps of a thousandth of a second, in whole thousandths of a unit."""

    def __init__(self, rate: int, burst: int) -> None:
        self.rate, self.burst = rate, burst * 1000
        self.level, self.at = self.burst, 0

    def admits(self, now: int) -> bool:
        while self.at < now:
            self.at += 1
            self.level = min(self.burst, self.level + self.rate)
        return self.level > 0


@pytest.mark.parametrize("seed", range(20))
def test_a_bucket_agrees_with_a_slow_one(seed: int) -> None:
    chosen = random.Random(seed)
    rate, burst = chosen.choice([1, 5, 1000]), chosen.choice([1, 10, 1500])
    bucket, slow, now = Bucket(rate, burst, 0.0), Simulation(rate, burst), 0
    for _ in range(500):
        now += chosen.choice([0, 0, 1, 7, 400])
        expected = slow.admits(now)
        assert bucket.level(now / 1000) == pytest.approx(slow.level / 1000, abs=1e-6)
        assert bucket.admits(now / 1000) == expected or abs(slow.level) < 1
        if expected:
            units = chosen.choice([1, 2, 100])
            bucket.take(units, now / 1000)
            slow.level -= units * 1000


@pytest.mark.parametrize("seed", range(20))
def test_nobody_gets_more_than_rate_and_burst_and_one_request(seed: int) -> None:
    chosen = random.Random(seed)
    rate, burst = chosen.choice([0.5, 3, 1000]), chosen.choice([1, 50, 900])
    bucket, now, got = Bucket(rate, burst, 0.0), 0.0, []
    for _ in range(2_000):
        now += chosen.choice([0.0, 0.001, 0.3, 20.0])
        units = chosen.choice([0.5, 1, 40, 400])
        if bucket.admits(now):
            bucket.take(units, now)
            got.append((now, units))
    for first in range(0, len(got), 13):
        total, largest = 0.0, 0.0
        for at, units in got[first:]:
            total, largest = total + units, max(largest, units)
            assert total <= rate * (at - got[first][0]) + burst + largest + 1e-6


def test_another_rate_counts_from_now_on() -> None:
    bucket = Bucket(1, 300, 0.0)
    bucket.take(300, 0.0)
    bucket.change(10, 3000, 20.0)
    assert bucket.level(20.0) == pytest.approx(20)
    assert bucket.admits(21.0)
    assert bucket.level(21.0) == pytest.approx(30)
    bucket.change(1, 5, 21.0)
    assert bucket.level(21.0) == pytest.approx(5)
