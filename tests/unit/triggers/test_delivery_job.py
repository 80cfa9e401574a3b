"""The job rests while there is nothing to do, is woken for what concerns it, and bears failures,
cancellation and the server's stop.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, cast

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.errors import StorageError
from hashrange.jobs.job import SlicedJob
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from hashrange.store.copying import copying_of
from hashrange.store.documents import NOTHING_READ
from hashrange.store.interface import Durability
from hashrange.store.streams import NOTHING_HEARD
from hashrange.triggers import attempts, outcomes, retries
from hashrange.triggers.consumers import ConsumedShard
from hashrange.triggers.lanes import Lane
from hashrange.triggers.passes import AwaitedSync
from tests.support.clocks import VirtualClock
from tests.support.held_syncs import HeldSyncs
from tests.support.waiting import until, until_at_rest
from tests.unit.jobs.streaming import DAY, ROLL, pass_time
from tests.unit.jobs.world import drive
from tests.unit.triggers.deliveries import ACCOUNT, FUNCTION, REGION, Deliveries, fail


def runner_of(world: Deliveries) -> Runner:
    """The jobs that a server with triggers runs, as far as they matter here."""
    runner = Runner([world.shards_job, SlicedJob("triggers", world.delivery.run_slice)], world.clock)
    world.store.maintenance.on_work(runner.wake)
    world.wake = lambda: runner.wake_jobs("triggers")
    return runner


async def advance_by(world: Deliveries, runner: Runner, seconds: float) -> None:
    assert isinstance(world.clock, VirtualClock)
    await advance(world.clock, runner, seconds)


def reads_of(world: Deliveries, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets the number of a shard whenever the job reads records of it."""
    reads: list[int] = []
    inner = world.store.streams.records

    async def records(shard: Any, *arguments: Any) -> Any:
        reads.append(shard.number)
        return await inner(shard, *arguments)

    monkeypatch.setattr(world.store.streams, "records", records)
    return reads


# --- resting and waking -------------------------------------------------------------------------------


def test_a_write_wakes_the_job() -> None:
    async def scenario() -> None:
        world = Deliveries()
        runner = runner_of(world)
        runner.start()
        await runner.all_at_rest()
        mapping = await world.mappings.create(world.mapping())

        def heard(count: int) -> bool:
            return len(world.functions.events) >= count

        for value in range(3):
            world.write(value)
            await until(partial(heard, value + 1))
            await until_at_rest(runner)
        await world.mappings.delete(mapping)
        await until_at_rest(runner)
        await runner.stop()
        assert world.taken() == [[0], [1], [2]]

    asyncio.run(scenario())


def test_an_advance_returns_when_the_records_of_its_time_have_been_handled() -> None:
    async def scenario() -> None:
        world = Deliveries()
        runner = runner_of(world)
        runner.start()
        await world.mappings.create(world.mapping(batching_window_seconds=30))
        start_seconds = world.clock.service_time()
        times: list[float] = []

        async def answer() -> None:
            await asyncio.sleep(0.001)
            times.append(world.clock.service_time() - start_seconds)

        world.functions.answers.extend([fail, fail])
        world.functions.answer = lambda _event: answer()
        world.write(1)
        await advance_by(world, runner, 29)
        assert world.functions.events == []
        await advance_by(world, runner, 10)
        assert times == [31.5], "the second retry of a batch that was complete after 30 seconds"
        await runner.stop()

    asyncio.run(scenario())


def test_an_advance_of_days_passes_every_retry_and_shard() -> None:
    async def scenario() -> None:
        world = Deliveries()
        runner = runner_of(world)
        runner.start()
        await world.mappings.create(world.mapping(batch_size=1))
        world.functions.answers.extend([fail] * 20)
        world.write(1)
        await advance_by(world, runner, ROLL)
        world.write(2)
        await advance_by(world, runner, 2 * DAY)
        await runner.stop()
        assert world.taken() == [[1]] * 21 + [[2]]

    asyncio.run(scenario())


