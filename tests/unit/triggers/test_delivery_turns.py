"""How long do requests wait for deliveries? Reads of records, commits of checkpoints and the filling of batches
have turns of the loop of their own.
"""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from hashrange.limits import TRIGGER_PAGE_RECORDS
from hashrange.triggers.lanes import take_records
from tests.unit.triggers.deliveries import Deliveries

TURN, READ, FILL, COMMIT = "turn", "read", "fill", "commit"


def test_records_are_read_and_filled_into_batches_and_committed_in_different_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Deliveries()
    world.map(batch_size=100)
    world.deliver()
    world.write(*range(3 * TRIGGER_PAGE_RECORDS))
    steps: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def note(*arguments: Any) -> Any:
            steps.append(name)
            return function(*arguments)

        return note

    streams, documents = world.store.streams, world.store.documents
    monkeypatch.setattr(streams, "records", noted(READ, streams.records))
    monkeypatch.setattr(documents, "write", noted(COMMIT, documents.write))
    monkeypatch.setattr("hashrange.triggers.filling.take_records", noted(FILL, take_records))

    async def deliver_beside_others() -> None:
        loop = asyncio.get_running_loop()

        def turn() -> None:
            steps.append(TURN)
            loop.call_soon(turn)

        turn()
        await world.delivery.run_slice()

    asyncio.run(deliver_beside_others())
    assert sum(map(len, world.taken())) == 3 * TRIGGER_PAGE_RECORDS
    assert {*steps} == {TURN, READ, FILL, COMMIT}
    together = {pair for pair in pairwise(steps) if TURN not in pair}
    assert together <= {(FILL, FILL)}


def test_a_read_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Deliveries()
    world.map(batch_size=3 * TRIGGER_PAGE_RECORDS)
    world.write(*range(3 * TRIGGER_PAGE_RECORDS))
    streams, lengths = world.store.streams, []
    read = streams.records

    async def records(*arguments: Any) -> Any:
        page = await read(*arguments)
        lengths.append(len(page.records))
        return page

    monkeypatch.setattr(streams, "records", records)
    world.deliver()
    assert [len(values) for values in world.taken()] == [3 * TRIGGER_PAGE_RECORDS]
    assert lengths[:3] == [TRIGGER_PAGE_RECORDS] * 3
