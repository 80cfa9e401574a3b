"""The table `orders` with a Kinesis destination, a Kinesis that may misbehave,
and the job that delivers, run by hand.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from hashrange.triggers.kinesis.delivery import KinesisDelivery
from hashrange.triggers.kinesis.feed_delivery import PREFIX
from tests.support.fake_kinesis import FakeKinesis, fake_kinesis
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.jobs.world import World

HOUR = 3600.0
DAY = 24 * HOUR


def arn_of(name: str = "changes") -> str:
    return f"arn:aws:kinesis:us-east-1:000000000000:stream/{name}"


class KinesisWorld(World):
    """A World whose changes go to `kinesis`."""

    def __init__(self, kinesis: FakeKinesis, data_dir: Path | None = None, **options: Any) -> None:
        self.kinesis = kinesis
        self.wake: Callable[[], None] = lambda: None
        """Called when the job has work."""
        super().__init__(data_dir, **options)

    def open(self) -> None:
        super().open()
        self.settings = msgspec.structs.replace(self.settings, kinesis_endpoint=self.kinesis.url)
        self.scope.settings = self.settings
        self.delivery = KinesisDelivery(self.store, self.clock, self.kinesis.url, lambda: self.wake())  # noqa: PLW0108 - set by tests

    def enable(self, name: str = "changes", **members: Any) -> Any:
        return self.ask("EnableKinesisStreamingDestination", StreamArn=arn_of(name), **members)

    def disable(self, name: str = "changes") -> Any:
        return self.ask("DisableKinesisStreamingDestination", StreamArn=arn_of(name))

    def update(self, precision: str, name: str = "changes") -> Any:
        return self.ask(
            "UpdateKinesisStreamingDestination",
            StreamArn=arn_of(name),
            UpdateKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": precision},
        )

    def destinations(self) -> list[Any]:
        reply: list[Any] = self.ask("DescribeKinesisStreamingDestination")["KinesisDataStreamDestinations"]
        return reply

    def statuses(self) -> list[tuple[str, str]]:
        """Name of the data stream and status of each destination that is shown."""
        return [(one["StreamArn"].rpartition("/")[2], one["DestinationStatus"]) for one in self.destinations()]

    async def deliver(self) -> float | None:
        """Run the job until nothing is to be done; return the pause that it requests."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                pause_seconds = await self.delivery.run_slice()
                if pause_seconds is None or pause_seconds > 0:
                    return pause_seconds

    async def deliver_all(self) -> None:
        """Run the job, and let pauses pass, until it has nothing to do."""
        while (pause_seconds := await self.deliver()) is not None:
            self.clock.advance(pause_seconds)

    def checkpoints(self) -> list[str]:
        return [name for name, _ in self.store.documents.below(PREFIX)]

    def numbers(self, name: str = "changes") -> list[int]:
        """The values of `v` in the new images that a data stream accepted, in order."""
        return [int(one["dynamodb"]["NewImage"]["v"]["N"]) for one in self.kinesis.changes(name)]


def in_world(test: Callable[[KinesisWorld], Awaitable[None]], *names: str, **options: Any) -> None:
    """Run a test in a new world; `names`: those of its data streams."""

    async def main() -> None:
        async with fake_kinesis(*names) as kinesis:
            world = KinesisWorld(kinesis, **options)
            try:
                await test(world)
            finally:
                await world.delivery.stop()
            assert world.close() == []

    asyncio.run(main())