def test_idle_mappings_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a pass of the job nor a write to another stream makes them look for records."""
    world = Deliveries()
    for _ in range(50):
        world.map(starting_position="LATEST")
    world.deliver()
    reads = reads_of(world, monkeypatch)
    world.request(
        "CreateTable",
        TableName="busy",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    world.request("PutItem", TableName="busy", Item={"id": {"S": "a"}})
    assert world.deliver() is None
    assert world.pass_time(100) is None
    assert reads == []
    woken: list[bool] = []
    world.wake = lambda: woken.append(True)
    world.ask("PutItem", Item={"id": {"S": "a"}})
    world.ask("PutItem", Item={"id": {"S": "b"}})
    assert woken == [True], "once, until the job has looked"


def test_without_mappings_a_write_wakes_nobody() -> None:
    world = Deliveries()
    mapping = world.map()
    world.deliver()
    world.unmap(mapping)
    world.deliver()
    woken: list[bool] = []
    world.wake = lambda: woken.append(True)
    world.write(1)
    assert woken == []
    world.map()
    world.deliver()
    assert world.taken() == [[1]]
    copying_of(world.store).restore(None)
    world.delivery.wake()
    assert woken[-1:] == [True], "other content may have mappings"


def test_a_stream_tells_of_its_last_change_alone() -> None:
    world = Deliveries()
    streams = world.store.streams
    (stream,) = streams.of(ACCOUNT, REGION)
    heard, told = NOTHING_HEARD, list[int]()

    def other() -> None:
        world.request(
            "CreateTable",
            TableName="other",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        )
        world.request("PutItem", TableName="other", Item={"id": {"S": "a"}})

    for change, shards in (
        (lambda: None, [1]),
        (lambda: world.write(1), [1]),
        (other, []),
        (lambda: pass_time(world, ROLL), [1, 2]),
        (lambda: world.ask("DeleteTable"), [2]),
    ):
        change()
        changed = drive(streams.changed_shards(stream, heard))
        assert (changed is None) == (shards == [])
        if changed is not None:
            assert [one.number for one in changed.shards] == shards
            assert (changed.mark > heard, changed.is_all) == (True, True)
            heard = changed.mark
        told.append(heard)
        assert drive(streams.changed_shards(stream, heard)) is None
    pass_time(world, DAY + ROLL)
    assert drive(streams.changed_shards(stream, heard)) is None, "a deleted stream"
    assert len(set(told)) == 4


def test_many_mappings_of_many_shards_work() -> None:
    world = Deliveries(partition_size_max_bytes=4_000)
    for key in range(40):
        world.write(1, key=key, pad={"S": "x" * 400})
    world.split()
    for _ in range(200):
        world.map()
    world.deliver()
    assert sum(len(event["Records"]) for event in world.functions.events) == 40 * 200


# --- durable records ----------------------------------------------------------------------------------


class Log:
    """The last commit and the waiting for syncs, moved by the test."""

    def __init__(self) -> None:
        self.written = 0
        self.waiting: list[tuple[int, Callable[[StorageError | None], None]]] = []

    def position(self) -> int:
        return self.written

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        self.waiting.append((position, callback))

    def sync(self, error: StorageError | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for _, callback in waiting:
            callback(error)


def awaited_sync(log: Log, heard: list[bool]) -> AwaitedSync:
    return AwaitedSync(cast("Durability", log), lambda: heard.append(True))


def test_one_sync_is_awaited_at_a_time() -> None:
    log, heard = Log(), list[bool]()
    sync = awaited_sync(log, heard)
    assert not sync.is_awaited
    log.written = 3
    sync.begin()
    log.written = 5
    sync.begin()
    assert [position for position, _ in log.waiting] == [3]
    assert sync.is_awaited
    log.sync()
    assert (sync.is_awaited, heard) == (False, [True])
    sync.check()
    sync.begin()
    assert [position for position, _ in log.waiting] == [5]
    log.sync()
    assert (sync.is_awaited, heard) == (False, [True, True])


def test_a_failed_sync_is_reported_once() -> None:
    log, heard = Log(), list[bool]()
    sync = awaited_sync(log, heard)
    log.written = 1
    sync.begin()
    log.sync(StorageError("broken"))
    assert heard == [True]
    with pytest.raises(StorageError):
        sync.check()
    sync.check()
    sync.begin()
    assert len(log.waiting) == 1


def test_a_sync_of_former_content_says_nothing() -> None:
    log, heard = Log(), list[bool]()
    sync = awaited_sync(log, heard)
    log.written = 4
    sync.begin()
    sync.forget()
    log.sync()
    assert (sync.is_awaited, heard) == (False, [])


def test_the_job_takes_no_record_that_is_not_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = Deliveries()
        await world.mappings.create(world.mapping())
        world.write(1)
        assert await world.delivery.run_slice() is None
        syncs = HeldSyncs(world.store, monkeypatch)
        world.write(2)
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[1]]
        world.write(3)
        syncs.end()
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[2]], "3 was written after the awaited commit"
        syncs.end()
        await world.delivery.run_slice()
        assert world.taken() == [[3]]

    asyncio.run(scenario())


def test_a_long_sync_holds_back_no_record_that_was_durable_before(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = Deliveries()
        await world.mappings.create(world.mapping(batch_size=2))
        world.write(*range(7))
        later = count(100)
        world.functions.answer = lambda _event: world.write(next(later))
        syncs = HeldSyncs(world.store, monkeypatch)
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[0, 1], [2, 3], [4, 5], [6]]
        world.functions.answer = None
        syncs.end()
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[100]], "the sync began after the first of the later writes"
        syncs.end()
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[101, 102], [103]]

    asyncio.run(scenario())


def test_writes_that_concern_no_mapping_let_nobody_wait_for_a_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job would look again after each sync, as long as anybody writes anything."""

    async def scenario() -> None:
        world = Deliveries()
        await world.mappings.create(world.mapping())
        assert await world.delivery.run_slice() is None
        syncs = HeldSyncs(world.store, monkeypatch)
        await world.store.documents.write({"something": b"else"})
        world.delivery.wake()
        assert await world.delivery.run_slice() is None
        assert syncs.awaited == []
        world.write(1)
        assert await world.delivery.run_slice() is None
        assert len(syncs.awaited) == 1

    asyncio.run(scenario())


