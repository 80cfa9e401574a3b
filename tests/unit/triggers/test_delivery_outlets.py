"""Messages about given-up records go to the destinations that the server knows;
one that hangs or refuses is tried again.
"""

import asyncio
import logging
from typing import Any, cast

import pytest

from hashrange.functions.events import JobInvocations
from hashrange.functions.functions import Functions
from hashrange.functions.invocation import Invocation
from hashrange.triggers import triggers as module
from hashrange.triggers.destinations import DeliveryFailed
from hashrange.triggers.failure_message import FailureMessage
from hashrange.triggers.triggers import Triggers
from tests.support.clocks import VirtualClock
from tests.unit.triggers.deliveries import Deliveries

QUEUE = "arn:aws:sqs:us-east-1:000000000000:failed"


class Queue:
    """A destination that answers from a script."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.messages: list[FailureMessage] = []
        self.tries = 0

    async def __call__(self, message: FailureMessage) -> None:
        self.tries += 1
        answer = self.answers.pop(0) if self.answers else None
        if answer == "hang":
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        self.messages.append(message)


class Refusing:
    """Functions that return an error."""

    def __init__(self) -> None:
        self.for_jobs = JobInvocations(self.invoke)
        self.concurrency_followers: list[object] = []

    async def invoke(self, *_: Any) -> Invocation:
        return Invocation(b"{}", "Unhandled")


def give_up_one(world: Deliveries, destinations: dict[str, Queue]) -> float | None:
    """Write one record, which is given up; returns the pause of the job."""
    triggers = Triggers(world.store, world.clock, cast("Functions", Refusing()), destinations)
    world.mappings, world.delivery = triggers.mappings, triggers.job
    world.map(retry_attempts_max=0, destination_arn=QUEUE)
    world.write(1)
    return world.deliver()


def pass_real_time(world: Deliveries, seconds: float) -> None:
    """Let all kinds of time pass."""
    assert isinstance(world.clock, VirtualClock)
    world.clock.advance_all(seconds)


def pauses_of(world: Deliveries, destinations: dict[str, Queue]) -> list[float | None]:
    """Give one record up; returns the pauses of the job until it rests."""
    pauses = [give_up_one(world, destinations)]
    while pauses[-1] is not None:
        pass_real_time(world, pauses[-1])
        pauses.append(world.deliver())
    return pauses


def test_a_message_is_sent_until_it_is_accepted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "DESTINATION_SECONDS_MAX", 0.001)
    queue = Queue(DeliveryFailed("full"), "hang")
    with caplog.at_level(logging.WARNING):
        assert pauses_of(Deliveries(), {QUEUE: queue}) == [0.5, 1, None]
    assert [one.batch_size for one in queue.messages] == [1]
    assert "full" in caplog.text
    assert "did not answer in time" in caplog.text


def test_an_unknown_destination_holds_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert pauses_of(Deliveries(), {}) == [None]
    assert QUEUE in caplog.text


def test_a_destination_that_hangs_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Service time may be moved over many tries; the next one that is sent comes a time-out of real time later."""
    monkeypatch.setattr(module, "DESTINATION_SECONDS_MAX", 0.001)
    world, queue = Deliveries(), Queue("hang", "hang")
    pause_seconds = give_up_one(world, {QUEUE: queue})
    for _ in range(20):
        assert pause_seconds is not None
        pause_seconds = world.pass_time(pause_seconds)
    assert queue.tries == 1
    assert "has not answered for 0.001 seconds; it is tried again later" in caplog.text
    pass_real_time(world, 60)
    world.deliver()
    assert queue.tries == 2
    pass_real_time(world, 60)
    assert world.deliver() is None
    assert [one.batch_size for one in queue.messages] == [1]


def test_new_content_lets_a_destination_be_tried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DESTINATION_SECONDS_MAX", 0.001)
    world, queue = Deliveries(), Queue("hang")
    assert give_up_one(world, {QUEUE: queue}) == 0.5
    monkeypatch.setattr(world.store.documents, "generation", world.store.documents.generation + 1)
    assert world.pass_time(0.5) is None
    assert queue.tries == 2
