"""The suspending store interleaves calls, loses races, and detects plans that depend on more than their row."""

import asyncio

import pytest

from hashrange.errors import ConditionalCheckFailedException
from hashrange.items.types import Key, Row
from hashrange.store.embedded import EmbeddedStore
from hashrange.tables.open_table import OpenTable
from tests.support.samples import row_of
from tests.support.wrapped_stores.suspending import SuspendingStore
from tests.unit.store.conftest import Run

KEY = Key(b"k")


def counter(old: Row | None) -> Row:
    return row_of(8, (int.from_bytes(old[5:], "big") + 1 if old else 1).to_bytes(8, "big"))


async def count_up(store: SuspendingStore, table: OpenTable, writers: int) -> int:
    await asyncio.gather(*(store.mutate(table, KEY, counter) for _ in range(writers)))
    row = await store.get(table.source_id, KEY, consistent=True)
    assert row is not None
    return int.from_bytes(row[5:], "big")


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_counters_lose_nothing(store: EmbeddedStore, table: OpenTable, run: Run, seed: int) -> None:
    suspending = SuspendingStore(store, seed)
    assert run(count_up(suspending, table, 40)) == 40
    assert suspending.lost_races > 0


def test_a_plan_that_counts_its_calls_is_caught(store: EmbeddedStore, table: OpenTable, run: Run) -> None:
    calls: list[int] = []

    def plan(_old: Row | None) -> Row:
        calls.append(1)
        return row_of(len(calls))

    with pytest.raises(AssertionError, match="two results"):
        run(SuspendingStore(store, 1).mutate(table, KEY, plan))


def test_a_refusal_passes(store: EmbeddedStore, table: OpenTable, run: Run) -> None:
    def refuse(_old: Row | None) -> Row:
        raise ConditionalCheckFailedException("no")

    with pytest.raises(ConditionalCheckFailedException):
        run(SuspendingStore(store, 1).mutate(table, KEY, refuse))


def test_the_same_seed_gives_the_same_order(store: EmbeddedStore, table: OpenTable, run: Run) -> None:
    async def order(seed: int) -> list[int]:
        suspending = SuspendingStore(store, seed)
        done: list[int] = []

        async def one(number: int) -> None:
            await suspending.get(table.source_id, KEY, consistent=True)
            done.append(number)

        await asyncio.gather(*(one(number) for number in range(20)))
        return done

    first, again, other = run(order(1)), run(order(1)), run(order(2))
    assert first == again
    assert first != other
    assert first != sorted(first)
