"""Changes reach Kinesis whatever goes wrong there: each at least once, those of an item in order,
none before it is durable.
"""

import asyncio
import logging
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.errors import StorageError
from hashrange.jobs.job import LATER, SlicedJob
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from hashrange.limits import KINESIS_PUT_BYTES, KINESIS_PUTS_AT_ONCE
from hashrange.store.copying import copying_of
from hashrange.store.documents import NOTHING_READ
from hashrange.store.embedded.opening import open_store
from hashrange.store.streams import RecordPage
from hashrange.tables.streams import Sequence, Shard
from hashrange.triggers.kinesis import shard_delivery
from hashrange.triggers.kinesis.delivery import KinesisDelivery
from tests.support.clocks import VIRTUAL_START_SECONDS, VirtualClock
from tests.support.fake_kinesis import Asked, FakeKinesis, Misbehaviour, fake_kinesis
from tests.support.held_syncs import HeldSyncs
from tests.support.scopes import scope_of
from tests.support.waiting import until, until_at_rest
from tests.unit.jobs.streaming import ROLL, change, pass_time
from tests.unit.triggers.kinesis_world import DAY, HOUR, KinesisWorld, arn_of, in_world

RETRIED: tuple[Misbehaviour, ...] = (
    "partial", "none", "throttled", "error", "error after", "cut", "cut after", "garbage", "garbage after",
    "miscount after",
)  # fmt: skip


def puts(kinesis: FakeKinesis) -> list[Asked]:
    return [one for one in kinesis.asked if one.operation == "PutRecords"]


def once(misbehaviour: Misbehaviour, times: int = 1) -> Callable[[Asked], Misbehaviour | None]:
    """Misbehave with the first requests that send changes."""
    left = [misbehaviour] * times

    def misbehave(asked: Asked) -> Misbehaviour | None:
        return left.pop() if left and asked.operation == "PutRecords" else None

    return misbehave


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("misbehaviour", RETRIED)
def test_what_failed_is_sent_again(misbehaviour: Misbehaviour) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        for number in range(4):
            change(world, number, number)
        world.kinesis.misbehave = once(misbehaviour)
        world.kinesis.fails = lambda key: key < "8"
        pause_seconds = await world.deliver()
        assert pause_seconds == 0.5
        assert world.kinesis.met[misbehaviour] == 1
        await world.deliver_all()
        repeated = Counter(world.numbers())
        assert set(repeated) == set(range(4))
        assert max(repeated.values()) == (2 if "after" in misbehaviour else 1)

    in_world(test)


def test_pauses_grow_to_a_minute() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        pauses = []
        world.kinesis.misbehave = lambda _: "throttled"
        for _ in range(9):
            pauses.append(await world.deliver())
            world.clock.advance(pauses[-1] or 0.0)
        assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
        world.kinesis.misbehave = lambda _: None
        await world.deliver_all()
        world.kinesis.misbehave = once("throttled")
        change(world, 1, 2)
        assert await world.deliver() == 0.5

    in_world(test)


