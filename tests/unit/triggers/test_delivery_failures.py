"""A batch that fails is delivered again, or split, or given up; nothing behind it overtakes it."""

from typing import Any

import pytest

from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.functions.refusals import FunctionMissing
from hashrange.messages import triggers as messages
from tests.unit.jobs.streaming import DAY
from tests.unit.triggers.deliveries import FUNCTION, Deliveries, Event, fail, fail_from, sequence_of, values_of

QUEUE = "arn:aws:sqs:us-east-1:000000000000:failed"


def fail_for(*bad: int) -> Any:
    """The answer of a handler that returns an error if one of these values is in its batch."""
    return lambda event: fail(event) if set(bad) & set(values_of(event)) else None


def report(*bad: int) -> Any:
    """The answer of a handler that reports the records with these values as failed."""

    def answer(event: Event) -> Any:
        failed = [one for one, value in zip(event["Records"], values_of(event), strict=True) if value in bad]
        return {"batchItemFailures": [{"itemIdentifier": sequence_of(one)} for one in failed]}

    return answer


def until_rest(world: Deliveries, times_max: int = 100) -> None:
    """Let time pass until nothing is due any more."""
    pause_seconds = world.deliver()
    for _ in range(times_max):
        if pause_seconds is None:
            return
        pause_seconds = world.pass_time(pause_seconds)
    raise AssertionError("does not come to rest")


def given_up(world: Deliveries) -> list[tuple[str, int, int]]:
    """(condition, records, invocations) of each message to the destination."""
    documents = [one.document for one in world.destinations.failed]
    contexts = [one["requestContext"] for one in documents]
    sizes = [one["DDBStreamBatchInfo"]["batchSize"] for one in documents]
    return [(one["condition"], size, one["approximateInvokeCount"]) for one, size in zip(contexts, sizes, strict=True)]


# --- retries ------------------------------------------------------------------------------------------


def test_a_failed_batch_is_retried_after_growing_pauses() -> None:
    world = Deliveries()
    mapping = world.map()
    world.functions.answers.extend([fail] * 3)
    world.write(1)
    pauses = [world.deliver()]
    assert world.result(mapping) == messages.FUNCTION_CALL_FAILED
    world.write(2)
    assert world.deliver() == pauses[0]
    while pauses[-1] is not None:
        pauses.append(world.pass_time(pauses[-1]))
    assert pauses == [0.5, 1, 2, None]
    assert world.taken() == [[1], [1], [1], [1], [2]], "the batch stays as it is"
    assert world.result(mapping) == messages.OK


def test_a_batch_is_given_up_after_its_retries() -> None:
    world = Deliveries()
    mapping = world.map(retry_attempts_max=2)
    world.functions.answer = fail_for(1)
    world.write(1)
    until_rest(world)
    assert world.taken() == [[1], [1], [1]]
    assert world.result(mapping) == messages.FUNCTION_CALL_FAILED
    world.begin()
    until_rest(world)
    assert world.taken() == []
    world.write(2)
    until_rest(world)
    assert world.taken() == [[2]]


def test_without_retries_a_batch_is_given_up_at_once() -> None:
    world = Deliveries()
    world.map(retry_attempts_max=0, batch_size=1)
    world.functions.answer = fail_for(1)
    world.write(1, 2)
    assert world.deliver() is None
    assert world.taken() == [[1], [2]]


def test_a_batch_without_limit_is_retried_until_its_records_are_gone() -> None:
    world = Deliveries()
    world.map(destination_arn=QUEUE)
    world.functions.answer = fail_for(1)
    world.write(1)
    until_rest(world, 10_000)
    calls = len(world.taken())
    assert calls > 1_000
    assert world.clock.service_time() > DAY
    assert given_up(world) == [("RecordAgeExceeded", 1, calls)]
    world.write(2)
    until_rest(world)
    assert world.taken() == [[2]]


def test_retries_count_anew_after_a_restart() -> None:
    world = Deliveries()
    world.map(retry_attempts_max=1)
    world.functions.answer = fail
    world.write(1)
    world.deliver()
    world.begin()
    until_rest(world)
    assert world.taken() == [[1], [1], [1]]


# --- splits -------------------------------------------------------------------------------------------


