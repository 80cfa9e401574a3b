"""The suspending store loses replies of commits and looks up their outcome by request id:
each commit happens exactly once.
"""

import asyncio
from collections.abc import Callable

import pytest

from hashrange.errors import ConditionalCheckFailedException, OutcomeUnknown, StorageError
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore
from hashrange.store.interface import IdempotencyToken, TransactionRefused, TransactionStep
from hashrange.store.request_ids import new_request_id
from hashrange.tables.open_table import OpenTable
from tests.support.samples import row_of
from tests.support.wrapped_stores.suspending import SuspendingStore
from tests.unit.store.conftest import Run

KEY, OTHER = Key(b"k"), Key(b"other")
WRITERS = 40


def number_of(row: Row | None) -> int:
    return int.from_bytes(row[5:], "big") if row else 0


def counter(old: Row | None) -> Row:
    return row_of(8, (number_of(old) + 1).to_bytes(8, "big"))


def token(number: int) -> IdempotencyToken:
    return IdempotencyToken(b"t%d" % number, b"d" * 16, 0.0, 600.0, lambda changes: b"%d" % len(changes))


async def count_up(store: SuspendingStore, table: OpenTable) -> tuple[list[int], int]:
    """The count reported to each writer, and the final count in the row."""
    changes = await asyncio.gather(*(store.mutate(table, KEY, counter, new_request_id()) for _ in range(WRITERS)))
    row = await store.get(table.source_id, KEY, consistent=True)
    return sorted(number_of(change.new) for change in changes), number_of(row)


@pytest.mark.parametrize("seed", range(3))
def test_a_write_whose_reply_is_lost_counts_once_and_its_change_is_told(
    store: EmbeddedStore, table: OpenTable, run: Run, seed: int
) -> None:
    suspending = SuspendingStore(store, seed)
    told, count = run(count_up(suspending, table))
    assert count == WRITERS
    assert told == list(range(1, WRITERS + 1)), "each heard of its own change, whoever wrote after it"
    assert suspending.lost_outcomes > 1


@pytest.mark.parametrize("seed", range(3))
def test_a_transaction_whose_reply_is_lost_is_no_replay(
    store: EmbeddedStore, table: OpenTable, run: Run, seed: int
) -> None:
    """The idempotency token alone would show that the transaction took place, but not its changes."""
    suspending = SuspendingStore(store, seed)

    async def scenario() -> int:
        for number in range(WRITERS):
            steps = [TransactionStep(table, KEY, counter), TransactionStep(table, OTHER, counter)]
            transacted = await suspending.transact(steps, token(number), new_request_id())
            assert [number_of(change.new) for change in transacted.changes] == [number + 1, number + 1]
            assert transacted.report is None
            replay = await suspending.transact(steps, token(number), new_request_id())
            assert replay.report == b"2"
        return number_of(await suspending.get(table.source_id, KEY, consistent=True))

    assert run(scenario()) == WRITERS
    assert suspending.lost_outcomes > 1


def test_a_refusal_whose_reply_is_lost_is_found_by_planning_again(
    store: EmbeddedStore, table: OpenTable, run: Run
) -> None:
    suspending = SuspendingStore(store, 2)

    def refuse(_old: Row | None) -> Row:
        raise ConditionalCheckFailedException("no")

    async def scenario() -> None:
        for _ in range(WRITERS):
            with pytest.raises(ConditionalCheckFailedException):
                await suspending.mutate(table, KEY, refuse, new_request_id())
            with pytest.raises(TransactionRefused):
                await suspending.transact([TransactionStep(table, KEY, refuse)], None, new_request_id())

    run(scenario())
    assert suspending.lost_outcomes > 1


def test_a_store_that_has_no_time_to_look_says_that_it_does_not_know(
    store: EmbeddedStore, table: OpenTable, run: Run
) -> None:
    suspending = SuspendingStore(store, 1, look_limit=0)
    unknown: list[bool] = []
    """For each write of unknown outcome: True if it took place."""

    async def scenario(write: Callable[[], object]) -> None:
        before = number_of(await settled(store.get(table.source_id, KEY, consistent=True)))
        try:
            await write()  # type: ignore[misc]
        except OutcomeUnknown as error:
            after = number_of(await settled(store.get(table.source_id, KEY, consistent=True)))
            unknown.append(after == before + 1)
            assert after in (before, before + 1)
            assert "orders" in str(error)
        else:
            assert number_of(await settled(store.get(table.source_id, KEY, consistent=True))) == before + 1

    for _ in range(WRITERS):
        run(scenario(lambda: suspending.mutate(table, KEY, counter, new_request_id())))
        run(scenario(lambda: suspending.transact([TransactionStep(table, KEY, counter)], None, new_request_id())))
    assert {True, False} == set(unknown)
    assert len(unknown) == suspending.lost_outcomes
    assert issubclass(OutcomeUnknown, StorageError), "the operator hears of it, the client hears InternalServerError"


def test_two_writes_with_one_request_id_are_a_bug(store: EmbeddedStore, table: OpenTable, run: Run) -> None:
    suspending = SuspendingStore(store, 1)
    request_id = new_request_id()
    run(suspending.mutate(table, KEY, counter, request_id))
    with pytest.raises(AssertionError, match="one request id"):
        run(suspending.mutate(table, KEY, counter, request_id))