def test_a_dead_endpoint_costs_one_connection_per_pause(caplog: pytest.LogCaptureFixture) -> None:
    """However many shards wait; once it answers, all are delivered."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        grow(world)
        await world.deliver_all()
        for number in range(60):
            change(world, number, 2)
        assert len(readable(world)) > 3
        await world.kinesis.stop()
        connections, pauses = world.kinesis.connections, []
        for _ in range(9):
            pauses.append(await world.deliver())
            world.clock.advance(pauses[-1] or 0.0)
        assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
        await world.kinesis.start(world.kinesis.port)
        assert world.kinesis.connections == connections
        world.kinesis.misbehave = lambda _: "cut"
        for number in range(1, 6):
            assert await world.deliver() == 60
            assert world.kinesis.connections == connections + number
            world.clock.advance(60)
        world.kinesis.misbehave = lambda _: None
        await world.deliver_all()
        assert Counter(world.numbers()) == {1: 60, 2: 60}

    with caplog.at_level(logging.WARNING, "hashrange.kinesis"):
        in_world(test, partition_size_max_bytes=2_000)
    assert [one.message.partition(" at ")[0] for one in caplog.records] == ["Kinesis", "Kinesis"]
    assert "does not answer" in caplog.records[0].message
    assert "answers again" in caplog.records[1].message


def grow(world: KinesisWorld) -> None:
    """Let the table have several partitions, and its feed as many open shards."""
    for number in range(60):
        change(world, number, 1, size_bytes=400)
    assert world.split() is None


def readable(world: KinesisWorld) -> list[int]:
    """Numbers of the open shards."""
    (feed,) = world.store.streams.feeds()
    return [one.number for one in world.store.streams.shards(feed) if one.last is None]


def test_at_most_eight_requests_are_under_way() -> None:
    """Whatever there is to send."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        grow(world)
        await world.deliver_all()
        assert len(readable(world)) > KINESIS_PUTS_AT_ONCE
        for number in range(60):
            change(world, number, 2)
        before = len(puts(world.kinesis))
        world.kinesis.misbehave = lambda _: "hang"
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: len(puts(world.kinesis)) == before + KINESIS_PUTS_AT_ONCE)
        sent = {record["PartitionKey"] for one in puts(world.kinesis)[before:] for record in one.body["Records"]}
        assert len(sent) == sum(len(one.body["Records"]) for one in puts(world.kinesis)[before:])
        world.kinesis.misbehave = lambda _: None
        world.kinesis.release()
        assert await slice_ == 0.5
        world.clock.advance(0.5)
        await world.deliver_all()
        assert Counter(world.numbers())[2] == 60

    in_world(test, partition_size_max_bytes=2_000)


def test_a_request_that_hangs_does_not_hold_up_other_shards() -> None:
    """New changes of another table are sent while it waits, and virtual time may pass."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        world.request("CreateTable", **other_table())
        world.request("EnableKinesisStreamingDestination", TableName="other", StreamArn=arn_of("second"))
        await world.deliver_all()
        world.kinesis.misbehave = lambda asked: "hang" if asked.body["StreamName"] == "second" else None
        world.store.streams.follow(world.delivery.wake)
        world.request("PutItem", TableName="other", Item={"id": {"S": "o"}, "v": {"N": "7"}})
        slice_ = asyncio.create_task(world.delivery.run_slice())
        for value in range(3):
            change(world, 1, value)
            await until(lambda: world.numbers() == list(range(value + 1)))  # noqa: B023 - awaited at once
        first = once("throttled")
        world.kinesis.misbehave = lambda asked: "hang" if asked.body["StreamName"] == "second" else first(asked)
        change(world, 1, 3)

        def passes_time() -> bool:
            world.clock.advance(0.5)
            return world.numbers() == list(range(4))

        await until(passes_time)
        assert world.kinesis.met["throttled"] == 1
        world.kinesis.release()
        assert await slice_ == 0.5
        world.kinesis.misbehave = lambda _: None
        await world.deliver_all()
        assert world.numbers("second") == [7]

    in_world(test, "changes", "second")


def test_a_slice_ends_although_changes_go_on() -> None:
    """It waits for what was written before it began: else other jobs, and who moves the clock, would wait forever."""

    async def test(world: KinesisWorld) -> None:
        woken = asyncio.Event()
        world.wake = woken.set
        world.enable()
        await world.deliver_all()
        world.store.streams.follow(world.delivery.wake)
        world.kinesis.misbehave = lambda _: "late"
        change(world, 1, 1)
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: world.kinesis.met["late"] == 1)
        change(world, 1, 2)
        await asyncio.sleep(0)
        assert not slice_.done()
        world.kinesis.release()
        assert await slice_ == LATER
        assert world.numbers() == [1]
        await until(lambda: world.kinesis.met["late"] == 2)
        woken.clear()
        world.kinesis.misbehave = lambda _: None
        world.kinesis.release()
        await woken.wait()
        await world.deliver_all()
        assert world.numbers() == [1, 2]

    in_world(test)


def test_shards_take_turns() -> None:
    """Those with much to send do not hold up the others, and only those with a request under
    way keep what they have read.
    """

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        grow(world)
        await world.deliver_all()
        (feed,) = world.store.streams.feeds()
        first = await world.store.streams.last_of_shard(world.store.streams.shards(feed)[0]) + 1
        for value in range(2, 8):
            for number in range(60):
                change(world, number, value)
        pages = [await world.store.streams.records(one, first, 1, 1) for one in world.store.streams.shards(feed)]
        shards = sum(bool(page.records) for page in pages)
        assert shards > KINESIS_PUTS_AT_ONCE
        before = len(puts(world.kinesis))

        def misbehave(_: Asked) -> Misbehaviour | None:
            return "hang" if len(puts(world.kinesis)) == before + 2 * shards else None

        world.kinesis.misbehave = misbehave
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: len(puts(world.kinesis)) >= before + shards)
        keys = {one.body["Records"][0]["PartitionKey"] for one in puts(world.kinesis)[before : before + shards]}
        assert len(keys) == shards
        await until(lambda: world.kinesis.met["hang"])
        (delivered,) = world.delivery._feeds.values()
        assert sum(bool(one._page) for one in delivered.shards.values()) <= KINESIS_PUTS_AT_ONCE
        world.kinesis.release()
        await slice_
        await world.deliver_all()
        assert Counter(world.numbers())[7] == 60

    in_world(test, partition_size_max_bytes=2_000)


def test_one_failing_stream_does_not_hold_up_another() -> None:
    """Two tables; the data stream of one is deleted and comes back."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        world.request("CreateTable", **other_table())
        world.request("EnableKinesisStreamingDestination", TableName="other", StreamArn=arn_of("second"))
        await world.deliver_all()
        del world.kinesis.records["second"]
        for number in range(3):
            change(world, number, number)
            world.request("PutItem", TableName="other", Item={"id": {"S": "o"}, "v": {"N": str(number)}})
            assert await world.deliver() is not None
        assert world.numbers() == [0, 1, 2]
        world.kinesis.records["second"] = []
        await world.deliver_all()
        assert world.numbers("second") == [0, 1, 2]
        assert world.statuses() == [("changes", "ACTIVE")]

    in_world(test, "changes", "second")