def test_a_batch_is_split_until_only_the_bad_record_is_left() -> None:
    world = Deliveries()
    world.map(is_bisecting=True, retry_attempts_max=1, destination_arn=QUEUE)
    world.functions.answer = fail_for(5)
    world.write(*range(8))
    until_rest(world)
    assert world.taken() == [
        list(range(8)), [0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [4], [5], [5], [6, 7],
    ]  # fmt: skip
    assert given_up(world) == [("RetryAttemptsExhausted", 1, 5)]


def test_a_restart_between_halves_repeats_no_half_that_was_handled() -> None:
    world = Deliveries()
    world.map(is_bisecting=True)
    world.functions.answers.extend([fail, None, fail_for(2)])
    world.write(0, 1, 2)
    world.deliver()
    assert world.taken()[:2] == [[0, 1, 2], [0]]
    world.begin()
    world.functions.answers.clear()
    until_rest(world)
    assert 0 not in [value for batch in world.taken() for value in batch]


# --- reported failures --------------------------------------------------------------------------------


def test_a_batch_is_retried_from_the_lowest_reported_record() -> None:
    world = Deliveries()
    world.map(reports_item_failures=True)
    world.functions.answers.extend([fail_from(2), report(3)])
    world.write(*range(5))
    until_rest(world)
    assert world.taken() == [[0, 1, 2, 3, 4], [2, 3, 4], [3, 4]]


def test_what_was_handled_before_the_reported_record_is_not_repeated() -> None:
    world = Deliveries()
    world.map(reports_item_failures=True)
    world.functions.answers.append(fail_from(2))
    world.write(*range(5))
    world.deliver()
    world.begin()
    until_rest(world)
    assert world.taken() == [[0, 1, 2, 3, 4], [2, 3, 4]]


@pytest.mark.parametrize("reply", [{"batchItemFailures": [{"itemIdentifier": ""}]}, "text", fail])
def test_invalid_reports_fail_the_whole_batch(reply: Any) -> None:
    world = Deliveries()
    mapping = world.map(reports_item_failures=True)
    world.functions.answers.append(reply)
    world.write(1, 2)
    world.deliver()
    assert world.result(mapping) == messages.FUNCTION_CALL_FAILED
    until_rest(world)
    assert world.taken() == [[1, 2], [1, 2]]


def test_reports_need_the_setting() -> None:
    world = Deliveries()
    world.map()
    world.functions.answer = fail_from(0)
    world.write(1)
    assert world.deliver() is None
    assert world.taken() == [[1]]


def test_reports_and_splits_together() -> None:
    world = Deliveries()
    world.map(reports_item_failures=True, is_bisecting=True, retry_attempts_max=0, destination_arn=QUEUE)
    world.functions.answer = report(3)
    world.write(*range(6))
    until_rest(world)
    assert world.taken() == [[0, 1, 2, 3, 4, 5], [3, 4, 5], [3], [4, 5]]
    assert given_up(world) == [("RetryAttemptsExhausted", 1, 3)]


# --- age ----------------------------------------------------------------------------------------------


def test_records_older_than_allowed_are_given_up() -> None:
    world = Deliveries()
    mapping = world.map(record_age_seconds_max=60, is_enabled=False, destination_arn=QUEUE)
    world.write(1, 2)
    world.clock.advance(61)
    world.write(3)
    world.change(mapping, is_enabled=True)
    until_rest(world)
    assert given_up(world) == [("RecordAgeExceeded", 2, 0)]
    assert world.taken() == [[3]]


def test_records_that_became_too_old_while_they_failed() -> None:
    world = Deliveries()
    world.map(record_age_seconds_max=60, destination_arn=QUEUE)
    world.functions.answer = fail_for(1)
    world.write(1)
    until_rest(world)
    calls = len(world.taken())
    assert given_up(world) == [("RecordAgeExceeded", 1, calls)]
    assert calls > 5
    (message,) = world.destinations.failed
    response = message.document["responseContext"]
    assert (response["functionError"], response["executedVersion"]) == ("Unhandled", "$LATEST")
    assert message.document["requestContext"]["requestId"] == world.functions.requests[-1][1]


# --- destinations -------------------------------------------------------------------------------------


def test_records_count_as_handled_once_the_destination_has_accepted() -> None:
    world = Deliveries()
    mapping = world.map(retry_attempts_max=0, batch_size=1, destination_arn=QUEUE)
    world.functions.answer = fail_for(1)
    world.destinations.refusals = 2
    world.write(1, 2)
    pause_seconds = world.deliver()
    assert pause_seconds == 0.5
    assert world.result(mapping) == messages.DESTINATION_FAILED
    assert world.checkpoints() == {}
    assert world.taken() == [[1]], "what follows waits"
    pause_seconds = world.pass_time(pause_seconds)
    assert pause_seconds == 1
    assert world.pass_time(pause_seconds) is None
    assert world.taken() == [[2]]
    (failed,) = world.destinations.failed
    assert failed.event.startswith(b'{"Records":[{')
    info = failed.document["DDBStreamBatchInfo"]
    assert failed.stream_arn == info["streamArn"] == world.arn
    assert failed.object_key.startswith(f"aws/lambda/{mapping.uuid}/shardId-")
    assert info["shardId"].startswith("shardId-")
    assert world.destinations.sent == [(QUEUE, failed.object_key)] * 3
    discarded_second = failed.document["timestamp"].partition(".")[0] + "Z"
    assert discarded_second == info["approximateArrivalOfFirstRecord"], "not the time of the third attempt"


def test_given_up_records_are_not_lost_by_a_restart() -> None:
    world = Deliveries()
    world.map(retry_attempts_max=0, destination_arn=QUEUE)
    world.functions.answer = fail
    world.destinations.refusals = 1
    world.write(1)
    world.deliver()
    world.begin()
    until_rest(world)
    assert world.taken() == [[1], [1]]
    assert len(world.destinations.failed) == 1


# --- functions that cannot run ------------------------------------------------------------------------


def test_a_throttled_invocation_is_no_attempt() -> None:
    world = Deliveries()
    mapping = world.map(retry_attempts_max=0, destination_arn=QUEUE)
    world.functions.answers.extend([ConcurrencyExceeded("")] * 5)
    world.write(1)
    assert world.deliver() == 0.5
    assert world.result(mapping) == messages.FUNCTION_THROTTLED
    until_rest(world)
    assert world.taken() == [[1]] * 6
    assert world.destinations.failed == []
    assert world.result(mapping) == messages.OK


def test_a_throttled_invocation_begins_when_another_one_ends() -> None:
    """With a concurrency of one, ten mappings take turns, and no time needs to pass."""
    world = Deliveries()

    def answer(_event: Event) -> Any:
        return ConcurrencyExceeded("") if world.functions.running > 1 else None

    mappings = [world.map(batch_size=1) for _ in range(10)]
    world.functions.answer = answer
    world.write(1, 2, 3)
    assert world.deliver() is None
    assert {world.result(one) for one in mappings} == {messages.OK}
    handled = [one["next"] for one in world.checkpoints().values()]
    assert len(handled) == 10
    assert len({tuple(one) for one in handled}) == 1


def test_what_other_functions_do_makes_no_throttled_batch_wait_longer() -> None:
    """It is tried whenever an invocation ends, since there may be room for it now,
    and besides at the times of its own pauses.
    """
    world = Deliveries()
    world.map()
    world.functions.answer_of[FUNCTION] = ConcurrencyExceeded("")
    world.write(0)
    assert world.deliver() == 0.5
    world.map(function_arn="other", batch_size=1)
    for value in range(1, 9):
        world.write(value)
        assert world.pass_time(0.05) == pytest.approx(0.5 - value * 0.05, abs=0.001)
    assert sum(arn == FUNCTION for arn, _ in world.functions.requests) > 2
    assert world.pass_time(0.11) == pytest.approx(1.0, abs=0.001)
    del world.functions.answer_of[FUNCTION]
    world.taken()
    world.pass_time(1.1)
    assert world.taken() == [[0], [*range(1, 9)]]


def test_a_missing_function_is_waited_for() -> None:
    world = Deliveries()
    mapping = world.map(retry_attempts_max=0)
    world.functions.answers.extend([FunctionMissing("gone")] * 3)
    world.write(1)
    assert world.deliver() == 0.5
    assert world.result(mapping) == messages.FUNCTION_MISSING
    until_rest(world)
    assert world.taken() == [[1]] * 4
    assert world.result(mapping) == messages.OK


def test_a_throttled_batch_is_tried_at_once_when_the_concurrency_of_its_function_changes() -> None:
    world = Deliveries()
    first, second, third = world.map(), world.map(function_arn=f"{FUNCTION}:$LATEST"), world.map(function_arn="other")
    world.functions.answer = world.functions.answer_of["other"] = ConcurrencyExceeded("")
    world.write(0)
    assert world.deliver() == 0.5
    world.functions.requests.clear()
    world.delivery.concurrency_changed(FUNCTION)
    assert world.deliver() == 0.5, "the extra try leaves the pause as it is"
    assert sorted(arn for arn, _ in world.functions.requests) == [FUNCTION, f"{FUNCTION}:$LATEST"]
    world.functions.answer = None
    world.delivery.concurrency_changed(FUNCTION)
    assert world.deliver() == 0.5
    assert [world.result(one) for one in (first, second, third)] == [
        messages.OK,
        messages.OK,
        messages.FUNCTION_THROTTLED,
    ]


def test_a_batch_that_is_throttled_while_the_concurrency_changes_is_tried_at_once() -> None:
    world = Deliveries()
    world.map()

    def answer(_event: Event) -> Any:
        world.delivery.concurrency_changed(FUNCTION)
        return ConcurrencyExceeded("")

    world.functions.answers.append(answer)
    world.write(0)
    assert world.deliver() is None
    assert world.taken() == [[0], [0]]
