"""Random writes while Kinesis fails in every way, shards roll and split, and processes are killed:
every change arrives, in order.
"""

import asyncio
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.copying import copying_of
from tests.support.fake_kinesis import Asked, Misbehaviour, fake_kinesis
from tests.support.seeds import seeds
from tests.unit.jobs.streaming import HOUR, pass_time
from tests.unit.triggers.kinesis_world import KinesisWorld

STEPS = 150
KEYS = 12
WRONG: tuple[Misbehaviour | None, ...] = (
    None, None, None, "partial", "partial", "none", "throttled", "error", "error after", "cut", "cut after", "garbage",
    "garbage after", "miscount after",
)  # fmt: skip
Image = dict[str, Any] | None


class Walk:
    """A world, and what Kinesis has to get."""

    def __init__(self, world: KinesisWorld, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = world
        self.expected: dict[str, dict[str, list[tuple[Image, Image]]]] = {
            "changes": defaultdict(list),
            "second": defaultdict(list),
        }
        """Data stream → item → its (old image, new image), in order."""
        self.items: dict[str, Image] = {}
        self.on: str | None = None
        self.restarts = self.turns = self.repeated = 0
        world.kinesis.misbehave = self.misbehave
        world.kinesis.fails = lambda _: self.chance.random() < 0.5

    def misbehave(self, asked: Asked) -> Misbehaviour | None:
        return self.chance.choice(WRONG) if asked.operation == "PutRecords" else None

    async def step(self) -> None:
        actions = {self.put: 25, self.delete: 8, self.transact: 6, self.deliver: 15, self.roll: 3, self.split: 4}
        actions |= {
            self.turn: 4 if self.on else 40,
            self.restart: 2,
            self.kill: 2,
            self.stop_in_the_middle: 3,
            self.restore: 3,
        }
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        await action()
        self.world.clock.advance(self.chance.choice((0.0, 0.0, 0.001, 1.0, 60.0)))

    # --- writes ---------------------------------------------------------------------------------

    def note(self, key: str, new: Image) -> None:
        old = self.items.get(key)
        if self.on is not None and old != new:
            self.expected[self.on][key].append((old, new))
        self.items[key] = new

    def some_item(self, key: str) -> dict[str, Any]:
        filler = {"filler": {"S": "x" * self.chance.choice((1, 300, 900))}}
        return {"id": {"S": key}, "n": {"N": str(self.chance.randint(0, 3))}} | filler

    async def put(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            key = f"i{self.chance.randrange(KEYS)}"
            item = self.some_item(key)
            self.world.ask("PutItem", Item=item)
            self.note(key, item)

    async def delete(self) -> None:
        key = f"i{self.chance.randrange(KEYS)}"
        self.world.ask("DeleteItem", Key={"id": {"S": key}})
        self.note(key, None)

    async def transact(self) -> None:
        keys = [f"i{number}" for number in self.chance.sample(range(KEYS), 3)]
        items = [self.some_item(key) for key in keys]
        puts = [{"Put": {"TableName": "orders", "Item": item}} for item in items]
        self.world.request("TransactWriteItems", TransactItems=puts)
        for key, item in zip(keys, items, strict=True):
            self.note(key, item)

    # --- what happens to the table and the process ------------------------------------------------

    async def deliver(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            self.world.clock.advance(await self.world.deliver() or 0.0)

    async def roll(self) -> None:
        pass_time(self.world, 2 * HOUR)
        await self.settle()  # nothing may become older than a day

    async def split(self) -> None:
        self.world.split()

    async def turn(self) -> None:
        """Switch between destinations, or to none."""
        self.turns += 1
        if self.on is None:
            self.on = self.chance.choice(("changes", "second"))
            self.world.enable(self.on)
        elif self.world.statuses()[0] == (self.on, "ACTIVE"):
            self.world.disable(self.on)
            self.on = None

    async def restart(self) -> None:
        self.restarts += 1
        await self.world.delivery.stop()
        self.world.restart()

    async def kill(self) -> None:
        self.restarts += 1
        await self.world.delivery.stop()
        self.world.kill()

    async def stop_in_the_middle(self) -> None:
        """Kill the process while requests are under way."""
        slice_ = asyncio.create_task(self.world.delivery.run_slice())
        for _ in range(self.chance.randint(0, 40)):
            await asyncio.sleep(0)
        slice_.cancel()
        await asyncio.gather(slice_, return_exceptions=True)
        await self.kill()

    async def restore(self) -> None:
        """Undo what the job has stored meanwhile, by replacing the content of the store
        while requests are under way.
        """
        checkpoint = await self.world.embedded.copying.checkpoint()
        slice_ = asyncio.create_task(self.world.delivery.run_slice())
        for _ in range(self.chance.randint(0, 40)):
            await asyncio.sleep(0)
        copying_of(self.world.store).restore(checkpoint)
        self.world.delivery.wake()
        await slice_
        checkpoint.release()

    # --- judging ----------------------------------------------------------------------------------

    async def settle(self) -> None:
        misbehave, self.world.kinesis.misbehave = self.world.kinesis.misbehave, lambda _: None
        await self.world.deliver_all()
        self.world.kinesis.misbehave = misbehave

    async def judge(self) -> None:
        await self.settle()
        deliveries = [one for feed in self.world.delivery._feeds.values() for one in feed.shards.values()]
        assert not any(one._accepted or one._page for one in deliveries), "something is kept that is not needed"
        for name, expected in self.expected.items():
            seen: set[str] = set()
            found: dict[str, list[tuple[Image, Image]]] = defaultdict(list)
            for one in self.world.kinesis.changes(name):
                if one["eventID"] in seen:
                    self.repeated += 1
                    continue
                seen.add(one["eventID"])
                content = one["dynamodb"]
                found[content["Keys"]["id"]["S"]].append((content.get("OldImage"), content.get("NewImage")))
            for key in expected.keys() | found.keys():
                assert found[key] == expected[key], (name, key)


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", seeds(2, 6))
def test_every_change_arrives_in_order(tmp_path: Path, seed: int, *, is_suspending: bool) -> None:
    async def main() -> None:
        async with fake_kinesis("changes", "second") as kinesis:
            options = {"is_suspending": is_suspending, "partition_size_max_bytes": 1_500}
            world = KinesisWorld(kinesis, tmp_path / "data", **options)
            walk = Walk(world, seed)
            for _ in range(STEPS):
                await walk.step()
            await walk.judge()
            assert sum(len(one) for items in walk.expected.values() for one in items.values()) > 60
            assert walk.restarts > 0
            assert walk.turns > 2
            assert walk.repeated > 0
            assert len(kinesis.met) > len(set(WRONG)) // 2
            await walk.world.delivery.stop()
            assert walk.world.close() == []

    asyncio.run(main())
