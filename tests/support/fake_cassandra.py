"""A stand-in for a cluster of Apache Cassandra: what each statement of `cql.py` does, in memory and in one step.

It is linearisable, so it finds what is wrong in the store, not what is wrong in the use of Cassandra: for that there
are the tests over real nodes. `Chances` decides by a seed who waits for how long, and which replies are lost.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from hashrange.errors import StorageBusy
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.session import CqlStatement, OutcomeLost
from tests.support.clocks import VirtualClock

Row = tuple[Any, ...]


class Slot(msgspec.Struct):
    """A partition of `slots`."""

    head: list[Any] = msgspec.field(default_factory=lambda: [None] * 6)
    """version, batch, counts, locked, unlocked, is_closed."""
    rows: dict[tuple[int, bytes], bytes] = {}


class FakeCluster:
    """The content of a cluster."""

    def __init__(self) -> None:
        self.slots: dict[tuple[int, int], Slot] = {}
        self.entries: dict[tuple[bytes, int], dict[bytes, tuple[int, bytes | None]]] = {}
        """TableIndex and slot → key → timestamp and value."""
        self.dropped: dict[tuple[bytes, int], int] = {}
        self.catalog: dict[int, bytes] = {}
        self.catalog_head: list[Any] = [None, None, None]
        self.transactions: dict[bytes, list[Any]] = {}
        """attempt, state, digest, report, places, until_ms, expires_ms."""
        self.sent: list[str] = []
        """All statements."""

    def slot(self, table_id: int, slot: int) -> Slot:
        """A partition of `slots`."""
        return self.slots.setdefault((table_id, slot), Slot())

    # --- reading ----------------------------------------------------------------------------------

    def read(self, text: str, values: Sequence[Any]) -> list[Row]:  # noqa: C901 - one branch for each statement
        """The rows that a statement returns; plain writes return none."""
        if text == cql.READ_HEAD:
            slot = self.slots.get((values[0], values[1]))
            return [] if slot is None else [(*values, *slot.head)]
        if text in (cql.READ_ROW, cql.READ_ROW_AND_LOCK, cql.READ_ROWS, cql.READ_SLICE, cql.READ_SLICE_BACK):
            slot = self.slots.get((values[0], values[1]), Slot())
            state = tuple(slot.head[3:])
            if text == cql.READ_ROW:
                row = slot.rows.get((values[2], values[3]))
                return [] if row is None else [(row,)]
            if text == cql.READ_ROW_AND_LOCK:
                both = [(kind, slot.rows.get((kind, values[2]))) for kind in (-4, 0)]
                return [(kind, row, slot.head[5]) for kind, row in both if row is not None]
            if text == cql.READ_ROWS:
                found = [(key, slot.rows.get((values[2], key))) for key in sorted(set(values[3]))]
                return [one for one in found if one[1] is not None]
            _, _, kind, lower, upper, limit = values
            keys = sorted(key for of, key in slot.rows if of == kind and lower <= key < upper)
            if text == cql.READ_SLICE_BACK:
                keys.reverse()
            return [(key, slot.rows[kind, key], *state) for key in keys[:limit]]
        if text in (cql.READ_ENTRIES, cql.READ_ENTRIES_BACK):
            source, slot_number, lower, upper, limit = values
            held = self.entries.get((source, slot_number), {})
            keys = sorted(key for key, (_, value) in held.items() if value is not None and lower <= key < upper)
            if text == cql.READ_ENTRIES_BACK:
                keys.reverse()
            return [(key, held[key][1]) for key in keys[:limit]]
        if text == cql.PUT_ENTRY:
            source, slot_number, key, value, at = values
            self._put_entry(source, slot_number, key, value, at)
            return []
        if text == cql.DELETE_ENTRY:
            at, source, slot_number, key = values
            self._put_entry(source, slot_number, key, None, at)
            return []
        if text == cql.DROP_ENTRIES:
            at, source, slot_number = values
            self.dropped[source, slot_number] = at
            self.entries.pop((source, slot_number), None)
            return []
        if text == cql.READ_CATALOG_HEAD:
            return [] if self.catalog_head[0] is None else [(0, *self.catalog_head)]
        if text == cql.READ_CATALOG:
            return sorted(self.catalog.items())
        if text == cql.READ_TRANSACTION:
            record = self.transactions.get(values[0])
            return [] if record is None else [tuple(record)]
        if text == cql.READ_TRANSACTIONS:
            ids = sorted(self.transactions)
            after, limit = values
            return [(place, one, *self.transactions[one]) for place, one in enumerate(ids) if place > after][:limit]
        raise AssertionError(text)

    def _put_entry(self, source: bytes, slot: int, key: bytes, value: bytes | None, at: int) -> None:
        held = self.entries.setdefault((source, slot), {})
        former_at, former = held.get(key, (-1, b""))
        is_later = at > former_at or (at == former_at and former is not None and (value is None or value > former))
        if at > self.dropped.get((source, slot), -1) and is_later:
            held[key] = at, value

    # --- conditional writes -----------------------------------------------------------------------

    def decide(self, statements: Sequence[CqlStatement]) -> bool:  # noqa: C901 - as above
        """Carry out a conditional write; False if its condition is false."""
        text, values = statements[0]
        if text in (cql.ADVANCE_SLOT, cql.BEGIN_SLOT):
            *head, table_id, slot_number = values if text == cql.BEGIN_SLOT else values[:-1]
            slot = self.slot(table_id, slot_number)
            if slot.head[0] != (None if text == cql.BEGIN_SLOT else values[-1]):
                return False
            slot.head = head
            for one, of in statements[1:]:
                self._write(slot, one, of)
            return True
        if text in (cql.ADVANCE_CATALOG, cql.BEGIN_CATALOG):
            if self.catalog_head[0] != (None if text == cql.BEGIN_CATALOG else values[-1]):
                return False
            self.catalog_head = list(values[:3])
            for one, of in statements[1:]:
                if one == cql.PUT_TABLE:
                    self.catalog[of[0]] = of[1]
                else:
                    assert one == cql.DELETE_TABLE
                    self.catalog.pop(of[0], None)
            return True
        assert len(statements) == 1
        if text == cql.BEGIN_TRANSACTION:
            transaction, attempt, state, digest, places, until_ms, expires_ms = values
            if transaction in self.transactions:
                return False
            self.transactions[transaction] = [attempt, state, digest, None, places, until_ms, expires_ms]
            return True
        if text == cql.DECIDE:
            state, report, transaction, attempt, former = values
            record = self.transactions.get(transaction)
            if record is None or record[:2] != [attempt, former]:
                return False
            record[1], record[3] = state, report
            return True
        assert text == cql.FORGET_TRANSACTION
        transaction, attempt, state = values
        record = self.transactions.get(transaction)
        if record is None or record[:2] != [attempt, state]:
            return False
        del self.transactions[transaction]
        return True

    def _write(self, slot: Slot, text: str, values: Sequence[Any]) -> None:
        if text == cql.PUT_ROW:
            _, _, kind, key, value = values
            slot.rows[kind, key] = value
        elif text == cql.DELETE_ROW:
            slot.rows.pop((values[2], values[3]), None)
        elif text == cql.DELETE_RANGE:
            _, _, kind, lower, upper = values
            for place in [one for one in slot.rows if one[0] == kind and lower <= one[1] < upper]:
                del slot.rows[place]
        else:
            assert text == cql.DELETE_KIND
            slot.rows = {place: row for place, row in slot.rows.items() if not values[2] <= place[0] <= values[3]}


class Chances:
    """What befalls requests, by a seed."""

    def __init__(self, seed: int, clock: VirtualClock, *, lost: float = 0.0, failed: float = 0.0) -> None:
        """`lost`: share of conditional writes whose replies are lost, before, behind, or long before they take place;
        `failed`: share of reads that fail.
        """
        self._numbers = random.Random(seed)
        self.clock = clock
        self._lost = lost
        self._failed = failed

    async def wait(self) -> None:
        """Let others run a few times, during some milliseconds."""
        for _ in range(self._numbers.randrange(4)):
            getattr(self.clock, "advance_all", lambda _: None)(0.0005)
            await asyncio.sleep(0)

    def loses(self) -> str | None:
        """Whether a write gets `lost`, or its reply `behind` it, or the reply long before it is carried out: `late`."""
        if self._numbers.random() >= self._lost:
            return None
        return self._numbers.choice(("lost", "behind", "late"))

    def fails(self) -> bool:
        """Whether a read fails."""
        return self._numbers.random() < self._failed


class Calm(Chances):
    """Nothing is lost, and time passes by itself."""

    def __init__(self) -> None:
        super().__init__(0, VirtualClock())

    async def wait(self) -> None:
        """Let others run once."""
        await asyncio.sleep(0)


class FakeSession:
    """What `Session` is, over a FakeCluster."""

    def __init__(self, cluster: FakeCluster, chances: Chances, place: str = "cassandra://fake/tests") -> None:
        self.cluster = cluster
        self.place = place
        self._chances = chances
        self.before: Callable[[Sequence[CqlStatement]], None] = lambda _statements: None
        """Called before each conditional write; may raise."""
        self._late: set[asyncio.Task[None]] = set()

    async def execute(self, text: str, *values: Any, level: Any = None) -> list[Row]:
        """See `Session.execute`."""
        self.cluster.sent.append(text)
        await self._chances.wait()
        if self._chances.fails():
            raise StorageBusy("a read failed on purpose")
        found = self.cluster.read(text, values)
        await self._chances.wait()
        return found

    async def decide(self, *statements: CqlStatement) -> bool:
        """See `Session.decide`."""
        self.cluster.sent += [text for text, _ in statements]
        await self._chances.wait()
        self.before(statements)
        lost = self._chances.loses()
        if lost == "late":
            self._late.add(task := asyncio.ensure_future(self._decide_late(statements)))
            task.add_done_callback(self._late.discard)
        if lost in ("lost", "late"):
            raise OutcomeLost
        is_done = self.cluster.decide(statements)
        await self._chances.wait()
        if lost == "behind":
            raise OutcomeLost
        return is_done

    async def pause(self, seconds: float) -> None:
        """See `Session.pause`."""
        if isinstance(self._chances, Calm):
            await asyncio.sleep(seconds)
            return
        until_seconds = self._chances.clock.monotonic() + seconds
        while self._chances.clock.monotonic() < until_seconds:
            await self._chances.wait()

    async def _decide_late(self, statements: Sequence[CqlStatement]) -> None:
        for _ in range(8):
            await self._chances.wait()
        self.cluster.decide(statements)

    async def close(self) -> None:
        """Wait for what is late."""
        await asyncio.gather(*self._late)
