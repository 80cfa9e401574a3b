"""What do stale reads know of writes? Each that goes through the front of the store is noted before its commit, so that
nothing reads what is new without what was before.
"""

from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from hashrange.errors import ConditionalCheckFailedException
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault, Faults, checked
from hashrange.faults.fault_step import FaultStep
from hashrange.faults.remembered import StaleRows
from hashrange.items import steps
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.types import Item, Key, Row
from hashrange.items.values import check_item
from hashrange.soon import settled
from hashrange.store.embedded import late_entries, open_store
from hashrange.store.front import in_front_of
from hashrange.store.interface import Payer, Store, TransactionRefused, TransactionStep
from hashrange.tables.change import Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.read_spans import scan_span
from tests.support.clocks import VirtualClock
from tests.support.fronted import Fronted
from tests.support.samples import finish, row_of, table_maker
from tests.support.stores import as_distributed
from tests.unit.store.test_late_entries import LARGE, LATE_BYTES, SMALL, begin, end, indexed, item_of, write

STALE_SECONDS = 60.0


def refuse_to_mark(call: Any, fault: Fault) -> None:
    """No request of these tests meets a fault as a whole."""
    raise AssertionError(fault)


class World:
    """A store, and its front, whose reads are stale."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.meter: Payer = None
        """That of the request that writes; None: none does."""
        self.embedded = open_store(None, self.clock, None)
        self.notes: list[tuple[float, list[tuple[bytes, Row | None, Row | None]]]] = []
        """Time and changes of each note; those that change nothing are left out."""
        faults = Faults((Fault("stale-read", seconds=STALE_SECONDS),), 0)
        drawing = Drawing(checked(faults.faults, 0), self.clock)
        self.step = FaultStep(self.embedded, drawing, self.clock, refuse_to_mark, find_noted=lambda: self.stale)
        self.front = self.in_front_of(self.embedded)

    def in_front_of(self, inner: Store) -> Store:
        return in_front_of(inner, [self.step])

    @property
    def stale(self) -> StaleRows:
        assert self.step.stale is not None
        return self.step.stale

    def create(self, make: Any) -> OpenTable:
        table = finish(self.embedded.catalog.create(make))
        assert table is not None
        return table


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World()
    noted = StaleRows.note

    def note(stale: StaleRows, changes: Any, now_seconds: float) -> None:
        changed = [(one.key, one.old, one.new) for one in changes if one.old != one.new]
        if changed:
            world.notes.append((now_seconds, changed))
        noted(stale, changes, now_seconds)

    monkeypatch.setattr(StaleRows, "note", note)
    yield world
    world.embedded.close_now()


def putting(number: int | None) -> Plan:
    """A plan that replaces the row by that of a number, or deletes it."""
    return lambda _: None if number is None else row_of(number)


def put(world: World, table: OpenTable, key: bytes, number: int | None) -> None:
    finish(world.front.mutate(table, Key(key), putting(number), None, world.meter))


def steps_of(table: OpenTable, keys: bytes, plan: Plan) -> list[TransactionStep]:
    return [TransactionStep(table, Key(bytes([key])), plan) for key in keys]


@pytest.mark.parametrize("operation", [None, "PutItem"])
def test_each_write_is_noted_once_with_what_it_changes(world: World, operation: str | None) -> None:
    world.meter = None if operation is None else Fronted(operation).meter
    table, other = world.create(table_maker("t")), world.create(table_maker("other"))
    put(world, table, b"a", 1)
    put(world, table, b"a", 1)  # changes nothing
    put(world, table, b"a", 2)
    finish(world.front.transact(steps_of(table, b"abc", putting(2)), None, None, world.meter))
    put(world, table, b"a", None)
    put(world, other, b"d", 1)
    assert [changes for _, changes in world.notes] == [
        [(b"a", None, row_of(1))],
        [(b"a", row_of(1), row_of(2))],
        [(b"b", None, row_of(2)), (b"c", None, row_of(2))],
        [(b"a", row_of(2), None)],
        [(b"d", None, row_of(1))],
    ]


def test_what_is_refused_is_not_noted(world: World) -> None:
    table = world.create(table_maker("t"))

    def refuse(_: Row | None) -> Row | None:
        raise ConditionalCheckFailedException("no")

    with pytest.raises(ConditionalCheckFailedException):
        finish(world.front.mutate(table, Key(b"a"), refuse))
    for place in range(3):
        plans = steps_of(table, b"abc", putting(1))
        plans[place] = plans[place]._replace(plan=refuse)
        with pytest.raises(TransactionRefused):
            finish(world.front.transact(plans, None))
    assert world.notes == []


def test_a_transaction_is_of_one_moment(world: World) -> None:
    """However long its planning takes, a read as of any moment sees all of it or nothing."""
    table = world.create(table_maker("t"))

    def plan(_: Row | None) -> Row:
        world.clock.advance(1)
        return row_of(1)

    before_seconds = world.clock.service_time()
    finish(world.front.transact(steps_of(table, b"abc", plan), None))
    ((at_seconds, changes),) = world.notes
    assert at_seconds == pytest.approx(before_seconds, abs=0.5)
    assert len(changes) == 3


@pytest.mark.parametrize("seed", range(5))
def test_plans_that_are_called_again_are_noted_again(world: World, seed: int) -> None:
    """As over a store whose commits lose races: what is noted twice is as true as what is noted once."""
    table = world.create(table_maker("t"))
    front = world.in_front_of(as_distributed(world.embedded, seed))

    def do(soon: Any) -> None:
        world.clock.advance(1)
        end(settled(soon), 1000)

    for number in range(1, 5):
        do(front.transact(steps_of(table, b"abc", putting(number)), None))
        do(front.mutate(table, Key(b"a"), putting(10 + number)))
    moments = sorted({at_seconds for at_seconds, _ in world.notes})
    now = {key: finish(world.embedded.get(table.source_id, Key(key), consistent=True)) for key in (b"a", b"b")}
    seen = [
        {key: world.stale.row(table.source_id, Key(key), row, moment - 0.1) for key, row in now.items()}
        for moment in moments
    ]
    expected: list[dict[bytes, Row | None]] = [{b"a": None, b"b": None}]
    for number in range(1, 5):
        expected += [
            {b"a": row_of(number), b"b": row_of(number)},
            {b"a": row_of(10 + number), b"b": row_of(number)},
        ]
    assert [one for place, one in enumerate(seen) if place == 0 or one != seen[place - 1]] == expected[:-1]
    assert now == expected[-1]


# --- writes that take longer ----------------------------------------------------------------------


def put_item(world: World, table: OpenTable, item: Item) -> Coroutine[Any, Any, Any]:
    row = encode_row(*check_item(item))
    return settled(world.front.mutate(table, table.item_key(item), lambda _: row))


def seen(world: World, source_id: bytes) -> list[str]:
    """What a read of all rows of a table or index shows of their attribute `g`."""
    meter = Fronted("Scan").meter
    page = end(settled(world.front.page(source_id, scan_span(None, None), 10, 100_000, meter, consistent=False)))
    return [decode_row(row)["g"]["S"] for row in page.rows]


@pytest.mark.parametrize("turns", range(1, 5))
def test_an_item_whose_entries_come_late_is_seen_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """Its commit takes place some turns before the write returns, or fails."""
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", LATE_BYTES)
    table = world.create(indexed)
    local = table.indexes[-1].source_id
    end(write(world.embedded, "a", "one", SMALL))
    world.clock.advance(2 * STALE_SECONDS)
    writing = put_item(world, table, item_of("a", "two", LARGE))
    begin(writing, turns)
    committed = finish(world.embedded.page(table.source_id, scan_span(None, None), 10, 100_000, consistent=True))
    assert [decode_row(row)["g"] for row in committed.rows] == [{"S": "two"}]
    assert (seen(world, table.source_id), seen(world, local)) == (["one"], ["one"])
    if turns == 1:
        writing.close()
    else:
        end(writing)
    assert (seen(world, table.source_id), seen(world, local)) == (["one"], ["one"])
    world.clock.advance(STALE_SECONDS)
    assert seen(world, table.source_id) == ["two"]


def test_a_write_that_was_overtaken_is_seen_as_it_was_committed(world: World) -> None:
    table = world.create(table_maker("t"))
    put(world, table, b"a", 1)
    world.clock.advance(2 * STALE_SECONDS)
    calls: list[Row | None] = []

    def plan(old: Row | None) -> Row:
        calls.append(old)
        if len(calls) == 1:
            steps.note_way_given()
            put(world, table, b"a", 2)
            world.clock.advance(10)
        return row_of(3)

    end(settled(world.front.mutate(table, Key(b"a"), plan)))
    assert calls == [row_of(1), row_of(2)]
    now_seconds = world.clock.service_time()
    was = [world.stale.row(table.source_id, Key(b"a"), row_of(3), now_seconds - seconds) for seconds in (11, 5, -1)]
    assert was == [row_of(1), row_of(2), row_of(3)]


def test_so_is_a_transaction_of_which_another_row_has_changed(world: World) -> None:
    table = world.create(table_maker("t"))
    for key in (b"a", b"b"):
        put(world, table, key, 1)
    world.clock.advance(2 * STALE_SECONDS)
    calls: list[Row | None] = []

    def plan(old: Row | None) -> Row:
        calls.append(old)
        if len(calls) == 2:
            steps.note_way_given()
            put(world, table, b"b", 2)
            world.clock.advance(10)
        return row_of(3)

    end(world.front.transact(steps_of(table, b"ab", plan), None))
    assert calls == [row_of(1), row_of(1), row_of(1), row_of(2)]
    five_seconds_ago = world.clock.service_time() - 5
    was = [world.stale.row(table.source_id, Key(key), row_of(3), five_seconds_ago) for key in (b"a", b"b")]
    assert was == [row_of(1), row_of(2)]
