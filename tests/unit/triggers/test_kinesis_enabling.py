"""A new destination becomes ACTIVE once Kinesis has its data stream, and otherwise ENABLE_FAILED; states may last."""

from collections.abc import Callable
from typing import Any

import pytest

from hashrange.limits import KINESIS_ENABLING_SECONDS_MAX
from tests.support.fake_kinesis import Asked, Misbehaviour
from tests.unit.jobs.streaming import change
from tests.unit.triggers.kinesis_world import DAY, KinesisWorld, arn_of, in_world

NO_PERMISSION = "User does not have a permission to use kinesis stream"


def always(misbehaviour: Misbehaviour | None) -> Callable[[Asked], Misbehaviour | None]:
    return lambda _: misbehaviour


def test_the_data_stream_is_asked_for_before_anything_is_sent() -> None:
    async def test(world: KinesisWorld) -> None:
        change(world, 1, 0)
        assert world.enable()["DestinationStatus"] == "ENABLING"
        change(world, 1, 1)
        assert world.statuses() == [("changes", "ENABLING")]
        await world.deliver_all()
        assert world.statuses() == [("changes", "ACTIVE")]
        assert [one.operation for one in world.kinesis.asked] == ["DescribeStreamSummary", "PutRecords"]
        assert world.numbers() == [1]
        first = world.kinesis.asked[0]
        assert "Credential=000000000000/" in first.headers["authorization"]
        assert "/us-east-1/kinesis/aws4_request" in first.headers["authorization"]

    in_world(test)


