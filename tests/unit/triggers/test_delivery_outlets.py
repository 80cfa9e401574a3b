"""Messages about given-up records go to the destinations that the server knows; one that hangs or refuses is tried again."""

import asyncio
import logging
from typing import Any, cast

import pytest

from hashrange.functions.functions import Functions
from hashrange.functions.invocation import Invocation
from hashrange.triggers import triggers as module
from hashrange.triggers.destinations.destination import DeliveryFailed
from hashrange.triggers.failure_message import FailureMessage
from hashrange.triggers.triggers import Triggers
from tests.unit.triggers.deliveries import Deliveries

QUEUE = "arn:aws:sqs:us-east-1:000000000000:failed"


class Queue:
    """A destination that answers from a script."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.messages: list[FailureMessage] = []

    async def deliver(self, message: FailureMessage) -> None:
        answer = self.answers.pop(0) if self.answers else None
        if answer == "hang":
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        self.messages.append(message)


class Refusing:
    """Functions that return an error."""

    async def invoke(self, _arn: str, _payload: bytes, _request_id: str) -> Invocation:
        return Invocation(b"{}", "Unhandled")


def pauses_of(world: Deliveries, destinations: dict[str, Queue]) -> list[float | None]:
    """Give one record up; returns the pauses of the job until it rests."""
    triggers = Triggers(world.store, world.clock, cast("Functions", Refusing()), destinations)
    world.mappings, world.delivery = triggers.mappings, triggers.job
    world.map(retry_attempts_max=0, destination_arn=QUEUE)
    world.write(1)
    pauses = [world.deliver()]
    while pauses[-1] is not None:
        pauses.append(world.pass_time(pauses[-1]))
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
