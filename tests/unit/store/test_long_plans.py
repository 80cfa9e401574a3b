"""Plans that give way: other writes in between are noticed before the commit,
and a plan that lost once does not lose again.
"""

import weakref
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from hashrange.errors import IdempotentParameterMismatchException, ResourceNotFoundException
from hashrange.items import steps
from hashrange.items.row_layout import is_packed, row_size_bytes
from hashrange.items.rows import encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.steps import note_way_given
from hashrange.items.types import Item, Key, Row
from hashrange.soon import Soon, settled
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.interface import IdempotencyToken, TransactionStep
from hashrange.tables.change import Change, Plan, Planned
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table, TimeToLive
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker

A, B = Key(b"a"), Key(b"b")
Meanwhile = Callable[[], None]


def put(store: EmbeddedStore, table: OpenTable, key: Key, row: Row | None) -> None:
    finish(store.mutate(table, key, lambda _: row))


def get(store: EmbeddedStore, table: OpenTable, key: Key) -> Row | None:
    return finish(store.get(table.source_id, key, consistent=True))


class LongPlan:
    """A plan that appends to the row and gives way; each call runs the next function of `meanwhile`."""

    def __init__(self, *meanwhile: Meanwhile) -> None:
        self.meanwhile = list(meanwhile)
        self.seen: list[Row | None] = []

    def __call__(self, old: Row | None) -> Row:
        self.seen.append(old)
        if self.meanwhile:
            self.meanwhile.pop(0)()
            note_way_given()
        return Row((row_of(10, b"") if old is None else old) + b"+")


def test_a_row_that_changed_is_planned_again(store: EmbeddedStore, table: OpenTable) -> None:
    put(store, table, A, row_of(10, b"one"))
    plan = LongPlan(lambda: put(store, table, A, row_of(10, b"two")))
    change = finish(store.mutate(table, A, plan))
    assert plan.seen == [row_of(10, b"one"), row_of(10, b"two")]
    assert (change.old, change.new) == (row_of(10, b"two"), row_of(10, b"two+"))
    assert get(store, table, A) == row_of(10, b"two+")


def test_a_row_that_stayed_is_not_planned_again(store: EmbeddedStore, table: OpenTable) -> None:
    put(store, table, A, row_of(10, b"one"))
    plan = LongPlan(lambda: put(store, table, B, row_of(10, b"two")))
    finish(store.mutate(table, A, plan))
    assert plan.seen == [row_of(10, b"one")]
    assert get(store, table, A) == row_of(10, b"one+")


def test_who_waits_to_plan_again_keeps_nothing_of_the_first_plan(store: EmbeddedStore, table: OpenTable) -> None:
    """If 100 writers waiting to update one large item each kept its decoded members, they would hold 2.4 GB."""

    class Decoded(dict[str, Any]):
        """An item that a weak reference can watch."""

    made: list[weakref.ref[Decoded]] = []

    def plan(old: Row | None) -> Planned:
        item = Decoded(pk={"S": "a"}, sk={"S": "b"})
        made.append(weakref.ref(item))
        if len(made) == 1:
            put(store, table, A, row_of(10, b"two"))
            claims.take([table.source_id + A])  # another writer's claim
            note_way_given()
        return Planned(row_of(10, b"new"), item, item)

    claims = store._claims
    put(store, table, A, row_of(10, b"one"))
    write = Other(lambda: store.mutate(table, A, plan))
    write.step()
    assert [one() for one in made] == [None]
    claims.release([table.source_id + A])
    write.step()
    assert write.is_done
    assert len(made) == 2


def packed_and_plain() -> tuple[Row, Row]:
    """Rows of two items of one size; to compare them, the first has to be unpacked."""
    key: Item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    packed: Item = key | {"l": {"L": [{"N": "1E-130"}] * 4_000}, "s": {"S": ""}}
    plain: Item = key | {"l": {"L": []}, "s": {"S": "x" * 16_000}}
    size = item_size_bytes(packed)
    plain["s"] = {"S": "x" * (16_000 + size - item_size_bytes(plain))}
    rows = encode_row(packed, size), encode_row(plain, item_size_bytes(plain))
    assert row_size_bytes(rows[0]) == row_size_bytes(rows[1])
    assert is_packed(rows[0])
    assert not is_packed(rows[1])
    return rows


