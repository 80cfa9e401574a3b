"""Tumbling windows: a state goes from invocation to invocation, and ends with the window."""

from typing import Any

import pytest

from hashrange.limits import TUMBLING_STATE_BYTES_MAX
from tests.unit.jobs.streaming import DAY, ROLL, pass_time
from tests.unit.triggers.deliveries import Deliveries, Event, fail, sequence_of, values_of


def count(event: Event) -> Any:
    """The answer of a handler that adds up the values of a window."""
    return {"state": {"sum": event["state"].get("sum", 0) + sum(values_of(event))}}


def windowed(**members: Any) -> Deliveries:
    """A world with a mapping of windows of a minute, the first of which begins now."""
    world = Deliveries()
    world.map(tumbling_window_seconds=60, **members)
    world.functions.answer = count
    return world


def told(world: Deliveries) -> list[tuple[list[int], Any, bool, bool]]:
    """(values, state, is final, is early) of each event since the last call."""
    events, world.functions.events = world.functions.events, []
    return [
        (values_of(one), one["state"], one["isFinalInvokeForWindow"], one["isWindowTerminatedEarly"]) for one in events
    ]


def test_the_state_goes_on_until_the_window_ends() -> None:
    world = windowed()
    assert world.clock.service_time() % 60 == 0
    world.write(1, 2)
    assert world.deliver() == 60
    world.clock.advance(20)
    world.write(3)
    assert world.deliver() == 40
    assert told(world) == [([1, 2], {}, False, False), ([3], {"sum": 3}, False, False)]
    assert world.pass_time(40) is None
    assert told(world) == [([], {"sum": 6}, True, False)]
    assert world.pass_time(1_000) is None
    assert told(world) == [], "windows without records are not told"
    world.write(4)
    world.deliver()
    assert told(world) == [([4], {}, False, False)]


def test_a_record_of_the_next_window_ends_the_one_before() -> None:
    world = windowed()
    world.write(1)
    world.clock.advance(61)
    world.write(2)
    world.clock.advance(60)
    world.write(3)
    world.deliver()
    assert told(world) == [
        ([1], {}, False, False),
        ([], {"sum": 1}, True, False),
        ([2], {}, False, False),
        ([], {"sum": 2}, True, False),
        ([3], {}, False, False),
    ]


def test_the_state_survives_a_restart() -> None:
    world = windowed(batch_size=1)
    world.write(1, 2)
    world.deliver()
    world.begin()
    world.write(3)
    assert world.deliver() == 60
    assert told(world)[-1] == ([3], {"sum": 3}, False, False)
    world.begin()
    assert world.deliver() == 60
    world.pass_time(60)
    assert told(world) == [([], {"sum": 6}, True, False)]
    world.begin()
    assert world.pass_time(60) is None
    assert told(world) == []


def test_a_reply_without_a_state_is_a_failure() -> None:
    world = windowed()
    world.functions.answers.extend([None, {}])
    world.write(1)
    assert world.deliver() == 0.5
    assert world.pass_time(0.5) == 1
    world.pass_time(1)
    assert told(world) == [([1], {}, False, False)] * 3


def test_a_final_invocation_is_repeated_until_it_succeeds() -> None:
    world = windowed(retry_attempts_max=0, destination_arn="arn:aws:sqs:us-east-1:000000000000:failed")
    world.write(1)
    world.deliver()
    world.functions.answers.extend([fail] * 3)
    world.clock.advance(60)
    world.write(2)
    pauses = [world.deliver()]
    for _ in range(3):
        assert pauses[-1] is not None
        pauses.append(world.pass_time(pauses[-1]))
    assert pauses[:3] == [0.5, 1, 2]
    assert told(world)[1:] == [([], {"sum": 1}, True, False)] * 4 + [([2], {}, False, False)]
    assert world.destinations.failed == []


def test_a_final_invocation_is_given_up_after_a_day() -> None:
    world = windowed()
    world.write(1)
    world.deliver()
    world.functions.answer = fail
    pause_seconds = world.pass_time(60)
    assert pause_seconds == 0.5
    assert world.pass_time(DAY + 1) is None
    assert world.pass_time(1) is None


def test_a_state_that_is_too_large_ends_the_window_early() -> None:
    world = windowed(batch_size=1)
    large = {"state": {"sum": 1, "pad": "x" * TUMBLING_STATE_BYTES_MAX}}
    world.functions.answers.append(large)
    world.write(1, 2)
    world.deliver()
    found = told(world)
    assert found == [
        ([1], {}, False, False),
        ([], large["state"], True, True),
        ([2], {}, False, False),
    ]
    assert world.pass_time(60) is None
    assert told(world) == [([], {"sum": 2}, True, False)]


def test_a_state_of_a_megabyte_may_stay() -> None:
    world = windowed()
    world.functions.answers.append({"state": "x" * (TUMBLING_STATE_BYTES_MAX - len('""'))})
    world.write(1)
    assert world.deliver() == 60
    assert len(told(world)) == 1


def test_the_windows_of_a_shard_end_with_it() -> None:
    world = windowed()
    world.clock.advance(ROLL - 30)
    world.write(1)
    world.deliver()
    assert told(world) == [([1], {}, False, False)]
    pass_time(world, 30)
    world.write(2)
    world.deliver()
    assert told(world) == [([], {"sum": 1}, True, False), ([2], {}, False, False)]


def test_reported_failures_keep_the_state_of_what_was_handled() -> None:
    world = windowed(reports_item_failures=True)

    def partly(event: Event) -> Any:
        failed = [{"itemIdentifier": sequence_of(event["Records"][2])}]
        return {"state": {"sum": sum(values_of(event)[:2])}, "batchItemFailures": failed}

    world.functions.answers.append(partly)
    world.write(1, 2, 3)
    assert world.deliver() == 0.5
    world.begin()
    world.deliver()
    assert told(world) == [([1, 2, 3], {}, False, False), ([3], {"sum": 3}, False, False)]


def test_windows_of_a_batching_window() -> None:
    world = windowed(batching_window_seconds=300)
    world.write(1)
    assert world.deliver() == 60
    assert world.pass_time(60) is None
    assert told(world) == [([1], {}, False, False), ([], {"sum": 1}, True, False)]


@pytest.mark.parametrize("seconds", [0, 90])
def test_a_changed_length_ends_the_window_before(seconds: int) -> None:
    world = windowed()
    world.write(1)
    world.deliver()
    (mapping,) = world.mappings.all()
    world.change(mapping, tumbling_window_seconds=seconds)
    world.clock.advance(70)
    world.write(2)
    if not seconds:
        world.functions.answer = None
    world.deliver()
    if seconds:
        assert told(world)[1:] == [([2], {"sum": 1}, False, False)], "the new window begins with the old one"
    else:
        assert world.taken() == [[1], [2]]
