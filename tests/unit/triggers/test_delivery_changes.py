"""What happens to delivery when mappings change, are disabled or deleted, or the content of the store is replaced?"""

import asyncio
from collections.abc import Mapping

import pytest

from hashrange.messages import triggers as messages
from hashrange.store.copying import copying_of
from hashrange.store.documents import NOTHING_READ
from tests.support.waiting import until
from tests.unit.jobs.world import drive
from tests.unit.triggers.deliveries import Deliveries, Event, fail

DELAY = 5.0


# --- disabled and deleted -----------------------------------------------------------------------------


def test_a_disabled_mapping_keeps_its_place() -> None:
    world = Deliveries()
    mapping = world.map()
    world.write(1)
    world.deliver()
    mapping = world.change(mapping, is_enabled=False)
    world.write(2)
    assert world.deliver() is None
    assert world.taken() == [[1]]
    assert len(world.checkpoints()) == 1
    world.begin()
    (mapping,) = world.mappings.all()
    world.change(mapping, is_enabled=True)
    world.write(3)
    world.deliver()
    assert world.taken() == [[2, 3]]


def test_a_mapping_disabled_during_an_invocation() -> None:
    world = Deliveries()
    mapping = world.map(batch_size=1)
    world.functions.answers.append(lambda _event: world.change(mapping, is_enabled=False) and None)
    world.write(1, 2)
    assert world.deliver() is None
    assert world.taken() == [[1]]
    (mapping,) = world.mappings.all()
    world.change(mapping, is_enabled=True)
    world.deliver()
    assert world.taken() == [[2]], "the first one has a checkpoint"


def test_a_deleted_mapping_ends() -> None:
    world = Deliveries()
    mapping = world.map()
    world.write(1)
    world.deliver()
    world.unmap(mapping)
    world.write(2)
    assert world.deliver() is None
    assert world.taken() == [[1]]
    assert world.store.documents.below("") == []


@pytest.mark.parametrize("is_good", [True, False])
def test_a_mapping_deleted_during_an_invocation_leaves_nothing(*, is_good: bool) -> None:
    world = Deliveries()
    mapping = world.map(destination_arn="arn:aws:sqs:us-east-1:000000000000:failed")

    def delete(event: Event) -> None:
        world.unmap(mapping)
        if not is_good:
            fail(event)

    world.functions.answers.append(delete)
    world.write(1)
    assert world.deliver() is None
    assert world.taken() == [[1]]
    assert world.store.documents.below("") == []
    assert world.pass_time(100) is None
    assert world.taken() == []


def test_a_changed_mapping_goes_on_where_it_was() -> None:
    world = Deliveries()
    mapping = world.map(batch_size=2)
    world.functions.answers.append(lambda _event: world.change(mapping, batch_size=3) and None)
    world.write(*range(8))
    world.deliver()
    assert world.taken() == [[0, 1], [2, 3, 4], [5, 6, 7]]


def test_another_function_gets_what_the_first_one_failed_with() -> None:
    world = Deliveries()
    mapping = world.map(function_arn="bad")
    world.functions.answer_of["bad"] = fail
    world.write(1)
    world.deliver()
    world.change(mapping, function_arn="good")
    assert world.deliver() is None
    assert [arn for arn, _ in world.functions.requests] == ["bad", "good"]


# --- states that take time ----------------------------------------------------------------------------


def test_delivery_begins_and_ends_with_the_states() -> None:
    world = Deliveries(state_delay_seconds=DELAY)
    mapping = world.map(starting_position="LATEST")
    world.write(1)
    assert world.deliver() == DELAY
    assert world.taken() == []
    assert world.pass_time(DELAY) is None
    assert world.taken() == [[1]]
    mapping = world.change(mapping, batch_size=5)
    world.write(2)
    assert world.deliver() == DELAY
    assert world.taken() == [[2]], "an update does not interrupt it"
    mapping = world.change(mapping, is_enabled=False)
    world.write(3)
    world.deliver()
    mapping = world.change(mapping, is_enabled=True)
    assert world.deliver() == DELAY
    assert world.taken() == []
    world.pass_time(DELAY)
    assert world.taken() == [[3]]
    world.unmap(mapping)
    world.write(4)
    assert world.deliver() == DELAY
    assert world.taken() == []
    assert world.pass_time(DELAY) is None
    assert world.store.documents.below("") == []