def other_table() -> dict[str, object]:
    return {
        "TableName": "other",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


# --- order and size -------------------------------------------------------------------------------


def test_a_request_has_at_most_one_change_of_an_item() -> None:
    """Items are sent together, and a change that fails holds up only those of its item."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        for value in range(3):
            for number in range(5):
                change(world, number, value)
        held: list[str] = []

        def hold(key: str) -> bool:
            held[:] = held or [key]
            return key in held

        world.kinesis.fails = hold
        world.kinesis.misbehave = once("partial", times=2)
        await world.deliver_all()
        keys = [[record["PartitionKey"] for record in one.body["Records"]] for one in puts(world.kinesis)]
        assert all(len(one) == len(set(one)) for one in keys)
        assert [len(one) for one in keys] == [5, 5, 5, 1, 1]
        values: dict[str, list[int]] = {}
        for one in world.kinesis.records["changes"]:
            values.setdefault(one.partition_key, []).append(int(one.change["dynamodb"]["NewImage"]["v"]["N"]))
        assert list(values.values()) == [[0, 1, 2]] * 5

    in_world(test)


def test_requests_are_bounded_in_number_and_length() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        for number in range(1_100):
            change(world, number, number)
        for number in range(8):
            change(world, number, number, size_bytes=300_000)
        await world.deliver_all()
        sizes = [len(one.body["Records"]) for one in puts(world.kinesis)]
        assert sizes[:2] == [500, 500]
        assert sum(sizes) == 1_108
        assert max(sizes) == 500
        lengths = [
            sum(len(b64decode(record["Data"])) + len(record["PartitionKey"]) for record in one.body["Records"])
            for one in puts(world.kinesis)
        ]
        assert 900_000 < max(lengths) <= KINESIS_PUT_BYTES
        assert len(world.numbers()) == 1_108

    in_world(test)


def test_a_record_that_is_too_long_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """As the service does; changes before and after it come."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        many = {"L": [{"N": "1E-130"}] * 10_000}
        world.ask("PutItem", Item={"id": {"S": "long"}, "v": {"N": "2"}, "many": many})
        change(world, 2, 3)
        await world.deliver_all()
        assert world.numbers() == [1, 3]
        assert world.checkpoints() == ["kinesis/1/1"]

    with caplog.at_level(logging.WARNING, "hashrange.kinesis"):
        in_world(test)
    assert [one.message.partition(",")[0] for one in caplog.records] == [
        "A change of an item of table orders is not sent"
    ]


def test_a_record_beyond_every_limit_is_not_even_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: KinesisWorld) -> None:
        monkeypatch.setattr(shard_delivery, "KINESIS_RECORD_BYTES_MAX", 2_000)
        world.enable()
        for number in range(3):
            change(world, number, number, size_bytes=3_000 * (number % 2))
        await world.deliver_all()
        assert world.numbers() == [0, 2]
        assert len(puts(world.kinesis)) == 1
        change(world, 5, 5, size_bytes=3_000)
        await world.deliver_all()
        change(world, 6, 6)
        await world.deliver_all()
        assert world.numbers() == [0, 2, 6]

    in_world(test)


