"""Several servers share a cluster whose replies are lost: could one server alone have seen all that their clients saw?

The cluster is a stand-in (`fake_cassandra.py`), so each run is the same for its seed. Each write appends its number to
the lists of its items; `histories.py` checks the lists.
"""

import asyncio
import json
import random
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec
import pytest

from hashrange.errors import (
    ConditionalCheckFailedException,
    StorageError,
    TransactionConflictException,
)
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.store.cassandra.store import CassandraStore
from hashrange.store.interface import TransactionRefused, TransactionStep
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema
from hashrange.tables.span import Span
from tests.model.histories import Read, Write, faults_of
from tests.support.clocks import VirtualClock
from tests.support.fake_cassandra import Chances, FakeCluster, FakeSession
from tests.support.samples import table_maker

ITEMS = 6
RARE_ITEMS = 60
"""Items of which most are not there when they are read."""
EVERYTHING = Span(b"", b"\xff" * 9)
LIMIT_BYTES = 10**10


def made_store(cluster: FakeCluster, chances: Chances) -> CassandraStore:
    """A server's store."""
    return CassandraStore(FakeSession(cluster, chances), chances.clock, LIMIT_BYTES)  # type: ignore[arg-type]


def item_of(place: int, numbers: Sequence[int], group: str) -> Item:
    """An item with a list, in a group, which is the key of its entry in the global index."""
    return {"pk": {"S": f"item-{place}"}, "sk": {"S": "s"}, "n": {"S": json.dumps(list(numbers))}, "g": {"S": group}}


def row_of_item(item: Item) -> Row:
    """The row of an item."""
    return encode_row(item, item_size_bytes(item))


def numbers_in(row: Row | None) -> tuple[int, ...]:
    """The list in a row."""
    return () if row is None else tuple(json.loads(decode_row(row)["n"]["S"]))