def test_a_slice_fails_once_after_a_sync_that_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = Deliveries()
        await world.mappings.create(world.mapping())
        assert await world.delivery.run_slice() is None
        syncs = HeldSyncs(world.store, monkeypatch)
        world.write(1)
        assert await world.delivery.run_slice() is None
        syncs.fail(StorageError("broken"))
        with pytest.raises(StorageError, match="broken"):
            await world.delivery.run_slice()
        assert world.taken() == []

    asyncio.run(scenario())


def test_a_shard_has_ended_once_its_end_is_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut could undo the end, and further records could follow."""

    async def scenario() -> None:
        world = Deliveries()
        await world.mappings.create(world.mapping(batching_window_seconds=300))
        syncs = HeldSyncs(world.store, monkeypatch)
        world.write(1)
        assert await world.delivery.run_slice() is None
        pass_time(world, ROLL)
        syncs.end()
        assert await world.delivery.run_slice() == 300
        assert world.taken() == []
        syncs.end()
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[1]]

    asyncio.run(scenario())


def test_a_window_ends_after_all_of_its_records_are_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        world = Deliveries()
        await world.mappings.create(world.mapping(tumbling_window_seconds=60))
        world.functions.answer = {"state": {}}
        world.write(1)
        assert await world.delivery.run_slice() == 60
        syncs = HeldSyncs(world.store, monkeypatch)
        world.write(2)
        assert await world.delivery.run_slice() == 60
        world.clock.advance(60)
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[1]]
        syncs.end()
        assert await world.delivery.run_slice() is None
        assert world.taken() == [[2], []]

    asyncio.run(scenario())


# --- failures -----------------------------------------------------------------------------------------


def test_a_checkpoint_that_cannot_be_stored_is_kept() -> None:
    """The batch is not delivered again, and what follows waits until its checkpoint is stored."""
    world = Deliveries()
    world.map(batch_size=1)
    inner, failures = world.store.documents.write, [StorageError("full")] * 3

    async def write(
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        if failures:
            raise failures.pop()
        return await inner(changes, generation, read)

    world.store.documents.write = write  # type: ignore[method-assign]
    world.write(1, 2)
    for _ in range(3):
        with pytest.raises(StorageError):
            world.deliver()
    assert world.taken() == [[1]]
    world.deliver()
    assert world.taken() == [[2]]


def test_after_a_failed_read_delivery_goes_on_at_the_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Deliveries()
    world.map()
    world.write(1)
    world.deliver()
    inner = world.store.streams.records
    reads = count()

    async def records(*arguments: Any) -> Any:
        if next(reads) == 0:
            raise StorageError("broken")
        return await inner(*arguments)

    monkeypatch.setattr(world.store.streams, "records", records)
    world.write(2)
    with pytest.raises(StorageError):
        world.deliver()
    world.deliver()
    assert world.taken() == [[1], [2]]


@pytest.mark.parametrize("error", [AssertionError("a bug"), StorageError("a damaged document")])
def test_an_unforeseen_error_is_that_of_one_batch_and_loses_no_record(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """It ended all invocations that ran, of all mappings, and the whole job was tried again each second."""

    async def scenario() -> None:
        world = Deliveries()
        assert isinstance(world.clock, VirtualClock)
        may_end = asyncio.Event()
        await world.mappings.create(world.mapping())
        other = world.mapping(function_arn=FUNCTION.replace("handle", "other"))
        await world.mappings.create(other)
        world.functions.answer_of[other.function_arn] = lambda _event: may_end.wait()
        world.functions.answer = lambda _event: error
        world.write(1)
        job = asyncio.create_task(world.delivery.run_slice())

        def began(function: str) -> int:
            return [arn.rpartition(":")[2] for arn, _ in world.functions.requests].count(function)

        def is_put_off(attempt: int) -> bool:
            is_begun = began("handle") == attempt and began("other") == 1
            return is_begun and world.delivery._passes.running == 1

        for attempt, pause in enumerate((0.0, *map(retries.pause_seconds, range(1, 5))), 1):
            world.clock.advance(pause)
            await until(lambda attempt=attempt: job.done() or is_put_off(attempt))  # type: ignore[misc]
            assert not job.done()
        world.functions.answer = None
        world.clock.advance(60)
        await until(lambda: is_put_off(6))
        may_end.set()
        assert await job is None
        assert (began("handle"), began("other")) == (6, 1)

    asyncio.run(scenario())
    (logged,) = caplog.records
    assert logged.getMessage().startswith("Records of the table orders (us-east-1) cannot be brought to the function")
    assert str(error) in logged.getMessage()
    assert (logged.exc_info is None) == isinstance(error, StorageError)


def test_nothing_of_former_content_is_begun_after_a_commit() -> None:
    world = Deliveries()
    world.map(is_bisecting=True)
    world.functions.answers.extend([fail, None])
    inner = world.store.documents.write

    async def write_and_replace(
        changes: Mapping[str, bytes | None], generation: int | None = None, read: Mapping[str, bytes | None] = {}
    ) -> bool:
        is_written = await inner(changes, generation, read)
        if len(world.functions.events) == 2:
            copying_of(world.store).restore(None)
        return is_written

    world.store.documents.write = write_and_replace  # type: ignore[method-assign]
    begin, begun = world.delivery._attempts.begin, []

    def note_and_begin(shard: ConsumedShard, lane: Lane) -> None:
        begun.append(list(lane.batches[0].sequences))
        begin(shard, lane)

    world.delivery._attempts.begin = note_and_begin  # type: ignore[method-assign]
    world.write(1, 2)
    assert world.deliver() is None
    assert [len(one) for one in begun] == [2, 1], "the second record is not in the new content"
    assert world.taken() == [[1, 2], [1]]


def test_nothing_follows_from_a_reply_if_all_is_dropped_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint would be stored with content that may be another."""
    world = Deliveries()
    world.map()
    conclude = outcomes.conclude_invocation

    def drop_and_conclude(*given: Any) -> Any:
        monkeypatch.undo()
        world.delivery._passes.drop()
        return conclude(*given)

    monkeypatch.setattr(attempts, "conclude_invocation", drop_and_conclude)
    world.write(1)
    world.deliver()
    assert world.taken() == [[1], [1]]


