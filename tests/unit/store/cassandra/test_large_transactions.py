"""Is a transaction written in batches that Cassandra takes, however much it writes?"""

import asyncio
from typing import Any

import pytest

from hashrange.items.types import Key, Row
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import slot_of
from hashrange.store.interface import TransactionStep
from tests.model.test_cluster_store import World, item_of, row_of_item

BATCH_BYTES_MAX = 6_000_000
ITEM_BYTES = 39_000
COUNT = 100


async def written_at_most(places: list[int]) -> tuple[int, list[Row | None]]:
    """The bytes of the largest batch with which large items are replaced together, and the rows afterwards."""
    world = World(1, 1)
    await world.begin()
    store, table = world.stores[0], world.tables[0]
    largest = 0

    def look(statements: Any) -> None:
        nonlocal largest
        written = [values[-1] for text, values in statements if text == cql.PUT_ROW]
        largest = max(largest, sum(map(len, written)))

    def plan_of(text: str) -> Any:
        return lambda _old: row_of_item(item_of(1, (), "a") | {"text": {"S": text * ITEM_BYTES}})

    keys = [world.key(0, place) for place in places]
    for text in "xy":
        session: Any = store._session
        session.before = look
        await store.transact([TransactionStep(table, key, plan_of(text)) for key in keys], None)
        await store.transactions.settled()
    rows = [await store.get(table.source_id, key, consistent=True) for key in keys]
    await store.close()
    return largest, rows


def keys_in_one_slot() -> list[int]:
    """Numbers of items whose keys are in the same slot."""
    world = World(1, 1)
    asyncio.run(world.begin())
    found = [place for place in range(20 * COUNT) if slot_of(Key(world.key(0, place))) == 3]
    return found[:COUNT]


@pytest.mark.parametrize("is_one_slot", [True, False])
def test_the_largest_transaction_is_written_in_batches_that_fit(*, is_one_slot: bool) -> None:
    largest, rows = asyncio.run(written_at_most(keys_in_one_slot() if is_one_slot else list(range(COUNT))))
    assert largest < BATCH_BYTES_MAX
    assert {None if row is None else row.count(b"y") for row in rows} == {ITEM_BYTES}
