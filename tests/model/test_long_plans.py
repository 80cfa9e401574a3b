"""Many long plans at the same time: no acknowledged write is lost, no transaction is torn, no read sees half of one.

Writers are greenlets, like the server's workers: a plan gives way while it runs, and a seed decides which greenlet
runs next. Rows count their writes.
"""

import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import greenlet
import pytest

from hashrange.items.rows import decode_row, encode_row
from hashrange.items.steps import note_way_given
from hashrange.items.types import Item, Key, Row
from hashrange.items.values import check_item
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, late_entries, open_store
from hashrange.store.interface import TransactionStep
from hashrange.tables.change import Plan
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, statistics_of
from tests.support.seeds import seeds
from tests.unit.store.test_late_entries import entries, indexed, table_of

NAMES = "abcdef"
WRITERS = 6
ROUNDS = 12
TOLD_BYTES_MAX = 4_000_000


class Hub:
    """Runs greenlets in an order given by a seed."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.main = greenlet.getcurrent()
        self.ready: list[greenlet.greenlet] = []

    def give_way(self) -> None:
        """Sometimes let other greenlets run first."""
        if self.chance.random() < 0.6:
            note_way_given()
            self.main.switch()

    def do(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end; other greenlets run whenever it suspends."""
        while True:
            try:
                coroutine.send(None)
            except StopIteration as stop:
                return stop.value
            self.main.switch()

    def run(self, jobs: list[Callable[[], None]]) -> None:
        self.ready = [greenlet.greenlet(job) for job in jobs]
        while self.ready:
            one = self.chance.choice(self.ready)
            one.switch()
            if one.dead:
                self.ready.remove(one)


class Counting:
    """A table whose items count their writes, and the acknowledged writes of each item."""

    def __init__(self, store: EmbeddedStore, hub: Hub) -> None:
        self.store, self.hub, self.chance = store, hub, hub.chance
        self.acknowledged: Counter[str] = Counter()

    def key(self, name: str) -> Key:
        return table_of(self.store).item_key({"pk": {"S": name}, "sk": {"S": "0"}})

    def add(self, name: str) -> Plan:
        """A plan that adds one to an item's count and changes its size and its index entry."""
        g, length = self.chance.choice("xyz"), self.chance.choice([1, 400])

        def plan(old: Row | None) -> Row:
            self.hub.give_way()
            count = 0 if old is None else int(decode_row(old)["n"]["N"])
            item: Item = {
                "pk": {"S": name},
                "sk": {"S": "0"},
                "g": {"S": g},
                "n": {"N": str(count + 1)},
                "pad": {"S": "x" * length},
            }
            self.hub.give_way()
            return encode_row(*check_item(item))

        return plan

    def write(self) -> None:
        """Run one writer."""
        for _ in range(ROUNDS):
            names = self.chance.sample(NAMES, self.chance.randint(1, 4))
            kind = self.chance.random()
            if kind < 0.4:
                self.hub.do(settled(self.store.mutate(table_of(self.store), self.key(names[0]), self.add(names[0]))))
                self.acknowledged[names[0]] += 1
            else:
                steps = [TransactionStep(table_of(self.store), self.key(name), self.add(name)) for name in names]
                self.hub.do(self.store.transact(steps, None))
                self.acknowledged.update(names)

    def write_all(self) -> None:
        """Write only transactions on all items, whose counts must stay equal."""
        for _ in range(ROUNDS):
            steps = [TransactionStep(table_of(self.store), self.key(name), self.add(name)) for name in NAMES]
            self.hub.do(self.store.transact(steps, None))
            self.acknowledged.update(NAMES)

    def read(self, *, are_equal: bool) -> None:
        """Read all items in one snapshot."""
        for _ in range(ROUNDS):
            places = [(table_of(self.store), self.key(name)) for name in NAMES]
            rows = self.hub.do(self.store.snapshot_get(places, TOLD_BYTES_MAX))
            counts = [0 if row is None else int(decode_row(row)["n"]["N"]) for row in rows]
            assert not are_equal or len(set(counts)) == 1
            self.hub.give_way()


@pytest.mark.parametrize("seed", seeds(12, 40))
def test_whoever_writes_together_nothing_is_lost_or_torn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 1500)
    chance = random.Random(seed)
    store = open_store(None, VirtualClock(), None)
    assert finish(store.catalog.create(indexed)) is not None
    hub = Hub(chance)
    world = Counting(store, hub)
    are_equal = seed % 2 == 0
    writers = [world.write_all if are_equal else world.write] * WRITERS
    hub.run([*writers, lambda: world.read(are_equal=are_equal)])
    rows = {name: finish(store.get(table_of(store).source_id, world.key(name), consistent=True)) for name in NAMES}
    counts = {name: int(decode_row(row)["n"]["N"]) for name, row in rows.items() if row is not None}
    assert counts == dict(world.acknowledged)
    assert entries(store) == [len(counts)] * len(table_of(store).indexes)
    assert statistics_of(store, table_of(store).source_id).item_count == len(counts)
    assert not store._claims.rows
    store.close_now()
