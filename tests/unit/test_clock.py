"""Service time never goes back and never stands still, whatever is done to the machine's clock."""

from random import Random

import pytest

from tests.support.clocks import SetClock

HOUR_SECONDS = 3600.0


def test_service_time_is_wall_time() -> None:
    clock = SetClock()
    for _ in range(5):
        assert clock.service_time() == pytest.approx(clock.wall_time(), abs=1e-6)
        assert clock.seen_seconds == clock.service_time()
        clock.advance(0.3)


def test_a_clock_that_is_set_back_takes_nothing_from_service_time() -> None:
    clock = SetClock()
    before = clock.service_time()
    clock.set_by(-HOUR_SECONDS)
    assert clock.service_time() == before
    clock.advance(5)
    assert clock.service_time() == pytest.approx(before + 5)


def test_a_clock_that_is_set_forward_takes_service_time_along() -> None:
    clock = SetClock()
    before = clock.service_time()
    clock.set_by(HOUR_SECONDS)
    assert clock.service_time() == pytest.approx(before + HOUR_SECONDS)


@pytest.mark.parametrize("seed", range(20))
def test_service_time_never_goes_back(seed: int) -> None:
    chance, clock = Random(seed), SetClock()
    told = [clock.service_time()]
    for _ in range(200):
        clock.advance(chance.choice([0.0, 1e-9, 0.001, 7.0]))
        clock.set_by(chance.choice([0.0, 0.0, chance.uniform(-1e9, 1e6), chance.uniform(-1.0, 1.0)]))
        told.append(clock.service_time())
    assert told == sorted(told)