# --- cancelling and stopping --------------------------------------------------------------------------


async def hanging(world: Deliveries, ends: list[str]) -> "asyncio.Task[float | None]":
    """A slice whose only invocation does not end; `ends` hears of its end."""

    has_begun = asyncio.Event()

    async def hang() -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")

    await world.mappings.create(world.mapping(batch_size=1))
    world.functions.answers.append(lambda _event: hang())
    world.write(1, 2)
    job = asyncio.create_task(world.delivery.run_slice())
    await has_begun.wait()
    return job


def test_a_cancelled_slice_ends_its_invocations_and_repeats_their_records() -> None:
    async def scenario() -> None:
        world, ends = Deliveries(), list[str]()
        job = await hanging(world, ends)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        await asyncio.sleep(0)
        assert ends == ["cancelled"]
        assert world.checkpoints() == {}
        await world.delivery.run_slice()
        assert world.taken() == [[1], [1], [2]]

    asyncio.run(scenario())


def test_a_stopped_job_ends_though_its_slice_is_not_cancelled() -> None:
    """A server's runner leaves a cancelled slice to the loop."""

    async def scenario() -> None:
        world, ends = Deliveries(), list[str]()
        job = await hanging(world, ends)
        await world.delivery.stop()
        assert ends == ["cancelled"]
        assert await job is None
        await world.delivery.run_slice()
        assert world.taken() == [[1], [1], [2]]

    asyncio.run(scenario())


