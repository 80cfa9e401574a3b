"""What does a server of a cluster finish that another has left, and what does it keep of accounts without tables?"""

import asyncio
import gc
from functools import partial
from typing import Any

import pytest

from hashrange.items.types import Row
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import LOCKS, OUTBOX
from hashrange.store.interface import TransactionStep
from hashrange.tables.span import Span
from tests.model.test_cluster_store import World, item_of, row_of_item

EVERYTHING = Span(b"", b"\xff" * 9)


class ServerKilled(Exception):
    """The server does nothing more."""


def _always(row: Row, _old: Row | None) -> Row:
    return row


async def left(world: World, dies_at: str) -> None:
    """A server begins a transaction over two slots, and is killed at a statement; the other one does its jobs."""
    await world.begin()
    (killed, other), table = world.stores, world.tables[0]
    session: Any = killed._session
    former = session.execute, session.decide

    async def execute(text: str, *values: Any, **options: Any) -> Any:
        if text == dies_at:
            raise ServerKilled
        return await former[0](text, *values, **options)

    async def decide(*statements: Any) -> bool:
        if dies_at in [text for text, _ in statements]:
            raise ServerKilled
        return bool(await former[1](*statements))

    session.execute, session.decide = execute, decide
    rows = [row_of_item(item_of(place, (), "a")) for place in range(8)]
    steps = [TransactionStep(table, world.key(0, place), partial(_always, row)) for place, row in enumerate(rows)]
    await asyncio.gather(killed.transact(steps, None), return_exceptions=True)
    await asyncio.gather(*killed.transactions._behind, *killed.entries._tasks, return_exceptions=True)
    world.chances.clock.advance_all(60)
    await other.maintenance.settle()
    world.chances.clock.advance_all(60)
    await other.maintenance.settle()
    await other.entries.settled()


@pytest.mark.parametrize(
    ("dies_at", "is_committed"), [(cql.DECIDE, False), (cql.FORGET_TRANSACTION, True), (cql.PUT_ENTRY, True)]
)
def test_a_server_finishes_what_another_has_left(dies_at: str, *, is_committed: bool) -> None:
    world = World(1, 2)

    async def run() -> None:
        await left(world, dies_at)
        kinds = {kind for slot in world.cluster.slots.values() for kind, _ in slot.rows}
        assert kinds.isdisjoint({OUTBOX, LOCKS})
        assert not world.cluster.transactions or is_committed
        other, table = world.stores[1], world.tables[1]
        (index,) = table.indexes
        rows = await other.page(table.source_id, EVERYTHING, 100, 10**6, consistent=True)
        entries = await other.page(index.source_id, EVERYTHING, 100, 10**6, consistent=False)
        assert len(rows.rows) == (8 if is_committed else 0)
        assert sorted(entries.rows) == sorted(rows.rows)

    asyncio.run(run())


def test_accounts_without_tables_leave_nothing() -> None:
    world = World(1, 1)
    asyncio.run(world.begin())
    catalog = world.stores[0].catalog
    before = len(catalog._by_place) + len(catalog._views)
    for number in range(1, 100):
        assert not catalog.tables(f"{number:012}", "us-east-1")
    gc.collect()
    assert len(catalog._by_place) + len(catalog._views) == before


def test_a_view_is_live() -> None:
    world = World(1, 2)
    seen = world.stores[1].catalog.tables("000000000000", "us-east-1")

    async def run() -> None:
        await world.begin()
        assert [*seen] == ["shared"]
        assert await world.stores[0].catalog.delete(world.tables[0].schema)
        await world.stores[1].catalog.refresh()
        assert not seen

    asyncio.run(run())