@pytest.mark.parametrize("misbehaviour", ["unfit", "unfit whole"])
def test_a_short_record_is_never_passed_over(misbehaviour: Misbehaviour) -> None:
    """A refusal that cannot be about its length is retried, even if it says that the record is invalid."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        world.kinesis.misbehave = once(misbehaviour, times=2)
        assert await world.deliver() == 0.5
        world.clock.advance(0.5)
        assert await world.deliver() == 1
        await world.deliver_all()
        assert world.numbers() == [1]

    in_world(test)


@pytest.mark.parametrize("misbehaviour", [None, "unfit whole"])
def test_a_long_record_may_be_refused_in_both_ways(misbehaviour: Misbehaviour | None) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        many = {"L": [{"N": "1E-130"}] * 10_000}
        world.ask("PutItem", Item={"id": {"S": "long"}, "v": {"N": "2"}, "many": many})
        world.kinesis.misbehave = lambda _: misbehaviour
        assert await world.deliver() is None
        world.kinesis.misbehave = lambda _: None
        change(world, 1, 1)
        assert await world.deliver() is None
        assert world.numbers() == [1]

    in_world(test)


# --- lives of shards and feeds --------------------------------------------------------------------


def test_children_are_delivered_after_their_parents() -> None:
    """While a parent's changes fail, its children wait, through rolls and splits."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        grow(world)
        for value in range(2, 6):
            for number in range(5):
                change(world, number, value)
            world.kinesis.misbehave = once("throttled", times=value)
            await world.deliver()
            pass_time(world, ROLL)
            world.split()
        await world.deliver_all()
        values: dict[str, list[int]] = {}
        for one in world.kinesis.changes():
            values.setdefault(one["dynamodb"]["Keys"]["id"]["S"], []).append(int(one["dynamodb"]["NewImage"]["v"]["N"]))
        assert [values[f"o{number}"] for number in range(5)] == [[1, 2, 3, 4, 5]] * 5

    in_world(test, partition_size_max_bytes=2_000)


