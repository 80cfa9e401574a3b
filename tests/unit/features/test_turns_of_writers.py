"""Those of one server who change the same record do so one after the other: none reads, encodes and writes a long
document only to be refused.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec
import pytest

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.records import Activity, TargetPlace
from hashrange.dax.clusters import Clusters
from hashrange.dax.records import ParameterGroup
from hashrange.functions.description import FunctionDescription
from tests.support.clocks import VirtualClock
from tests.unit.functions.functions_world import CALLER, FunctionsWorld, MemoryDocuments, run_functions

TIMES = 6
CLIENTS, CALLS = 20, 20
"""So many that those who lose each time would have given up."""


class CountedDocuments(MemoryDocuments):
    """Documents that count writes, and those that are refused."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = self.refused = 0

    async def write(self, changes: Mapping[str, bytes | None], *more: Any, **named: Any) -> bool:
        is_done = await super().write(changes, *more, **named)
        self.writes += 1
        self.refused += not is_done
        return is_done


@pytest.fixture
def documents() -> CountedDocuments:
    return CountedDocuments()


def together(*work: Coroutine[Any, Any, Any]) -> None:
    async def run() -> None:
        await asyncio.gather(*work)

    asyncio.run(run())


def test_scaling_activities(documents: CountedDocuments) -> None:
    unused: Any = None
    place = TargetPlace("1", "us-east-1", "table/t", "dynamodb:table:WriteCapacityUnits")
    scaling = AutoScaling(documents, VirtualClock(), unused, unused)
    now_seconds = scaling.now_seconds()
    activities = [Activity(str(one), now_seconds, now_seconds, "a", "b", "Failed", str(one)) for one in range(TIMES)]
    together(*[scaling.note(place, one) for one in activities])
    assert (documents.writes, documents.refused) == (TIMES, 0)
    document = dict(documents.content)
    together(scaling.note(place, activities[-1]))
    assert documents.content == document, "it only repeats the newest one"
    assert [one.id for _, one in scaling.activities("1", "us-east-1")] == [str(one) for one in range(TIMES)][::-1]


def test_events_of_dax(documents: CountedDocuments) -> None:
    clusters = Clusters(documents, VirtualClock(), 0.0, None, lambda: None, lambda: None)
    groups = [ParameterGroup(account="1", region="r", name=str(one)) for one in range(TIMES)]
    together(*[clusters.replace(None, one, "created") for one in groups])
    assert (documents.writes, documents.refused) == (TIMES, 0)
    assert len(clusters.events("1", "r")) == TIMES


def test_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        stored, documents = world.functions.stored, world.documents
        (description,) = stored.all_of(CALLER)
        writes: list[Mapping[str, bytes | None]] = []
        write = documents.write

        async def noted(changes: Mapping[str, bytes | None], *more: Any) -> bool:
            writes.append(changes)
            return await write(changes, *more)

        monkeypatch.setattr(documents, "write", noted)

        def longer(old: FunctionDescription | None) -> FunctionDescription:
            assert old is not None
            return msgspec.structs.replace(old, timeout_seconds=old.timeout_seconds + 1)

        async def change_often() -> None:
            for _ in range(CALLS):
                await stored.change(description.key, longer, b"zip")

        await asyncio.gather(*[change_often() for _ in range(CLIENTS)])
        assert len(writes) == CLIENTS * CALLS
        changed = stored.get(description.key)
        assert changed is not None
        assert changed.timeout_seconds == description.timeout_seconds + CLIENTS * CALLS

    run_functions(test)
