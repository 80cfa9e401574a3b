"""Transactions of a store: atomicity, idempotency tokens and their expiry, conflicts in the suspending store."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import (
    ApiError,
    ConditionalCheckFailedException,
    IdempotentParameterMismatchException,
    TransactionConflictException,
    TransactionInProgressException,
    ValidationException,
)
from hashrange.items.rows import encode_row
from hashrange.items.steps import note_way_given
from hashrange.items.types import Key, Row
from hashrange.items.values import check_item
from hashrange.store.embedded import EmbeddedStore, draft, engine, layout, open_store
from hashrange.store.embedded.engine import WriteBatch
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import IdempotencyToken, Transacted, TransactionRefused, TransactionStep
from hashrange.store.statistics import Statistics
from hashrange.tables.change import Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import StreamViewType
from tests.support.samples import finish, row_of, statistics_of, table_maker
from tests.support.wrapped_stores.suspending import SuspendingStore

A, B, C = Key(b"a"), Key(b"b"), Key(b"c")


def write(row: Row | None) -> Plan:
    return lambda _: row


def refuse(_: Row | None) -> Row | None:
    raise ConditionalCheckFailedException("no")


def token(name: str, now_seconds: float = 0.0, digest: bytes = b"d" * 16) -> IdempotencyToken:
    return IdempotencyToken(name.encode(), digest, now_seconds, now_seconds + 600, lambda changes: b"%d" % len(changes))


def make(data_dir: str | None = None) -> tuple[EmbeddedStore, OpenTable, OpenTable]:
    """A store with two tables."""
    store = open_store(data_dir, SystemClock(), None)
    tables = []
    for name in ("one", "two"):
        table = store.catalog.find("000000000000", "us-east-1", name) or finish(store.catalog.create(table_maker(name)))
        assert table is not None
        tables.append(table)
    return store, tables[0], tables[1]


def transact(store: EmbeddedStore, steps: list[TransactionStep], mark: IdempotencyToken | None = None) -> Transacted:
    """Run one transaction; fails if it suspends."""
    return finish(store.transact(steps, mark))


def token_rows(store: EmbeddedStore) -> tuple[int, int]:
    """The numbers of token rows and of the rows that order tokens by age."""
    counts = [sum(1 for _ in scan_prefix(store.engine, p)) for p in (layout.TOKEN_PREFIX, layout.TOKEN_EXPIRY_PREFIX)]
    return counts[0], counts[1]


def test_rows_of_several_tables_change_in_one_commit() -> None:
    store, one, two = make()
    transact(store, [TransactionStep(one, A, write(row_of(5)))])
    position = store.position()
    done = transact(
        store,
        [
            TransactionStep(one, A, write(None)),
            TransactionStep(one, B, write(row_of(7))),
            TransactionStep(two, A, write(row_of(9))),
            TransactionStep(two, B, lambda old: old),
        ],
    )
    assert store.position() == position + 1
    assert [(change.table.name, change.old, change.new) for change in done.changes] == [
        ("one", row_of(5), None), ("one", None, row_of(7)), ("two", None, row_of(9)), ("two", None, None),
    ]  # fmt: skip
    assert statistics_of(store, one.source_id) == Statistics(1, 7)
    assert statistics_of(store, two.source_id) == Statistics(1, 9)
    assert finish(store.snapshot_get([(one, A), (one, B), (two, A)], 10**6)) == [None, row_of(7), row_of(9)]
    store.close_now()


def test_refusals_are_collected_and_nothing_is_done() -> None:
    store, one, two = make()
    position = store.position()
    with pytest.raises(TransactionRefused) as caught:
        transact(
            store,
            [
                TransactionStep(one, A, write(row_of(5))),
                TransactionStep(one, None, refuse),
                TransactionStep(two, A, refuse),
            ],
            token("t"),
        )
    assert [type(reason) for reason in caught.value.reasons] == [
        type(None), ConditionalCheckFailedException, ConditionalCheckFailedException,
    ]  # fmt: skip
    assert store.position() == position
    assert finish(store.snapshot_get([(one, A)], 10**6)) == [None]
    assert token_rows(store) == (0, 0)
    large = [TransactionStep(one, Key(b"%02d" % number), write(row_of(400_000))) for number in range(11)]
    with pytest.raises(ValidationException, match="4MB"):
        transact(store, large)
    assert store.position() == position
    with pytest.raises(TransactionRefused):
        transact(store, [*large, TransactionStep(one, A, refuse)])
    store.close_now()


def test_a_plan_that_fails_otherwise_fails_the_call() -> None:
    store, one, _ = make()

    def plan(_: Row | None) -> Row | None:
        raise AssertionError("ours")

    with pytest.raises(AssertionError, match="ours"):
        transact(store, [TransactionStep(one, A, refuse), TransactionStep(one, B, plan)])
    store.close_now()


def test_only_looking_commits_nothing_but_its_token() -> None:
    store, one, _ = make()
    position = store.position()
    transact(store, [TransactionStep(one, A, lambda old: old)])
    assert store.position() == position
    transact(store, [TransactionStep(one, A, lambda old: old)], token("t"))
    assert store.position() == position + 1
    store.close_now()


@pytest.mark.parametrize("reopens", [False, True])
def test_a_token_makes_it_happen_once(tmp_path: Path, reopens: bool) -> None:
    store, one, _ = make(str(tmp_path / "data"))
    transact(store, [TransactionStep(one, A, write(row_of(5)))], token("t"))
    if reopens:
        store.close_now()
        store, one, _ = make(str(tmp_path / "data"))
    replay = transact(store, [TransactionStep(one, A, refuse)], token("t", 599.9))
    assert replay == Transacted((), b"1")
    with pytest.raises(IdempotentParameterMismatchException):
        transact(store, [TransactionStep(one, A, write(None))], token("t", 1.0, b"e" * 16))
    assert finish(store.snapshot_get([(one, A)], 10**6)) == [row_of(5)]
    done = transact(store, [TransactionStep(one, A, write(None))], token("t", 600.0, b"e" * 16))
    assert [change.new for change in done.changes] == [None]
    assert token_rows(store) == (1, 1)
    store.close_now()


def test_expired_tokens_go_in_passing() -> None:
    store, one, _ = make()
    most = 0
    for number in range(4000):
        transact(store, [TransactionStep(one, A, write(row_of(1 + number % 7)))], token(f"t{number}", float(number)))
        tokens, expiries = token_rows(store) if number % 97 == 0 else (0, 0)
        assert tokens == expiries
        most = max(most, tokens)
    assert 600 <= most <= 640
    for number in range(40):
        transact(store, [TransactionStep(one, A, write(row_of(3)))], token(f"late{number}", 10_000.0 + 14 * number))
    assert token_rows(store) == (40, 40)
    store.close_now()


def test_a_burst_of_tokens_goes_too() -> None:
    store, one, _ = make()
    for number in range(1000):
        transact(store, [TransactionStep(one, A, write(row_of(1)))], token(f"t{number}", 0.0))
    for number in range(40):
        transact(store, [TransactionStep(one, A, write(row_of(1)))], token(f"u{number}", 700.0))
    assert token_rows(store) == (40, 40)
    store.close_now()


# --- the suspending store -----------------------------------------------------------------------------


async def _conflicts(seed: int) -> set[str]:
    """The errors that two transactions, a write and a read of the same row meet in the suspending store."""
    inner = open_store(None, SystemClock(), asyncio.get_running_loop())
    store = SuspendingStore(inner, seed)
    table = await store.catalog.create(table_maker("one"))
    assert table is not None
    heard: set[str] = set()

    async def hear(call: Awaitable[object]) -> None:
        try:
            await call
        except TransactionRefused as refusal:
            assert [type(reason) for reason in refusal.reasons if reason] == [TransactionConflictException]
            heard.add("reasons of a transaction" if len(refusal.reasons) > 1 else "reasons of a read")
        except ApiError as error:
            heard.add(error.code)

    def add(_: Row | None) -> Row:
        return row_of(5)

    steps = [TransactionStep(table, A, add), TransactionStep(table, B, add)]
    others = [TransactionStep(table, A, add), TransactionStep(table, C, add)]
    await asyncio.gather(
        hear(store.transact(steps, token("t"))),
        hear(store.transact(others, token("u"))),
        hear(store.transact(steps, token("t"))),
        hear(store.mutate(table, A, add)),
        hear(store.snapshot_get([(table, A)], 10**6)),
    )
    assert bool(heard) == (store.conflicts > 0 or TransactionInProgressException.__name__ in heard)
    assert not store._ongoing
    assert not store._writing
    await store.close()
    return heard


def test_transactions_and_writes_conflict_by_seed() -> None:
    heard = [asyncio.run(_conflicts(seed)) for seed in range(40)]
    assert set().union(*heard) == {
        "reasons of a transaction",
        "reasons of a read",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
    assert heard == [asyncio.run(_conflicts(seed)) for seed in range(40)]


def test_a_snapshot_ends_behind_the_row_that_exceeds_its_limit() -> None:
    store, one, two = make()
    for table, key, size_bytes in ((one, A, 7), (one, B, 8), (two, A, 9)):
        transact(store, [TransactionStep(table, key, write(row_of(size_bytes)))])
    places = [(one, A), (one, C), (one, B), (two, A)]
    whole: list[Row | None] = [row_of(7), None, row_of(8), row_of(9)]
    for limit_bytes, read in ((24, 4), (23, 4), (15, 4), (14, 3), (7, 3), (6, 1), (0, 1)):
        assert finish(store.snapshot_get(places, limit_bytes)) == whole[:read] + [None] * (4 - read)
    store.close_now()


def test_a_refusal_that_is_kept_holds_no_item() -> None:
    """The traceback of an exception holds its frames, and the frames hold the decoded item."""
    store, one, _ = make()

    def refuse_with_item(row: Row | None) -> Row:
        item = [row]
        raise ConditionalCheckFailedException(str(len(item)))

    with pytest.raises(TransactionRefused) as caught:
        transact(store, [TransactionStep(one, A, refuse_with_item)])
    (reason,) = caught.value.reasons
    assert reason is not None
    assert reason.__traceback__ is None
    assert reason.__context__ is None
    store.close_now()


def test_a_long_transaction_that_refuses_refuses_for_rows_of_one_moment() -> None:
    """The row that an earlier plan saw must not be changed before a later plan runs."""
    store, one, _ = make()
    for key in (A, B):
        transact(store, [TransactionStep(one, key, write(row_of(5, b"old")))])
    seen: list[tuple[bytes, bytes]] = []

    def first(row: Row | None) -> Row:
        if not seen:
            transact(store, [TransactionStep(one, key, write(row_of(5, b"new"))) for key in (A, B)])
            note_way_given()
        seen.append((b"A", bytes(row or b"")[5:]))
        raise ConditionalCheckFailedException("no")

    def second(row: Row | None) -> Row:
        seen.append((b"B", bytes(row or b"")[5:]))
        raise ConditionalCheckFailedException("no")

    with pytest.raises(TransactionRefused):
        transact(store, [TransactionStep(one, A, first), TransactionStep(one, B, second)])
    assert seen == [(b"A", b"old"), (b"B", b"new"), (b"A", b"new"), (b"B", b"new")]
    store.close_now()


@pytest.mark.parametrize("view_type", [None, "NEW_AND_OLD_IMAGES"])
def test_room_for_large_rows_is_made_before_the_commit_and_holds_all_of_it(
    monkeypatch: pytest.MonkeyPatch, view_type: StreamViewType | None
) -> None:
    """A write batch that grows while it is filled copies its content each time, without giving way."""
    rooms: list[int] = []
    written: list[int] = []
    write = draft.Draft.write

    def new_batch(room_bytes: int = 0) -> WriteBatch:
        rooms.append(room_bytes)
        return engine.new_batch(room_bytes)

    def note_and_write(self: draft.Draft) -> None:
        written.append(self.batch.size_in_bytes())
        write(self)

    store = open_store(None, SystemClock(), None)
    make_table = table_maker("large")
    table = finish(
        store.catalog.create(
            lambda table_id: msgspec.structs.replace(make_table(table_id), stream_view_type=view_type, stream_label="s")
        )
    )
    assert table is not None
    row = large_row("x")
    steps = [TransactionStep(table, Key(bytes((16 * place,)) + b"a"), write_of(row)) for place in range(15)]
    monkeypatch.setattr(draft, "new_batch", new_batch)
    monkeypatch.setattr(draft.Draft, "write", note_and_write)
    transact(store, steps)
    assert len(rooms) == len(written) == 1
    assert len(row) * len(steps) <= written[0] <= rooms[0]
    assert rooms[0] <= 1.2 * written[0]
    transact(store, steps[:3])
    assert rooms[1:] == [0], "there is no need for little"
    store.close_now()


def large_row(letter: str) -> Row:
    return encode_row(*check_item({"pk": {"S": "a"}, "sk": {"S": "b"}, "v": {"S": letter * 100_000}}))


def write_of(row: Row) -> Plan:
    """A plan that never writes the same row twice in succession."""
    return lambda old: row if old != row else large_row("y")