class World:
    """Servers, and what their clients have done and seen."""

    def __init__(self, seed: int, servers: int, **chances: float) -> None:
        self.numbers = random.Random(seed)
        self.cluster = FakeCluster()
        self.chances = Chances(seed, VirtualClock(), **chances)
        self.stores = [made_store(self.cluster, self.chances) for _ in range(servers)]
        self.tables: list[OpenTable] = []
        self.writes: list[Write] = []
        self.unknown: set[int] = set()
        self.reads: list[Read] = []
        self.next_number = 1

    async def begin(self) -> None:
        """Create a table with a global index."""
        table = table_maker("shared")(1)
        index = Index(
            name="by-group",
            index_id=1,
            keys=KeySchema(("g",), ("S",)),
            projection=IndexProjection("ALL"),
            is_global=True,
        )
        table = msgspec.structs.replace(
            table, indexes=(index,), attribute_types={"pk": "S", "sk": "S", "g": "S"}, next_index_id=2
        )
        created = await self.again(
            lambda: self.stores[0].catalog.create(lambda table_id: msgspec.structs.replace(table, table_id=table_id))
        )
        assert created is not None or self.stores[0].catalog.find_id(1) is not None
        for store in self.stores:
            await self.again(store.catalog.refresh)
            found = store.catalog.find("000000000000", "us-east-1", "shared")
            assert found is not None
            self.tables.append(found)

    async def again(self, call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of a call, repeated while the cluster fails."""
        while True:
            try:
                return await call()
            except StorageError:
                continue

    def key(self, server: int, place: int) -> Key:
        """The key of an item."""
        return self.tables[server].item_key(item_of(place, (), ""))

    def appending(self, place: int, number: int, chance: random.Random) -> Callable[[Row | None], Row | None]:
        """A plan that appends a number, or refuses by what it sees."""
        group = chance.choice("abc")
        refuses = chance.random() < 0.2

        def plan(old: Row | None) -> Row | None:
            numbers = numbers_in(old)
            if refuses and len(numbers) % 2:
                raise ConditionalCheckFailedException("odd")
            return row_of_item(item_of(place, (*numbers, number), group))

        return plan

    async def client(self, server: int, steps: int) -> None:
        """Write and read at random."""
        store, table = self.stores[server], self.tables[server]
        for _ in range(steps):
            count = self.numbers.choice((ITEMS, ITEMS, RARE_ITEMS))
            places = self.numbers.sample(range(count), self.numbers.choice((1, 1, 1, 2, 3)))
            number, self.next_number = self.next_number, self.next_number + 1
            kind = self.numbers.random()
            if kind < 0.6:
                plans = [self.appending(place, number, self.numbers) for place in places]
                steps_of = [
                    TransactionStep(table, self.key(server, place), plan)
                    for place, plan in zip(places, plans, strict=True)
                ]
                is_done = True
                try:
                    if len(places) == 1:
                        await store.mutate(table, self.key(server, places[0]), plans[0])
                    else:
                        await store.transact(steps_of, None)
                except (ConditionalCheckFailedException, TransactionRefused, TransactionConflictException):
                    is_done = False
                except StorageError:
                    self.unknown.add(number)
                self.writes.append(Write(number, tuple(f"item-{place}" for place in places), is_done))
                continue
            try:
                if len(places) == 1:
                    rows = [await self.read(server, places[0])]
                else:
                    rows = await store.snapshot_get([(table, self.key(server, place)) for place in places], 10**9)
            except (StorageError, TransactionRefused):
                continue
            seen = {f"item-{place}": numbers_in(row) for place, row in zip(places, rows, strict=True)}
            self.reads.append(Read(number, seen))

    async def read(self, server: int, place: int) -> Row | None:
        """Read an item, by its key or by a span."""
        store, source_id, key = self.stores[server], self.tables[server].source_id, self.key(server, place)
        if self.numbers.random() < 0.5:
            return await store.get(source_id, key, consistent=True)
        span = Span(key, key + b"\x00", self.numbers.random() < 0.5)
        page = await store.page(source_id, span, 10, 10**6, consistent=True)
        return page.rows[0] if page.rows else None

    async def final(self) -> dict[str, tuple[int, ...]]:
        """The lists at the end, and in all items."""
        store, table = self.stores[0], self.tables[0]
        lists = {}
        for place in range(RARE_ITEMS):
            key = self.key(0, place)
            row = await self.again(partial(store.get, table.source_id, key, consistent=True))
            lists[f"item-{place}"] = numbers_in(row)
        return lists

    def faults(self, final: dict[str, tuple[int, ...]]) -> list[str]:
        """What no single server could have done. A write whose outcome nobody was told took place or did not, whole."""
        writes = []
        for write in self.writes:
            is_done = write.is_done
            if write.number in self.unknown:
                is_done = any(write.number in final[item] for item in write.items)
            writes.append(write._replace(is_done=is_done))
        return faults_of(writes, self.reads, final)


async def run_world(world: World, clients: int, steps: int) -> list[str]:
    """The faults of a run."""
    await world.begin()
    servers = len(world.stores)
    await asyncio.gather(*[world.client(number % servers, steps) for number in range(clients)])
    final = await world.final()
    faults = world.faults(final)
    await world.again(world.stores[0].transactions.sweep)
    for store in world.stores:
        await store.entries.settled()
        await world.again(store.entries.sweep)
    table = world.tables[0]
    span = EVERYTHING
    (index,) = table.indexes
    page = await world.again(lambda: world.stores[0].page(index.source_id, span, 100, 10**9, consistent=False))
    rows = await world.again(lambda: world.stores[0].page(table.source_id, span, 100, 10**9, consistent=True))
    if sorted(page.rows) != sorted(rows.rows):
        faults.append(f"the index has {len(page.rows)} entries, which are not those of {len(rows.rows)} items")
    counts = await world.again(lambda: world.stores[-1].statistics([table.source_id, index.source_id]))
    if {count for count, _ in counts.values()} != {len(rows.rows)}:
        faults.append(f"{counts} for {len(rows.rows)} items")
    for store in world.stores:
        await store.close()
    return faults


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "chances", [{}, {"lost": 0.1}, {"lost": 0.3, "failed": 0.02}], ids=["calm", "lost", "very-lost"]
)
def test_no_client_sees_what_one_server_alone_would_not_do(seed: int, chances: dict[str, float]) -> None:
    world = World(seed, 3, **chances)
    assert asyncio.run(run_world(world, 9, 25)) == []
    assert sum(write.is_done for write in world.writes) > 60
