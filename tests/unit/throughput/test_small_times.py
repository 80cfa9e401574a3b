"""The time that buckets go by: that of the service, whatever is done to its clock."""

import random

from hashrange.clock import MovableClock
from hashrange.throughput.feature import SmallTimes
from tests.support.clocks import SetClock, VirtualClock


def test_small_times_pass_as_service_time_does() -> None:
    chance = random.Random(1)
    machine = SetClock()
    clock = MovableClock(machine)
    times = SmallTimes(clock)
    begin_seconds = clock.service_time()
    states = [clock.state]
    for _ in range(2_000):
        seconds = chance.choice([0.25, 1.0, 3600.0])
        match chance.randrange(7):
            case 0:
                clock.freeze()
            case 1:
                clock.resume()
            case 2:
                clock.advance(seconds)
            case 3:
                clock.advance_to(clock.service_time() + seconds)
            case 4:
                clock.go_to(chance.choice(states))
            case 5:
                states.append(clock.state)
            case _:
                machine.advance(seconds)
        assert abs(times.now_seconds() - (clock.service_time() - begin_seconds)) < 1e-5


def test_a_machines_clock_that_is_set_back_stops_nothing() -> None:
    machine = SetClock()
    times = SmallTimes(MovableClock(machine))
    machine.set_by(-3600.0)
    machine.advance(5.0)
    assert times.now_seconds() == 5.0


def test_a_virtual_clock_is_read_too() -> None:
    clock = VirtualClock()
    times = SmallTimes(clock)
    clock.advance_all(7.0)
    assert times.now_seconds() == 7.0
