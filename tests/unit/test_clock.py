"""Service time never goes back and never stands still, whatever happens to the machine's clock;
a virtual clock moves on request only.
"""

import math
from random import Random

import pytest

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from tests.support.clocks import VIRTUAL_MONOTONIC_START_SECONDS, VIRTUAL_START_SECONDS, SetClock, VirtualClock

HOUR_SECONDS = 3600.0


def test_service_time_is_wall_time() -> None:
    clock = SetClock()
    for _ in range(5):
        assert clock.service_time() == pytest.approx(clock.wall_time(), abs=1e-6)
        assert clock.last_service_seconds == clock.service_time()
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


# --- virtual clocks ----------------------------------------------------------------------------------


def readings(clock: VirtualClock) -> tuple[float, float, float]:
    """Service time, wall time and monotonic time since the virtual clock's start."""
    return (
        clock.service_time() - VIRTUAL_START_SECONDS,
        clock.wall_time() - VIRTUAL_START_SECONDS,
        clock.monotonic() - VIRTUAL_MONOTONIC_START_SECONDS,
    )


def test_an_advance_moves_service_time_alone() -> None:
    clock = VirtualClock()
    clock.advance(HOUR_SECONDS)
    assert readings(clock) == (HOUR_SECONDS, 0, 0)


def test_all_three_readings_move_when_asked() -> None:
    clock = VirtualClock()
    clock.advance(1.5)
    clock.advance_all(HOUR_SECONDS)
    assert readings(clock) == (HOUR_SECONDS + 1.5, HOUR_SECONDS, HOUR_SECONDS)


def test_what_has_been_is_what_service_time_has_reached() -> None:
    clock = VirtualClock()
    for move in (clock.advance, clock.advance_all):
        move(7.0)
        assert clock.last_service_seconds == clock.service_time()


def test_virtual_time_never_goes_back() -> None:
    clock = VirtualClock()
    for move in (clock.advance, clock.advance_all):
        with pytest.raises(AssertionError):
            move(-1.0)
    assert readings(clock) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_moment_plus_a_delay_is_reached_by_advancing_by_the_delay(seed: int) -> None:
    chance, clock = Random(seed), VirtualClock()
    for _ in range(200):
        delay_seconds = chance.choice([0.1, 0.3, 5.0, chance.uniform(0, 1000)])
        due_seconds = clock.service_time() + delay_seconds
        clock.advance(delay_seconds)
        assert clock.service_time() == due_seconds


@pytest.mark.parametrize("seed", range(20))
def test_virtual_time_is_advanced_to_a_moment_exactly(seed: int) -> None:
    chance, clock, told = Random(seed), VirtualClock(), list[float]()
    clock.on_advance(lambda: told.append(clock.service_time()))
    for _ in range(200):
        before_seconds = clock.service_time()
        moment_seconds = VIRTUAL_START_SECONDS + chance.choice([0.0, 5.0, chance.uniform(0, 1000)])
        clock.advance_to(moment_seconds)
        assert clock.service_time() == clock.last_service_seconds == max(before_seconds, moment_seconds)
        assert told.pop() == clock.service_time()
    assert readings(clock)[1:] == (0, 0)


def test_who_asks_is_told_of_every_advance_until_it_asks_no_more() -> None:
    clock = VirtualClock()
    told: list[tuple[str, float]] = []
    stop_first = clock.on_advance(lambda: told.append(("first", clock.service_time() - VIRTUAL_START_SECONDS)))
    clock.on_advance(lambda: told.append(("second", clock.service_time() - VIRTUAL_START_SECONDS)))
    clock.advance(1)
    stop_first()
    clock.advance_all(1)
    assert told == [("first", 1), ("second", 1), ("second", 2)]


def test_only_virtual_time_stands_still() -> None:
    assert VirtualClock().is_virtual
    assert not SystemClock().is_virtual
    assert not MovableClock(SystemClock()).is_virtual
    assert not SetClock().is_virtual


def test_a_machine_moves_nobody_by_hand() -> None:
    clock = SetClock()
    stop = clock.on_advance(lambda: pytest.fail("nobody moves a machine's time"))
    clock.advance(5)
    stop()


# --- running clocks that can be moved ----------------------------------------------------------------


def test_a_movable_clock_runs_as_the_machine_does() -> None:
    machine = SetClock()
    clock = MovableClock(machine)
    for _ in range(3):
        assert clock.service_time() == clock.last_service_seconds == machine.service_time()
        machine.advance(0.3)