@pytest.mark.parametrize("status", ["CREATING", "DELETING", None])
def test_a_data_stream_that_is_not_ready_fails_the_destination(status: str | None) -> None:
    """None: there is none. Nothing of the feed is sent, also not after a stream of that name appears."""

    async def test(world: KinesisWorld) -> None:
        if status is None:
            del world.kinesis.records["changes"]
        else:
            world.kinesis.statuses["changes"] = status
        world.enable(EnableKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"})
        change(world, 1, 1)
        await world.deliver_all()
        assert world.destinations() == [
            {
                "StreamArn": arn_of(),
                "DestinationStatus": "ENABLE_FAILED",
                "DestinationStatusDescription": NO_PERMISSION,
                "ApproximateCreationDateTimePrecision": "MICROSECOND",
            }
        ]
        world.kinesis.statuses.clear()
        world.kinesis.records["changes"] = []
        change(world, 1, 2)
        await world.deliver_all()
        assert world.numbers() == []
        world.enable()
        change(world, 1, 3)
        await world.deliver_all()
        assert world.destinations() == [{"StreamArn": arn_of(), "DestinationStatus": "ACTIVE"}]
        assert world.numbers() == [3]

    in_world(test)


def test_a_data_stream_that_is_resharded_is_ready() -> None:
    async def test(world: KinesisWorld) -> None:
        world.kinesis.statuses["changes"] = "UPDATING"
        world.enable()
        await world.deliver_all()
        assert world.statuses() == [("changes", "ACTIVE")]

    in_world(test)


@pytest.mark.parametrize("misbehaviour", ["cut", "garbage", "error", "throttled"])
def test_while_kinesis_fails_the_destination_is_enabling(misbehaviour: Misbehaviour) -> None:
    """For five minutes; then it has failed."""

    async def test(world: KinesisWorld) -> None:
        world.kinesis.misbehave = always(misbehaviour)
        world.enable()
        began_seconds = world.clock.service_time()
        while (pause_seconds := await world.deliver()) is not None:
            assert world.statuses() == [("changes", "ENABLING")]
            world.clock.advance(pause_seconds)
        assert 0 <= world.clock.service_time() - began_seconds - KINESIS_ENABLING_SECONDS_MAX < 60
        (failed,) = world.destinations()
        assert failed["DestinationStatus"] == "ENABLE_FAILED"
        assert failed["DestinationStatusDescription"].startswith("Kinesis did not answer: ")
        assert world.store.streams.feeds()[0].is_on is False

    in_world(test)


def test_a_destination_fails_only_if_kinesis_was_asked_for_it() -> None:
    """Not because another request was not answered, however late the job runs."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        world.kinesis.misbehave = always("cut")
        change(world, 1, 1)
        await world.deliver()
        world.disable()
        world.enable()
        world.clock.advance(2 * KINESIS_ENABLING_SECONDS_MAX)
        world.kinesis.misbehave = always(None)
        await world.deliver_all()
        assert world.statuses() == [("changes", "ACTIVE")]

    in_world(test)


def test_once_kinesis_answers_the_destination_is_active() -> None:
    async def test(world: KinesisWorld) -> None:
        await world.kinesis.stop()
        world.enable()
        change(world, 1, 1)
        for _ in range(3):
            world.clock.advance(await world.deliver() or 0.0)
        await world.kinesis.start(world.kinesis.port)
        await world.deliver_all()
        assert world.statuses() == [("changes", "ACTIVE")]
        assert world.numbers() == [1]

    in_world(test)


def test_states_that_pass_last_as_long_as_those_of_tables() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        assert world.statuses() == [("changes", "ENABLING")]
        assert refused(world, "Disable").endswith("must be ACTIVE to perform DISABLE operation.")
        assert "Kinesis streaming is not in ACTIVE state" in refused(world, "Update", precision="MICROSECOND")
        world.clock.advance(10)
        assert world.statuses() == [("changes", "ACTIVE")]
        assert world.update("MICROSECOND")["DestinationStatus"] == "UPDATING"
        assert world.destinations()[0]["ApproximateCreationDateTimePrecision"] == "MICROSECOND"
        assert world.statuses() == [("changes", "UPDATING")]
        assert "Kinesis streaming is not in ACTIVE state" in refused(world, "Update", precision="MILLISECOND")
        assert refused(world, "Disable").endswith("must be ACTIVE to perform DISABLE operation.")
        assert refused(world, "Enable").endswith("must be DISABLED or ENABLE_FAILED to perform ENABLE operation.")
        world.clock.advance(10)
        assert world.disable()["DestinationStatus"] == "DISABLING"
        assert world.statuses() == [("changes", "DISABLING")]
        assert world.disable()["DestinationStatus"] == "DISABLING"
        assert refused(world, "Enable", name="other").endswith("to perform ENABLE operation.")
        assert "Kinesis streaming is not in ACTIVE state" in refused(world, "Update", precision="MILLISECOND")
        world.clock.advance(10)
        assert world.statuses() == [("changes", "DISABLED")]
        assert refused(world, "Disable").endswith("must be ACTIVE to perform DISABLE operation.")
        world.enable("other")
        assert world.statuses() == [("other", "ENABLING"), ("changes", "DISABLED")]
        await world.deliver_all()
        assert world.statuses() == [("other", "ENABLING"), ("changes", "DISABLED")]
        assert "DestinationStatusDescription" not in world.destinations()[0]
        world.clock.advance(10)
        assert world.statuses() == [("other", "ENABLE_FAILED"), ("changes", "DISABLED")]
        assert world.destinations()[0]["DestinationStatusDescription"] == NO_PERMISSION
        world.clock.advance(DAY)
        assert world.statuses() == []

    in_world(test, delay_seconds=10)


def refused(world: KinesisWorld, verb: str, name: str = "changes", precision: str | None = None) -> str:
    members: dict[str, Any] = {"StreamArn": arn_of(name)}
    if precision is not None:
        members["UpdateKinesisStreamingConfiguration"] = {"ApproximateCreationDateTimePrecision": precision}
    code, message = world.refusal(f"{verb}KinesisStreamingDestination", **members)
    assert code == "ValidationException"
    assert message is not None
    return message


def test_a_table_that_is_deleted_while_it_is_asked_stops_nothing() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        change(world, 1, 1)
        world.ask("DeleteTable")
        world.refusal("DescribeTable")
        await world.deliver_all()
        assert world.numbers() == [1]
        assert [one.operation for one in world.kinesis.asked] == ["PutRecords"]

    in_world(test)


def test_a_change_of_the_table_in_between_is_kept() -> None:
    """The job's own change of the table does not undo others."""

    async def test(world: KinesisWorld) -> None:
        world.enable()

        def meanwhile(_: Asked) -> None:
            world.ask("UpdateTable", DeletionProtectionEnabled=True)

        world.kinesis.misbehave = meanwhile
        await world.deliver_all()
        assert world.described()["DeletionProtectionEnabled"] is True
        assert world.statuses() == [("changes", "ACTIVE")]

    in_world(test)
