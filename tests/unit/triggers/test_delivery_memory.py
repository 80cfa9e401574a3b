"""However many mappings there are, the memory for their records is bounded in sum; what it cannot keep is read again,
and what is at functions lets further batches wait. Nothing is skipped or doubled.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.triggers import attempts, delivery
from tests.support.waiting import until
from tests.unit.triggers.deliveries import Deliveries, Event, fail, fail_from, image_of
from tests.unit.triggers.test_delivery_shards import by_key


def kept_bytes_of(world: Deliveries) -> int:
    """Bytes of the records in memory."""
    shards = [shard for consumer in world.delivery._roster.consumers.values() for shard in consumer.shards.values()]
    pages = [record for shard in shards for page in shard.pages for lane in page.records for _, record in lane]
    batches = [text for shard in shards for lane in shard.lanes for batch in lane.batches for text in batch.records]
    return sum(map(len, [*pages, *batches]))


PAD = {"pad": {"S": "x" * 1_000}}


def write_items(world: Deliveries, values: Iterable[int] = range(4), keys: int = 20) -> None:
    for value in values:
        for key in range(keys):
            world.write(value, key=key, **PAD)


def test_what_is_at_functions_is_bounded_in_sum_and_mappings_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "TRIGGER_SENT_BYTES_MAX", 20_000)

    async def scenario() -> None:
        world, ended = Deliveries(), asyncio.Event()
        for number in range(4):
            await world.mappings.create(
                world.mapping(function_arn=f"f{number}", parallelization_factor=5, batch_size=4)
            )
        write_items(world)
        world.functions.answer = lambda _event: ended.wait()
        job = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: world.functions.running >= 3)
        for _ in range(50):
            await asyncio.sleep(0)
        sent_bytes = sum(len(str(image_of(one))) for event in world.functions.events for one in event["Records"])
        assert sent_bytes < 30_000
        ended.set()
        assert await job is None
        for number in range(4):
            events = [
                event
                for event, (arn, _) in zip(world.functions.events, world.functions.requests, strict=True)
                if arn == f"f{number}"
            ]
            assert by_key(events) == {f"o{key}": [0, 1, 2, 3] for key in range(20)}

    asyncio.run(scenario())


@pytest.mark.parametrize("kept_bytes", [0, 10_000])
@pytest.mark.parametrize("lanes", [1, 4])
def test_what_memory_cannot_keep_is_read_again(monkeypatch: pytest.MonkeyPatch, kept_bytes: int, lanes: int) -> None:
    monkeypatch.setattr(delivery, "TRIGGER_KEPT_BYTES_MAX", kept_bytes)
    world, tries, handled = Deliveries(), Counter[str](), list[Event]()

    def answer(event: Event) -> Any:
        text = str(event)
        tries[text] += 1
        if tries[text] == 1:
            return ConcurrencyExceeded("")
        if tries[text] == 2:
            return fail(event)
        handled.append(event)
        return None

    world.functions.answer = answer
    world.map(parallelization_factor=lanes, batch_size=7, batching_window_seconds=5)
    for value in range(3):
        write_items(world, [value], 5)
        world.deliver()
    write_items(world, range(3, 6))
    while (pause_seconds := world.deliver()) is not None:
        assert kept_bytes_of(world) <= kept_bytes
        world.clock.advance(pause_seconds)
    found = by_key(handled)
    assert found.keys() == {f"o{key}" for key in range(20)}
    assert all(found[f"o{key}"] == [0, 1, 2, 3, 4, 5] for key in range(5))
    assert all(found[f"o{key}"] == [3, 4, 5] for key in range(5, 20))


@pytest.mark.parametrize("kept_bytes", [0, 10_000_000])
def test_parts_of_a_batch_are_read_again(monkeypatch: pytest.MonkeyPatch, kept_bytes: int) -> None:
    monkeypatch.setattr(delivery, "TRIGGER_KEPT_BYTES_MAX", kept_bytes)
    world = Deliveries()
    world.map(is_bisecting=True, reports_item_failures=True)
    world.functions.answers.extend([fail, fail_from(2), fail, None, None, fail_from(1)])
    world.write(*range(8))
    while (pause_seconds := world.deliver()) is not None:
        world.clock.advance(pause_seconds)
    halves = [[0, 1, 2, 3], [2, 3], [2], [3], [4, 5, 6, 7], [5, 6, 7]]
    assert world.taken() == [[*range(8)], *halves]


def test_a_mapping_that_ends_gives_its_memory_back() -> None:
    async def scenario() -> None:
        world, ended = Deliveries(), asyncio.Event()
        mapping = await world.mappings.create(world.mapping(parallelization_factor=5, batch_size=4))
        write_items(world)
        world.functions.answer = lambda _event: ended.wait()
        job = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: world.functions.running == 5)
        assert kept_bytes_of(world) > 20_000
        await world.mappings.delete(mapping)
        await until(lambda: not kept_bytes_of(world))
        assert world.functions.running == 5
        ended.set()
        assert await job is None

    asyncio.run(scenario())
