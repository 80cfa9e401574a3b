"""The log says, once for each mapping, that its function is missing or fails, and that records were discarded."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from hashrange.errors import StorageCorruption
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.functions.refusals import FunctionMissing, FunctionsSwitchedOff, conflict_refusal
from hashrange.messages.functions_api import SWITCHED_OFF
from hashrange.messages.triggers import function_failing
from hashrange.triggers.problem_log import name_function, name_table, read_error
from tests.unit.triggers.deliveries import FUNCTION, Deliveries, Event, Failing, fail, fail_from, fail_with, sequence_of
from tests.unit.triggers.test_delivery_failures import QUEUE, until_rest

Lines = Callable[[], list[str]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """What was logged since the last call, as on a server that was started without options."""

    def take() -> list[str]:
        found = [one.getMessage() for one in caplog.records if one.name == "hashrange.triggers"]
        assert all(one.levelno == logging.WARNING for one in caplog.records)
        caplog.clear()
        return found

    return take


def test_a_missing_function_is_named_once(lines: Lines) -> None:
    world = Deliveries()
    world.map()
    world.functions.answers.extend([FunctionMissing("gone")] * 5)
    world.write(1)
    until_rest(world)
    assert lines() == ["There is no function handle yet. The records of the table orders (us-east-1) wait for it."]


def test_a_damaged_function_holds_up_its_own_mapping_alone(lines: Lines) -> None:
    world = Deliveries()
    world.map()
    world.map(function_arn="other")
    damaged = [StorageCorruption("the document function/other is no function: why") for _ in range(3)]
    world.functions.answer_of["other"] = lambda _: damaged.pop() if damaged else None
    world.write(1)
    until_rest(world)
    assert sorted(arn for arn, _ in world.functions.requests) == [FUNCTION, *["other"] * 4]
    (line,) = lines()
    assert "the document function/other is no function: why" in line


def test_a_failing_function_is_named_once_until_it_has_succeeded(lines: Lines) -> None:
    world = Deliveries()
    world.map()
    world.map(function_arn="other")
    world.functions.answer_of["other"] = None
    for value in range(2):
        world.functions.answer_of[FUNCTION] = fail
        world.write(value)
        for _ in range(5):
            world.pass_time(61)
        assert lines() == [
            (
                "The function handle fails with records of the table orders (us-east-1), and is retried as its mapping "
                "says: Failing: no. This is logged again only after a success."
            )
        ]
        world.functions.answer_of[FUNCTION] = None
        world.pass_time(61)
    assert lines() == []
    world.functions.answer_of["other"] = fail
    world.write(2)
    world.deliver()
    (line,) = lines()
    assert line.startswith("The function other fails with records of the table orders (us-east-1), ")


ONCE = "This is logged again only after a success."
UNUSABLE = (
    "The function handle succeeded, but its reply about records of the table orders (us-east-1) says"
    " nothing of which were handled: "
)
FORM = 'it is not of the form {"batchItemFailures": [{"itemIdentifier": "<SequenceNumber>"}]}'


def fail_two(event: Event) -> Any:
    """The answer of a handler that reports the last record, and the one behind the first."""
    return {"batchItemFailures": [{"itemIdentifier": sequence_of(event["Records"][place])} for place in (3, 1, 3)]}


@pytest.mark.parametrize(
    ("members", "answer", "logged"),
    [
        ({}, fail_from(1), "1; the last 3, from the first of them on, are delivered again in 0.5 s."),
        ({}, fail_from(3), "1; the last one is delivered again in 0.5 s."),
        ({}, fail_from(0), "1; all 4 are delivered again in 0.5 s."),
        ({}, fail_two, "2; the last 3, from the first of them on, are delivered again in 0.5 s."),
        (
            {"is_bisecting": True},
            fail_from(2),
            "1; the last 2, from the first of them on, are delivered again at once.",
        ),
        ({"is_bisecting": True}, fail_from(0), "1; all 4 are delivered again in two halves."),
        ({"retry_attempts_max": 0}, fail_from(3), "1; the last one is given up, because the retries are used up."),
    ],
)
def test_reported_records_are_counted_and_the_log_says_what_follows(
    lines: Lines, members: dict[str, Any], answer: Any, logged: str
) -> None:
    world = Deliveries()
    world.map(reports_item_failures=True, **members)
    world.functions.answers.append(answer)
    world.write(1, 2, 3, 4)
    world.deliver()
    reported, _, follows = logged.partition(";")
    table = "of 4 records of the table orders (us-east-1) as failed"
    assert lines()[0] == f"The function handle reported {reported} {table};{follows} {ONCE}"


def test_reported_records_are_logged_once_until_a_success_and_again_if_the_function_fails(lines: Lines) -> None:
    world = Deliveries()
    world.map(reports_item_failures=True)
    world.functions.answers.extend([fail_from(1), fail_from(0), fail, None, fail_from(0), None])
    world.write(1, 2)
    until_rest(world)
    assert [line.split()[3] for line in lines()] == ["reported", "fails"]
    world.write(3)
    until_rest(world)
    assert [line.split()[3] for line in lines()] == ["reported"]


@pytest.mark.parametrize(
    ("members", "answer", "fault"),
    [
        ({}, 7, FORM),
        ({}, {"batchItemFailures": [{"itemIdentifer": "1"}]}, FORM),
        ({}, {"batchItemFailures": [{"itemIdentifier": "1"}]},
         "an itemIdentifier in it is not the SequenceNumber of a record of the batch"),
        ({"tumbling_window_seconds": 60}, {}, "it has no state, which a tumbling window requires"),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_used_is_not_called_a_failure_of_the_function(
    lines: Lines, members: dict[str, Any], answer: Any, fault: str
) -> None:
    world = Deliveries()
    world.map(reports_item_failures=True, **members)
    world.functions.answers.append(answer)
    world.write(1)
    world.deliver()
    if members:
        world.pass_time(61)
    assert lines() == [f"{UNUSABLE}{fault}; the batch is delivered again in 0.5 s. {ONCE}"]


def test_other_accounts_are_named() -> None:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-11-28T00:00:00.000"
    assert name_table(arn) == "orders (eu-west-1, account 123456789012)"
    assert name_function(f"{FUNCTION}:$LATEST") == "handle"


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (FunctionsSwitchedOff(), [SWITCHED_OFF]),
        (conflict_refusal("Pending"), []),
        (ConcurrencyExceeded("full"), []),
    ],
)
def test_refusals_that_do_not_pass_by_themselves_are_logged(
    lines: Lines, error: LambdaError | ConcurrencyExceeded, logged: list[str]
) -> None:
    world = Deliveries()
    world.map()
    world.functions.answers.extend([error] * 3)
    world.write(1)
    until_rest(world)
    found = lines()
    assert len(found) == len(logged)
    assert all(text in line for text, line in zip(logged, found, strict=True))


def test_discarded_records_are_counted_without_a_destination(lines: Lines) -> None:
    world = Deliveries()
    world.map(retry_attempts_max=0, batch_size=2)
    world.functions.answer = fail
    world.write(1, 2, 3, 4)
    until_rest(world)
    assert lines()[1:] == [
        (
            "2 records of the table orders (us-east-1) are discarded (RetryAttemptsExhausted):"
            " the function handle has not handled them, and the mapping has no failure destination."
            " Further ones are not logged before a success."
        )
    ]
    world.functions.answer = None
    world.write(5)
    world.deliver()
    world.functions.answer = fail
    world.write(6)
    until_rest(world)
    assert [line[:9] for line in lines()] == ["The funct", "1 record "]


def test_records_for_a_destination_are_not_logged_as_discarded(lines: Lines) -> None:
    world = Deliveries()
    world.map(retry_attempts_max=0, destination_arn=QUEUE)
    world.functions.answer = fail
    world.write(1)
    until_rest(world)
    assert len(world.destinations.failed) == len(lines()) == 1


def test_a_line_stays_short_and_one_line(lines: Lines) -> None:
    world = Deliveries()
    world.map()
    world.functions.answers.append(lambda _event: raise_failing("a\nb\x1b[0m" + "x" * 100_000))
    world.write(1)
    until_rest(world)
    (line,) = lines()
    assert len(line) < 700
    assert line.isprintable()


def raise_failing(text: str) -> Any:
    raise Failing(text)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"errorType": "KeyError", "errorMessage": "id"}', "KeyError: id"),
        (b'{"errorType": "KeyError"}', "KeyError"),
        (b'{"errorMessage": "id"}', "id"),
        (b'{"errorMessage": 7}', "an error without a description"),
        (b"{}", "an error without a description"),
        (b"", "an error without a description"),
        (b'"\xff"', "an error without a description"),
        (b"[" * 100_000, "an error without a description"),
    ],
)
def test_any_payload_may_describe_an_error(payload: bytes, text: str) -> None:
    assert read_error(payload) == text


def test_an_error_in_the_log_is_short_and_commands_no_terminal(lines: Lines) -> None:
    world = Deliveries()
    world.map()
    world.functions.answer_of[FUNCTION] = fail_with("\x1b]0;title\x07\u202e" + "x" * 5_000)
    world.write(1)
    world.pass_time(61)
    (line,) = lines()
    assert r"Failing: \x1b]0;title\x07\u202exxx" in line
    assert line.isprintable()
    assert line.endswith("x…. This is logged again only after a success.")


@pytest.mark.parametrize(("characters", "shown"), [(300, "x" * 300), (301, "x" * 300 + "…")])
def test_an_error_is_cut_only_where_it_is_longer(characters: int, shown: str) -> None:
    assert f" {shown}. This" in function_failing("f", "t", "x" * characters)