def test_an_advance_moves_the_service_time_of_a_running_clock_alone() -> None:
    machine = SetClock()
    clock = MovableClock(machine)
    before = clock.service_time()
    clock.advance(HOUR_SECONDS)
    clock.advance(HOUR_SECONDS)
    assert clock.service_time() == clock.last_service_seconds == before + 2 * HOUR_SECONDS
    assert (clock.wall_time(), clock.monotonic()) == (machine.wall_time(), machine.monotonic())
    machine.advance(5)
    assert clock.service_time() == pytest.approx(before + 2 * HOUR_SECONDS + 5)


@pytest.mark.parametrize("seed", range(20))
def test_the_service_time_of_a_movable_clock_never_goes_back(seed: int) -> None:
    chance, machine = Random(seed), SetClock()
    clock = MovableClock(machine)
    told = [clock.service_time()]
    for _ in range(200):
        machine.advance(chance.choice([0.0, 1e-9, 0.001, 7.0]))
        machine.set_by(chance.choice([0.0, 0.0, chance.uniform(-1e9, 1e6), chance.uniform(-1.0, 1.0)]))
        clock.advance(chance.choice([0.0, 0.0, chance.uniform(0.0, 1e6)]))
        told.append(clock.service_time())
    assert told == sorted(told)
    with pytest.raises(AssertionError):
        clock.advance(-1.0)


@pytest.mark.parametrize("is_frozen", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_movable_clock_reaches_a_moment_and_passes_it_by_one_float_at_most(seed: int, *, is_frozen: bool) -> None:
    chance, machine = Random(seed), SetClock(1_700_000_000 + seed / 7)
    clock = MovableClock(machine, ServiceTimeState(chance.choice([0.0, -3.3, chance.uniform(0.0, 1e9)])))
    if is_frozen:
        clock.freeze()
    for _ in range(200):
        machine.advance(chance.choice([0.0, 1e-9, 0.001, 7.0]))
        before_seconds = clock.service_time()
        ahead_seconds = chance.choice([-5.0, 0.0, 1e-6, 0.1, chance.uniform(0.0, 1e6), chance.uniform(0.0, 1e9)])
        moment_seconds = before_seconds + ahead_seconds
        clock.advance_to(moment_seconds)
        after_seconds = clock.service_time()
        if ahead_seconds <= 0:
            assert after_seconds == before_seconds
        else:
            assert moment_seconds <= after_seconds <= math.nextafter(moment_seconds, math.inf)
        assert (clock.wall_time(), clock.monotonic()) == (machine.wall_time(), machine.monotonic())


def test_a_running_clock_that_is_advanced_to_a_moment_goes_on_from_there() -> None:
    machine = SetClock()
    clock = MovableClock(machine)
    moment_seconds = clock.service_time() + HOUR_SECONDS
    told = list[float]()
    clock.on_advance(lambda: told.append(clock.service_time()))
    clock.advance_to(moment_seconds)
    machine.advance(5)
    assert clock.service_time() == pytest.approx(moment_seconds + 5)
    clock.advance_to(moment_seconds)
    assert clock.service_time() == pytest.approx(moment_seconds + 5)
    assert told == [moment_seconds, clock.service_time()]


def test_who_asks_a_movable_clock_is_told_after_the_move() -> None:
    machine = SetClock()
    clock = MovableClock(machine)
    before, told = clock.service_time(), list[float]()
    stop = clock.on_advance(lambda: told.append(clock.service_time() - before))
    clock.advance(7)
    machine.advance(1)
    assert told == [7]
    stop()
    clock.advance(7)
    assert told == [7]


def test_a_frozen_clock_moves_only_by_advances_until_it_is_resumed() -> None:
    machine = SetClock()
    clock = MovableClock(machine)
    clock.advance(HOUR_SECONDS)
    before, told = clock.service_time(), list[bool]()
    clock.on_advance(lambda: told.append(clock.is_virtual))
    clock.freeze()
    machine.advance(5)
    clock.freeze()
    assert clock.service_time() == before
    clock.advance(7)
    assert clock.service_time() == before + 7
    assert (clock.wall_time(), clock.monotonic()) == (machine.wall_time(), machine.monotonic())
    clock.resume()
    clock.resume()
    assert clock.service_time() == pytest.approx(before + 7)
    machine.advance(2)
    assert clock.service_time() == pytest.approx(before + 9)
    assert told == [True, True, False]


def test_a_clock_returns_to_an_earlier_state_and_goes_on_from_anothers() -> None:
    machine = SetClock()
    clock = MovableClock(machine)
    clock.freeze()
    before, state = clock.service_time(), clock.state
    machine.advance(5)
    clock.advance(HOUR_SECONDS)
    clock.resume()
    clock.go_to(state)
    other = MovableClock(machine, state)
    assert clock.service_time() == other.service_time() == before
    assert clock.last_service_seconds == before
    assert (clock.returns, other.returns) == (1, 0)
    other.advance(1)
    assert clock.service_time() == before