def test_an_ended_feed_is_delivered_to_its_end() -> None:
    """After DisableKinesisStreamingDestination, and after DeleteTable."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        world.kinesis.misbehave = lambda _: "error"
        change(world, 1, 1)
        await world.deliver()
        world.disable()
        change(world, 1, 2)
        await world.deliver()
        world.enable()
        await world.deliver()
        world.kinesis.misbehave = lambda _: None
        await world.deliver_all()
        change(world, 1, 3)
        world.ask("DeleteTable")
        world.refusal("DescribeTable")
        await world.deliver_all()
        assert world.numbers() == [1, 3]

    in_world(test)


def test_a_second_feed_waits_for_the_first_one_of_the_same_stream() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        world.kinesis.misbehave = lambda asked: "throttled" if asked.operation == "PutRecords" else None
        change(world, 1, 1)
        await world.deliver()
        world.disable()
        world.enable()
        await world.deliver()
        assert world.statuses() == [("changes", "ENABLING")]
        change(world, 1, 2)
        await world.deliver()
        world.kinesis.misbehave = lambda _: None
        await world.deliver_all()
        assert world.numbers() == [1, 2]
        assert world.statuses() == [("changes", "ACTIVE")]

    in_world(test)


def test_changes_are_dropped_after_a_day(caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        world.kinesis.misbehave = lambda _: "error"
        change(world, 1, 1)
        await world.deliver()
        world.clock.advance(HOUR)
        change(world, 1, 2)
        await world.deliver()
        world.clock.advance(DAY - HOUR / 2)
        world.kinesis.misbehave = lambda _: None
        await world.deliver_all()
        assert world.numbers() == [2]

    with caplog.at_level(logging.WARNING, "hashrange.kinesis"):
        in_world(test)
    assert "are dropped" in caplog.records[-1].message


def test_checkpoints_go_with_their_shards() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        for _ in range(9):
            change(world, 1, int(world.clock.service_time()))
            await world.deliver_all()
            pass_time(world, ROLL)
            await world.deliver_all()
        (feed,) = world.store.streams.feeds()
        numbers = [one.number for one in world.store.streams.shards(feed)]
        assert len(numbers) < 9
        assert set(world.checkpoints()) <= {f"kinesis/{feed.stream_id}/{number}" for number in numbers}
        assert world.checkpoints()
        world.disable()
        await world.deliver_all()
        pass_time(world, DAY + 1)
        await world.deliver_all()
        assert world.store.streams.feeds() == []
        assert world.checkpoints() == []

    in_world(test)


# --- durability, restarts, restores ---------------------------------------------------------------


def test_a_new_process_continues_at_the_checkpoint(tmp_path: Path) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        for value in range(3):
            change(world, value, value)
        await world.deliver_all()
        world.restart()
        change(world, 3, 3)
        await world.deliver_all()
        assert world.numbers() == [0, 1, 2, 3]

    in_world(test, data_dir=tmp_path / "data")


def test_checkpoints_that_could_not_be_read_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        change(world, 1, 1)
        await world.deliver_all()
        world.restart()

        def fail(_prefix: str) -> None:
            monkeypatch.undo()
            raise StorageError("broken")

        monkeypatch.setattr(world.store.documents, "below", fail)
        with pytest.raises(StorageError):
            await world.deliver()
        change(world, 2, 2)
        await world.deliver_all()
        assert world.numbers() == [1, 2]

    in_world(test, data_dir=tmp_path / "data")


def test_a_kill_between_acceptance_and_checkpoint_repeats_changes(tmp_path: Path) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        world.kinesis.misbehave = lambda _: "hang after"
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: world.kinesis.records["changes"])
        await world.delivery.stop()
        await slice_
        world.kinesis.misbehave = lambda _: None
        assert world.checkpoints() == []
        world.kill()
        await world.deliver_all()
        assert world.numbers() == [1, 1]
        assert len({one["eventID"] for one in world.kinesis.changes()}) == 1
        assert world.checkpoints() == ["kinesis/1/1"]

    in_world(test, data_dir=tmp_path / "data")


def test_a_restore_delivers_what_the_restored_content_has_not() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        change(world, 1, 1)
        await world.deliver_all()
        change(world, 1, 2)
        checkpoint = await world.embedded.copying.checkpoint()
        await world.deliver_all()
        change(world, 1, 3)
        await world.deliver_all()
        copying_of(world.store).restore(checkpoint)
        change(world, 1, 4)
        await world.deliver_all()
        assert world.numbers() == [1, 2, 3, 2, 4]
        world.kinesis.misbehave = lambda _: "hang"
        change(world, 1, 5)
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: len(puts(world.kinesis)) == 6)
        copying_of(world.store).restore(checkpoint)
        world.kinesis.misbehave = lambda _: None
        world.delivery.wake()
        await slice_
        await world.deliver_all()
        assert world.numbers() == [1, 2, 3, 2, 4, 2]
        checkpoint.release()

    in_world(test)


def test_no_checkpoint_of_the_former_content_is_written_into_the_restored_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        checkpoint = await world.embedded.copying.checkpoint()
        documents = world.store.documents
        write = documents.write

        async def restore_and_write(
            changes: Mapping[str, bytes | None],
            generation: int | None = None,
            read: Mapping[str, bytes | None] = NOTHING_READ,
        ) -> bool:
            monkeypatch.undo()
            copying_of(world.store).restore(checkpoint)
            world.kinesis.misbehave = lambda _: "error"
            return await write(changes, generation, read)

        monkeypatch.setattr(documents, "write", restore_and_write)
        assert await world.deliver() == 0.5
        assert world.checkpoints() == []
        assert world.numbers() == [1]
        checkpoint.release()

    in_world(test)


def test_after_a_restore_that_moves_time_back_nothing_waits_for_the_former_time() -> None:
    async def test(world: KinesisWorld) -> None:
        clock = world.clock
        assert isinstance(clock, MovableClock)
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        checkpoint, state = await world.embedded.copying.checkpoint(), clock.state
        world.kinesis.misbehave = lambda _: "cut"
        for _ in range(9):
            clock.advance(await world.deliver() or 0.0)
        assert await world.deliver() == 60
        clock.go_to(state)
        copying_of(world.store).restore(checkpoint)
        world.kinesis.misbehave = lambda _: None
        assert await world.deliver() is None
        assert world.numbers() == [1]
        checkpoint.release()

    in_world(test, clock=MovableClock(SystemClock(), ServiceTimeState(0.0, VIRTUAL_START_SECONDS)))


def test_nothing_is_sent_before_it_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with fake_kinesis() as kinesis:
            world = KinesisWorld(kinesis, tmp_path / "data")
            world.enable()
            await world.deliver_all()
            world.embedded.close_now()
            clock = SystemClock()
            store = open_store(world.data_dir, clock, asyncio.get_running_loop())
            syncs = HeldSyncs(store, monkeypatch)
            world.store = world.embedded = store
            world.scope = scope_of(store, world.clock, world.settings)
            delivery = KinesisDelivery(store, clock, kinesis.url)
            change(world, 1, 1)
            slice_ = asyncio.create_task(delivery.run_slice())
            await until(lambda: syncs.awaited)
            asked = len(kinesis.asked)
            change(world, 2, 2)
            for _ in range(10):
                await asyncio.sleep(0)
            assert len(kinesis.asked) == asked
            syncs.end()
            await until(lambda: world.numbers() == [1] and syncs.awaited)
            syncs.end()
            await until(lambda: world.numbers() == [1, 2])
            assert await slice_ is None
            assert [len(one.body["Records"]) for one in puts(kinesis)] == [1, 1]
            assert world.numbers() == [1, 2]
            await store.close()

    asyncio.run(main())


def test_changes_after_an_update_have_the_new_precision_also_in_a_pass_that_began_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        streams = world.store.streams
        records = streams.records

        async def update_and_read(shard: Shard, first: Sequence, limit_records: int, limit_bytes: int) -> RecordPage:
            monkeypatch.undo()
            world.update("MICROSECOND")
            change(world, 2, 2)
            return await records(shard, first, limit_records, limit_bytes)

        monkeypatch.setattr(streams, "records", update_and_read)
        await world.deliver_all()
        assert world.numbers() == [1, 2]
        after = world.kinesis.changes("changes")[1]["dynamodb"]
        assert after["ApproximateCreationDateTimePrecision"] == "MICROSECOND"

    in_world(test)


def test_a_shard_has_ended_once_its_end_is_durable_and_is_read_only_for_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        (delivered,) = world.delivery._feeds.values()
        (shard,) = delivered.shards.values()
        reads: list[int] = []
        inner = world.store.streams.records

        async def records(shard: Any, *arguments: Any) -> Any:
            reads.append(shard.number)
            return await inner(shard, *arguments)

        monkeypatch.setattr(world.store.streams, "records", records)
        world.delivery.wake()
        await world.delivery.run_slice()
        assert reads == []
        syncs = HeldSyncs(world.embedded, monkeypatch)
        change(world, 1, 1)
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: syncs.awaited)
        pass_time(world, ROLL)
        assert reads == []
        syncs.end()
        await until(lambda: len(reads) == 2 and syncs.awaited)
        assert (shard.shard.last is None, shard.is_drained) == (False, False)
        syncs.end()
        await slice_
        assert shard.is_drained
        assert reads == [1, 1, 1, 2]
        assert world.numbers() == [1]

    in_world(test)


# --- the job and its runner -----------------------------------------------------------------------


async def running(world: KinesisWorld) -> Runner:
    """A runner of the delivery job, at rest after a destination has been enabled."""
    runner = Runner([SlicedJob("triggers", world.delivery.run_slice)], world.clock)
    world.wake = lambda: runner.wake_jobs("triggers")
    world.store.streams.follow(world.delivery.wake)
    runner.start()
    world.enable()
    await until_at_rest(runner)
    return runner


def test_the_runner_is_woken_by_commits_and_rests_otherwise() -> None:
    async def test(world: KinesisWorld) -> None:
        runner = await running(world)
        assert world.statuses() == [("changes", "ACTIVE")]
        for value in range(3):
            change(world, 1, value)
            await until_at_rest(runner)
            assert world.numbers() == list(range(value + 1))
        asked = len(world.kinesis.asked)
        world.clock.advance(HOUR)
        await until_at_rest(runner)
        assert len(world.kinesis.asked) == asked
        world.kinesis.misbehave = once("throttled")
        change(world, 1, 3)
        await until_at_rest(runner)
        assert runner.next_due_seconds() == world.clock.service_time() + 0.5
        world.clock.advance(0.5)
        await until_at_rest(runner)
        assert world.numbers() == [0, 1, 2, 3]
        await world.delivery.stop()
        await runner.stop()

    in_world(test)


def test_an_advance_waits_for_all_that_was_written_before_it() -> None:
    """Also if a slice was running that had begun before some of it was written, and not for what is written later."""

    async def test(world: KinesisWorld) -> None:
        runner = await running(world)
        world.kinesis.misbehave = lambda _: "late"
        change(world, 1, 0)
        await until(lambda: world.kinesis.met["late"] == 1)
        change(world, 1, 1)
        assert isinstance(world.clock, VirtualClock)
        advanced = asyncio.create_task(advance(world.clock, runner, 0))
        value = 1
        while not advanced.done():
            value += 1
            change(world, 1, value)
            sent = world.kinesis.met["late"]
            world.kinesis.release()
            await until(lambda: world.kinesis.met["late"] > sent or advanced.done())  # noqa: B023 - awaited at once
        assert world.numbers()[:2] == [0, 1]
        assert len(world.numbers()) < value + 1
        world.kinesis.misbehave = lambda _: None
        world.kinesis.release()
        await until_at_rest(runner)
        assert world.numbers() == list(range(value + 1))
        await world.delivery.stop()
        await runner.stop()

    in_world(test)


def test_a_stop_gives_up_requests_under_way() -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        world.kinesis.misbehave = lambda _: "hang"
        change(world, 1, 1)
        slice_ = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: len(puts(world.kinesis)) == 1)
        await world.delivery.stop()
        assert await slice_ is None
        assert await world.delivery.run_slice() is None
        assert len(puts(world.kinesis)) == 1

    in_world(test)


def test_a_stop_while_an_outcome_is_stored_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: KinesisWorld) -> None:
        world.enable()
        world.request("CreateTable", **other_table())
        world.request("EnableKinesisStreamingDestination", TableName="other", StreamArn=arn_of("second"))
        world.kinesis.misbehave = lambda asked: "hang" if asked.body["StreamName"] == "changes" else None
        replace = world.store.catalog.replace

        async def stop_and_replace(*tables: Any) -> bool:
            await world.delivery.stop()
            return await replace(*tables)

        monkeypatch.setattr(world.store.catalog, "replace", stop_and_replace)
        assert await world.delivery.run_slice() is None
        assert world.statuses() == [("changes", "ENABLING")]
        assert world.delivery._passes.running == 0
        world.kinesis.release()

    in_world(test, "changes", "second")


def test_without_feeds_nothing_is_asked() -> None:
    async def test(world: KinesisWorld) -> None:
        change(world, 1, 1)
        world.delivery.wake()
        assert await world.deliver() is None
        assert world.kinesis.connections == 0

    in_world(test)
