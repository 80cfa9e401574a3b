"""A table with a stream, mappings of it, and functions that answer from a script;
the job is run by hand, on a clock that the test moves.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from hashrange.functions.description import new_uuid
from hashrange.functions.invocation import Invocation
from hashrange.triggers.batches import Batch
from hashrange.triggers.delivery import Delivery
from hashrange.triggers.failure_message import FailureMessage
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.mappings import CHECKPOINT_PREFIX, Mappings
from tests.unit.jobs.streaming import switch_on
from tests.unit.jobs.world import World, drive

ACCOUNT, REGION = "000000000000", "us-east-1"
FUNCTION = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:handle"
Event = dict[str, Any]
Answer = Callable[[Event], Any]


class Failing(Exception):
    """Raised by an answer: the handler returns an error."""


class FakeFunctions:
    """All functions, as `Functions.invoke` runs them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        """Events of all invocations that began, in order."""
        self.requests: list[tuple[str, str]] = []
        """(function ARN, request id) of each."""
        self.answers: deque[Any] = deque()
        """What the next invocations return; exceptions are raised, functions are called with the event."""
        self.answer: Any = None
        """What invocations return when `answers` is empty."""
        self.answer_of: dict[str, Any] = {}
        """What invocations of one function return instead."""
        self.running = 0
        self.most_running = 0

    async def invoke(self, arn: str, payload: bytes, request_id: str) -> Invocation:
        event: Event = msgspec.json.decode(payload)
        self.events.append(event)
        self.requests.append((arn, request_id))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(0)
            answer = self.answers.popleft() if self.answers else self.answer_of.get(arn, self.answer)
            if callable(answer):
                answer = answer(event)
            if isinstance(answer, Awaitable):
                answer = await answer
            if isinstance(answer, Exception):
                raise answer
        except Failing as error:
            return Invocation(msgspec.json.encode({"errorType": "Failing", "errorMessage": str(error)}), "Unhandled")
        finally:
            self.running -= 1
        return Invocation(answer if isinstance(answer, bytes) else msgspec.json.encode(answer))


class FakeDestinations:
    """All destinations."""

    def __init__(self) -> None:
        self.failed: list[FailureMessage] = []
        """What was accepted."""
        self.sent: list[tuple[str, str]] = []
        """(ARN of the destination, name of the object) of all messages."""
        self.refusals = 0
        """How many of the next messages are not accepted."""

    async def deliver(self, arn: str, failed: FailureMessage) -> bool:
        self.sent.append((arn, failed.object_key))
        await asyncio.sleep(0)
        if self.refusals:
            self.refusals -= 1
            return False
        self.failed.append(failed)
        return True


class Deliveries(World):
    """The table `orders`, whose stream is on, with the job that delivers its records."""

    def __init__(self, data_dir: Path | None = None, state_delay_seconds: float = 0.0, **options: Any) -> None:
        self.state_delay_seconds = state_delay_seconds
        self.wake: Callable[[], Any] = lambda: None
        """Called when the job has work."""
        self.is_awaited: Callable[[], int] = lambda: 0
        self.functions = FakeFunctions()
        self.destinations = FakeDestinations()
        self.disturbances: deque[dict[str, Any]] = deque()
        super().__init__(data_dir, **options)
        self.arn = switch_on(self)

    def open(self) -> None:
        super().open()
        self.begin()

    def begin(self) -> None:
        """Let another job, with empty memory, deliver from now on."""
        self.mappings = Mappings(self.store.documents, self.store.streams, self.clock, self.state_delay_seconds)
        self.delivery = Delivery(
            self.mappings,
            self.store,
            self.clock,
            self.functions.invoke,
            self.destinations.deliver,
            self.disturb,
            lambda: self.wake(),  # noqa: PLW0108 - set by tests
            lambda: self.is_awaited(),  # noqa: PLW0108 - as above
        )
        self.store.streams.follow(self.delivery.wake)

    def disturb(self, _mapping: EventSourceMapping, batch: Batch) -> None:
        for name, value in (self.disturbances.popleft() if self.disturbances else {}).items():
            setattr(batch, name, value)

    # --- mappings ---------------------------------------------------------------------------------

    def mapping(self, **members: Any) -> EventSourceMapping:
        """A mapping of the stream, from its oldest record on; members of `EventSourceMapping` change that."""
        usual: dict[str, Any] = {
            "uuid": new_uuid(), "account": ACCOUNT, "region": REGION, "stream_arn": self.arn,
            "function_arn": FUNCTION, "starting_position": "TRIM_HORIZON",
        }  # fmt: skip
        return EventSourceMapping(**usual | members)

    def map(self, **members: Any) -> EventSourceMapping:
        """Create a mapping."""
        created: EventSourceMapping = drive(self.mappings.create(self.mapping(**members)))
        return created

    def change(self, mapping: EventSourceMapping, **members: Any) -> EventSourceMapping:
        """Change members of a mapping."""
        changed = drive(self.mappings.replace(mapping, msgspec.structs.replace(mapping, **members)))
        assert isinstance(changed, EventSourceMapping)
        return changed

    def unmap(self, mapping: EventSourceMapping) -> None:
        assert drive(self.mappings.delete(mapping)) is not None

    def result(self, mapping: EventSourceMapping) -> str:
        return self.mappings.last_processing_result(mapping)

    def checkpoints(self) -> dict[str, Any]:
        """All checkpoints, decoded."""
        return {name: msgspec.json.decode(text) for name, text in self.store.documents.below(CHECKPOINT_PREFIX)}

    # --- delivering -------------------------------------------------------------------------------

    def write(self, *values: int, key: int = 0, **attributes: Any) -> None:
        """Put the item of this key once for each value of `v`."""
        for value in values:
            self.ask("PutItem", Item={"id": {"S": f"o{key}"}, "v": {"N": str(value)}} | attributes)

    def deliver(self) -> float | None:
        """Run one slice of the job; returns the pause that it requests."""
        return asyncio.run(self.delivery.run_slice())

    def pass_time(self, seconds: float) -> float | None:
        """Move service time, and run one slice."""
        self.clock.advance(seconds)
        return self.deliver()

    def taken(self) -> list[list[int]]:
        """The values of `v` in all events since the last call, one list for each event."""
        events, self.functions.events = self.functions.events, []
        return [values_of(event) for event in events]


def values_of(event: Event) -> list[int]:
    """The value of `v` in the new image, or else the old one, of each record of an event."""
    return [int(image_of(one)["v"]["N"]) for one in event["Records"]]


def image_of(record: Any) -> Any:
    content = record["dynamodb"]
    return content.get("NewImage") or content["OldImage"]


def sequence_of(record: Any) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def fail(_event: Event) -> Any:
    """The answer of a handler that returns an error."""
    raise Failing("no")


def fail_with(message: str) -> Answer:
    """The answer of a handler that returns an error with this message."""

    def answer(_event: Event) -> Any:
        raise Failing(message)

    return answer


def fail_from(place: int) -> Answer:
    """The answer of a handler that reports the record at `place` as failed."""
    return lambda event: {"batchItemFailures": [{"itemIdentifier": sequence_of(event["Records"][place])}]}
