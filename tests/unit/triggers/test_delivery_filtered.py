"""Records that filters have passed over stay behind, also after a stop or a kill,
and though no commit is made for each of them.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from hashrange.errors import StorageError
from hashrange.limits import TRIGGER_PASSED_SECONDS
from hashrange.store.copying import copying_of
from hashrange.store.documents import NOTHING_READ
from hashrange.triggers.mapping import EventSourceMapping
from tests.support.waiting import until
from tests.unit.triggers.deliveries import Deliveries

REMOVALS = '{"eventName": ["REMOVE"]}'


def commits_of(world: Deliveries) -> list[Mapping[str, bytes | None]]:
    """Gets what the job and the mappings store from now on."""
    commits: list[Mapping[str, bytes | None]] = []
    inner = world.store.documents.write

    async def write(
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        commits.append(changes)
        return await inner(changes, generation, read)

    world.store.documents.write = write  # type: ignore[method-assign]
    return commits


def taken_without_filter(world: Deliveries, mapping: EventSourceMapping) -> list[list[int]]:
    """What a mapping delivers once its filter is gone, in another process."""
    world.restart()
    world.taken()
    world.change(mapping, filters=())
    world.deliver()
    return world.taken()


def test_a_clean_stop_stores_what_was_passed_over(tmp_path: Path) -> None:
    world = Deliveries(tmp_path / "data")
    mapping = world.map(filters=(REMOVALS,))
    world.write(1, 2)
    world.deliver()
    asyncio.run(world.delivery.stop())
    assert taken_without_filter(world, mapping) == []


def test_so_does_a_stop_during_an_invocation_after_the_slice_was_cancelled(tmp_path: Path) -> None:
    """The server's runner cancels the slice first."""
    world = Deliveries(tmp_path / "data")

    async def scenario() -> EventSourceMapping:
        mapping = await world.mappings.create(world.mapping(filters=(REMOVALS,)))
        await world.mappings.create(world.mapping(function_arn="other"))
        world.functions.answer = lambda _event: asyncio.Event().wait()
        world.write(1, 2)
        job = asyncio.create_task(world.delivery.run_slice())
        await until(lambda: world.functions.running)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        await world.delivery.stop()
        return mapping

    mapping = asyncio.run(scenario())
    world.functions.answer = None
    assert taken_without_filter(world, mapping) == [[1, 2]], "what the other function was not done with"


def test_a_kill_repeats_only_what_was_passed_over_in_the_last_seconds(tmp_path: Path) -> None:
    world = Deliveries(tmp_path / "data")
    mapping = world.map(filters=(REMOVALS,))
    world.write(1, 2)
    assert world.deliver() == TRIGGER_PASSED_SECONDS
    assert world.pass_time(TRIGGER_PASSED_SECONDS) is None
    world.write(3)
    world.deliver()
    assert taken_without_filter(world, mapping) == [[3]]


def test_many_passes_share_one_commit() -> None:
    world = Deliveries()
    world.map(filters=(REMOVALS,), parallelization_factor=2)
    commits = commits_of(world)
    for value in range(40):
        world.write(value, key=value)
        world.pass_time(TRIGGER_PASSED_SECONDS / 16)
    assert len(commits) in {2, 3, 4}, "two lanes, within the time of two and a half commits"
    world.pass_time(TRIGGER_PASSED_SECONDS)
    commits.clear()
    assert world.pass_time(TRIGGER_PASSED_SECONDS) is None
    asyncio.run(world.delivery.stop())
    assert commits == [], "nothing was passed over since"


def test_a_stop_bears_a_store_that_fails() -> None:
    world = Deliveries()
    mapping = world.map(filters=(REMOVALS,))
    world.write(1)
    world.deliver()
    inner = world.store.documents.write

    async def write(
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        raise StorageError("full")

    world.store.documents.write = write  # type: ignore[method-assign]
    asyncio.run(world.delivery.stop())
    world.store.documents.write = inner  # type: ignore[method-assign]
    world.change(mapping, filters=())
    world.deliver()
    assert world.taken() == [[1]]


def test_a_stop_stores_nothing_for_a_deleted_mapping() -> None:
    world = Deliveries()
    mapping = world.map(filters=(REMOVALS,))
    world.write(1)
    world.deliver()
    world.unmap(mapping)
    asyncio.run(world.delivery.stop())
    assert world.checkpoints() == {}


def test_a_stop_stores_nothing_in_other_content() -> None:
    world = Deliveries()

    async def scenario() -> None:
        checkpoint = await copying_of(world.store).checkpoint()
        await world.mappings.create(world.mapping(filters=(REMOVALS,)))
        world.write(1)
        await world.delivery.run_slice()
        copying_of(world.store).restore(checkpoint)
        await world.delivery.stop()

    asyncio.run(scenario())
    assert world.checkpoints() == {}