# --- other content ------------------------------------------------------------------------------------


def test_after_a_restore_nothing_of_the_old_content_goes_on() -> None:
    world = Deliveries()

    async def scenario() -> None:
        checkpoint = await copying_of(world.store).checkpoint()
        mapping = await world.mappings.create(world.mapping())
        may_end, has_ended = asyncio.Event(), asyncio.Event()

        async def hang() -> None:
            try:
                await may_end.wait()
            finally:
                has_ended.set()

        world.functions.answers.append(lambda _event: hang())
        world.write(1)
        job = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: world.functions.running)
        copying_of(world.store).restore(checkpoint)
        world.write(2)
        other = await world.mappings.create(world.mapping())
        assert await job is None
        assert has_ended.is_set(), "the invocation was cancelled"
        assert mapping.uuid not in "".join(name for name, _ in world.store.documents.below(""))
        assert world.result(other) == messages.OK
        assert world.taken() == [[1], [2]]
        checkpoint.release()

    asyncio.run(scenario())


def test_a_checkpoint_of_the_content_holds_the_place() -> None:
    world = Deliveries()

    async def scenario() -> None:
        await world.mappings.create(world.mapping())
        world.write(1)
        await world.delivery.run_slice()
        checkpoint = await copying_of(world.store).checkpoint()
        world.write(2)
        await world.delivery.run_slice()
        copying_of(world.store).restore(checkpoint)
        await world.delivery.run_slice()
        assert world.taken() == [[1], [2]]
        world.write(3)
        await world.delivery.run_slice()
        assert world.taken() == [[3]], "as if 2 had never been written"
        checkpoint.release()

    asyncio.run(scenario())


def test_an_invocation_that_ends_with_the_restore_stores_nothing() -> None:
    """The content is replaced between the function's reply and its checkpoint."""
    world = Deliveries()

    async def scenario() -> None:
        await world.mappings.create(world.mapping())
        world.functions.answers.append(lambda _event: copying_of(world.store).restore(None))
        world.write(1)
        await world.delivery.run_slice()
        assert world.store.documents.below("") == []

    asyncio.run(scenario())


def test_content_replaced_while_a_checkpoint_is_stored_gets_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Deliveries()
    world.map()
    inner = world.store.documents.write

    async def write(
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        copying_of(world.store).restore(None)
        return await inner(changes, generation, read)

    world.write(1)
    monkeypatch.setattr(world.store.documents, "write", write)
    world.deliver()
    assert world.store.documents.below("") == []


# --- disturbances -------------------------------------------------------------------------------------


def test_batches_are_repeated_delayed_and_cut_on_purpose() -> None:
    world = Deliveries()
    world.map(batch_size=3)
    world.disturbances.extend([{"repeats": 1}, {"due_seconds": world.clock.service_time() + 7.0}, {"records_max": 1}])
    world.write(*range(8))
    assert world.deliver() == 7
    assert world.taken() == [[0, 1, 2], [0, 1, 2]]
    assert world.pass_time(7) is None
    assert world.taken() == [[3, 4, 5], [6], [7]]


def test_a_repeated_batch_counts_as_handled_after_the_last_time() -> None:
    world = Deliveries()
    world.map()
    world.disturbances.append({"repeats": 2})
    stored: list[int] = []
    world.functions.answer = lambda _event: stored.append(len(world.checkpoints()))
    world.write(1)
    world.deliver()
    assert stored == [0, 0, 0]
    assert len(world.checkpoints()) == 1


def test_purging_is_the_jobs_work() -> None:
    world = Deliveries(state_delay_seconds=DELAY)
    world.unmap(world.map())
    world.clock.advance(DELAY)
    assert drive(world.delivery.run_slice()) is None
    assert world.store.documents.below("") == []