@pytest.mark.parametrize("kind", ["write", "transaction"])
def test_another_write_may_come_wherever_a_write_gives_way(
    kind: str, store: EmbeddedStore, table: OpenTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the written row is compared with the old one, to find what follows from the write."""
    enabled = replace(table.schema, time_to_live=TimeToLive("gone", "ENABLED", 0.0))
    assert finish(store.catalog.replace(table.schema, enabled))
    packed, plain = packed_and_plain()
    other = row_of(row_size_bytes(plain), b"{}")
    ways_given = 0
    other_comes_at = 0
    seen: list[Row | None] = []

    def give_way(_: int) -> None:
        nonlocal ways_given
        ways_given += 1
        if ways_given == other_comes_at:
            with monkeypatch.context() as undisturbed:
                undisturbed.setattr(steps, "_queue", None)
                put(store, table, A, other)
            note_way_given()

    def plan(old: Row | None) -> Row:
        seen.append(old)
        return plain

    def write() -> Change:
        if kind == "write":
            return finish(store.mutate(table, A, plan))
        return finish(store.transact([TransactionStep(table, A, plan)], None)).changes[0]

    monkeypatch.setattr(steps, "_queue", give_way)
    put(store, table, A, packed)
    ways_given = 0
    write()
    assert ways_given
    for other_comes_at in range(1, ways_given + 1):  # noqa: B007 - `give_way` reads it
        monkeypatch.setattr(steps, "_queue", None)
        put(store, table, A, packed)
        monkeypatch.setattr(steps, "_queue", give_way)
        ways_given = 0
        assert write().old == other
        assert seen[-1] == other


def test_a_deleted_table_gets_no_row(store: EmbeddedStore, table: OpenTable) -> None:
    with pytest.raises(ResourceNotFoundException):
        finish(store.mutate(table, A, LongPlan(lambda: delete(store, table))))
    with pytest.raises(ResourceNotFoundException):
        finish(store.mutate(table, A, LongPlan()))


def delete(store: EmbeddedStore, table: OpenTable) -> None:
    assert finish(store.catalog.delete(table.schema))


class Other:
    """Another writer, run one step at a time."""

    def __init__(self, write: Callable[[], Soon[object]]) -> None:
        """Start the write and run its first step."""

        async def writing() -> object:
            return await settled(write())

        self.write = writing()
        self.is_done = False

    def step(self) -> None:
        """Run until the write waits again."""
        try:
            assert self.write.send(None) is None
        except StopIteration:
            self.is_done = True


def test_a_plan_that_lost_once_does_not_lose_again(store: EmbeddedStore, table: OpenTable) -> None:
    put(store, table, A, row_of(10, b"one"))
    others = [
        Other(lambda: store.mutate(table, A, lambda _: row_of(10, b"three"))),
        Other(
            lambda: store.transact(
                [TransactionStep(table, B, lambda _: row_of(10)), TransactionStep(table, A, lambda row: row)], None
            )
        ),
        Other(lambda: store.mutate(table, B, lambda _: row_of(10, b"elsewhere"))),
    ]

    def interfere() -> None:
        for other in others:
            other.step()
        assert [other.is_done for other in others] == [False, False, True]

    plan = LongPlan(lambda: put(store, table, A, row_of(10, b"two")), interfere)
    change = finish(store.mutate(table, A, plan))
    assert change.new == row_of(10, b"two+")
    for other in others[:2]:
        other.step()
    assert [other.is_done for other in others] == [True, True, True]
    assert get(store, table, A) == row_of(10, b"three")


def test_a_refusal_lets_the_others_go_on(store: EmbeddedStore, table: OpenTable) -> None:
    def refuse(old: Row | None) -> Row:
        if old == row_of(10, b"two"):
            raise ResourceNotFoundException("no")
        put(store, table, A, row_of(10, b"two"))
        note_way_given()
        return row_of(10, b"lost")

    with pytest.raises(ResourceNotFoundException, match="no"):
        finish(store.mutate(table, A, refuse))
    put(store, table, A, row_of(10, b"three"))
    assert get(store, table, A) == row_of(10, b"three")


def both(table: OpenTable, plan: Plan) -> list[TransactionStep]:
    return [TransactionStep(table, A, plan), TransactionStep(table, B, lambda _: row_of(10, b"b"))]


@pytest.mark.parametrize("changed", [A, B])
def test_a_transaction_looks_at_all_its_rows_again(store: EmbeddedStore, table: OpenTable, changed: Key) -> None:
    plan = LongPlan(lambda: put(store, table, changed, row_of(10, b"two")))
    transacted = finish(store.transact(both(table, plan), None))
    assert len(plan.seen) == 2
    assert [change.old for change in transacted.changes] == [
        row_of(10, b"two") if key == changed else None for key in (A, B)
    ]
    assert get(store, table, B) == row_of(10, b"b")


def test_a_transaction_that_lost_once_does_not_lose_again(store: EmbeddedStore, table: OpenTable) -> None:
    other = Other(lambda: store.mutate(table, B, lambda _: row_of(10, b"late")))

    def interfere() -> None:
        other.step()
        assert not other.is_done

    plan = LongPlan(lambda: put(store, table, A, row_of(10, b"two")), interfere)
    finish(store.transact(both(table, plan), None))
    other.step()
    assert other.is_done
    assert (get(store, table, A), get(store, table, B)) == (row_of(10, b"two+"), row_of(10, b"late"))


def token(digest: bytes) -> IdempotencyToken:
    return IdempotencyToken(b"token", digest, 0.0, 600.0, lambda changes: b"%d" % len(changes))


def test_a_token_that_was_used_meanwhile_makes_a_replay(store: EmbeddedStore, table: OpenTable) -> None:
    first = token(b"d" * 16)
    plan = LongPlan(
        lambda: assert_new(finish(store.transact([TransactionStep(table, B, lambda _: row_of(10))], first)))
    )
    transacted = finish(store.transact([TransactionStep(table, A, plan)], first))
    assert transacted.report == b"1"
    assert get(store, table, A) is None


def test_a_token_that_was_used_for_something_else_meanwhile_is_refused(store: EmbeddedStore, table: OpenTable) -> None:
    other = [TransactionStep(table, B, lambda _: row_of(10))]
    plan = LongPlan(lambda: assert_new(finish(store.transact(other, token(b"e" * 16)))))
    with pytest.raises(IdempotentParameterMismatchException):
        finish(store.transact([TransactionStep(table, A, plan)], token(b"d" * 16)))
    assert get(store, table, A) is None


def assert_new(transacted: Any) -> None:
    assert transacted.report is None


class OtherEngine:
    """The same engine behind another object, as after a reopening."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def test_an_engine_that_was_replaced_meanwhile_is_read_again(store: EmbeddedStore, table: OpenTable) -> None:
    engine = store.engine
    plan = LongPlan(lambda: store.site.use(OtherEngine(engine)))
    finish(store.mutate(table, A, plan))
    assert len(plan.seen) == 2
    store.site.use(engine)
    assert get(store, table, A) == row_of(10, b"+")


def test_a_plan_does_not_pass_by_a_claim_that_came_meanwhile(store: EmbeddedStore, table: OpenTable) -> None:
    """The holder of a claim relies on the row staying unchanged, so a plan that began before must see the claim."""
    claims = store._claims
    plan = LongPlan(lambda: claims.take([table.source_id + A]))
    writing = settled(store.mutate(table, A, plan))
    for _ in range(3):
        writing.send(None)
    assert get(store, table, A) is None
    claims.release([table.source_id + A])
    with pytest.raises(StopIteration):
        writing.send(None)
    assert (len(plan.seen), get(store, table, A)) == (2, row_of(10, b"+"))


def test_a_transaction_does_not_pass_by_a_claim_that_came_meanwhile(store: EmbeddedStore, table: OpenTable) -> None:
    claims = store._claims
    plan = LongPlan(lambda: claims.take([table.source_id + B]))
    transacting = store.transact([TransactionStep(table, A, plan), TransactionStep(table, B, LongPlan())], None)
    for _ in range(3):
        transacting.send(None)
    assert (get(store, table, A), get(store, table, B)) == (None, None)
    claims.release([table.source_id + B])
    with pytest.raises(StopIteration):
        transacting.send(None)
    assert (len(plan.seen), get(store, table, A), get(store, table, B)) == (2, row_of(10, b"+"), row_of(10, b"+"))


# --- commits after a plan --------------------------------------------------------------------------


def test_nothing_gives_way_between_a_plan_and_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another write of the same row could otherwise commit with the same position and sequence number."""
    store = open_store(None, VirtualClock(), None)
    streamed: dict[str, Any] = {"stream_view_type": "KEYS_ONLY", "stream_label": "2026-10-01T12:00:00.123"}
    table = finish(store.catalog.create(lambda number: replace(table_maker("t")(number), **streamed)))
    assert table is not None
    item: Item = {"pk": {"S": "a"}, "sk": {"S": "a"}, "text": {"S": "x" * 300_000}}
    row = encode_row(item, item_size_bytes(item))
    key = table.item_key(item)
    looks: list[str] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append("a look"))

    def delete(old: Row | None) -> None:
        looks.clear()

    require_calm = store._require_calm

    def look_last(*arguments: Any, **named: Any) -> None:
        require_calm(*arguments, **named)
        looks.clear()

    finish(store.mutate(table, key, lambda old: row))
    finish(store.mutate(table, key, delete))
    assert looks == []
    finish(store.mutate(table, key, lambda old: row))
    monkeypatch.setattr(store, "_require_calm", look_last)
    finish(store.transact([TransactionStep(table, key, delete)], None))
    assert looks == []
    (stream,) = store.streams.of(table.schema.account, table.schema.region)
    (shard,) = store.streams.shards(stream)
    assert len(finish(store.streams.records(shard, 0, 10, 1 << 20)).records) == 4
    store.close_now()


def test_what_makes_any_other_commit_does_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(None, VirtualClock(), None)
    looks: list[str] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append("a look"))

    def make(table_id: int) -> Table:
        steps.look()
        return table_maker("t")(table_id)

    finish(store.catalog.create(make))
    assert looks == []
    steps.look()
    assert looks == ["a look"]
    store.close_now()