def test_while_one_function_hangs_others_go_on() -> None:
    async def scenario() -> None:
        world, ends = Deliveries(), list[str]()
        job = await hanging(world, ends)
        await world.mappings.create(world.mapping(function_arn="other"))
        await until(lambda: len(world.functions.events) == 2)
        world.write(3)
        await until(lambda: len(world.functions.events) == 3)
        world.functions.answers.extend([fail])
        world.write(4)
        await until(lambda: len(world.functions.events) == 4)

        def has_been_repeated() -> bool:
            world.clock.advance(0.5)  # each time: the failure may be noted behind the first one
            return len(world.functions.events) == 5

        await until(has_been_repeated)
        assert not job.done()
        await world.delivery.stop()
        assert world.taken() == [[1], [1, 2], [3], [4], [4]]

    asyncio.run(scenario())


def test_on_a_running_clock_a_time_comes_during_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "TRIGGER_PAUSE_SECONDS_MIN", 0.001)

    async def scenario() -> None:
        world, ends = Deliveries(clock=cast("VirtualClock", MovableClock(SystemClock()))), list[str]()
        job = await hanging(world, ends)
        world.functions.answers.append(fail)
        await world.mappings.create(world.mapping(function_arn="other"))
        await until(lambda: len(world.functions.events) == 3)
        assert not job.done()
        await world.delivery.stop()

    asyncio.run(scenario())
