"""The suspending store delays entries of global indexes: reproducible by seed, in order, and all applied in the end."""

from typing import Any

import msgspec
import pytest

from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from hashrange.store.embedded.participant import Options
from tests.support.asking import run_operation
from tests.support.scopes import scope_of
from tests.support.wrapped_stores.suspending import SuspendingStore
from tests.support.wrapped_stores.suspending_time import SuspendingTime
from tests.unit.jobs.world import drive

WRITES = 60


class World:
    """One item of a table with a global index, in a suspending store with a seed."""

    def __init__(self, seed: int) -> None:
        time = SuspendingTime(seed)
        self.store = SuspendingStore(open_store(None, time, None, Options(time.delay)), seed, time)
        self.scope = scope_of(self.store, time)
        index = {"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}
        self.ask(
            "CreateTable",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "g")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[index | {"Projection": {"ProjectionType": "ALL"}}],
        )

    def ask(self, name: str, **members: Any) -> Any:
        request: Any = msgspec.convert({"TableName": "late"} | members, OPERATIONS[name].request)
        return drive(run_operation(self.scope, OPERATIONS[name], request))

    def seen(self) -> list[int]:
        items = self.ask("Scan", IndexName="by-g")["Items"]
        return [int(item["n"]["N"]) for item in items]

    def story(self) -> list[list[int]]:
        """The index's contents after each write of the item and one run of the delay job."""
        seen = []
        for number in range(WRITES):
            self.ask("PutItem", Item={"pk": {"S": "p"}, "g": {"S": str(number % 3)}, "n": {"N": str(number)}})
            drive(self.store.maintenance.apply_delayed(1))
            seen.append(self.seen())
        return seen


@pytest.mark.parametrize("seed", range(5))
def test_entries_come_late_and_in_order(seed: int) -> None:
    world = World(seed)
    story = world.story()
    lag = [number - seen[0] for number, seen in enumerate(story) if seen]
    assert max(lag) > 2
    shown = [seen[0] for seen in story if seen]
    assert shown == sorted(shown)
    assert {len(seen) for seen in story} <= {0, 1}
    assert world.seen() != [WRITES - 1]
    drive(world.store.propagate())
    assert world.seen() == [WRITES - 1]
    assert drive(world.store.maintenance.apply_delayed(1)) is None


def test_the_seed_decides_how_late() -> None:
    assert World(1).story() == World(1).story()
    assert World(1).story() != World(2).story()


def test_delays_differ() -> None:
    time = SuspendingTime(1)
    delays = [time.delay() for _ in range(100)]
    assert min(delays) < 0.5
    assert max(delays) > 2.5
