"""Which items expire next? A queue for each table with time to live: an empty row for each item that expires,
by time; `upkeep.py` deletes the items.

    prefix ‖ source id of the table ‖ second (8) ‖ key of the item

The commit that gives an item an expiry time adds its row, and the commit that removes the time deletes the row; a write
that keeps the time adds nothing. A walk fills a new queue. An item that has already expired when it is written is
queued for the next second, because the queue may be consumed up to now; that row stays when the item is written again.
So a row only says when to look at an item; whether the item is deleted depends on the expiry time found. Why:
docs/adr/0030-time-to-live.md.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from hashrange.items.rows import decode_row
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine, WriteBatch
from hashrange.store.embedded.ordered_queue import OrderedQueue, Queued
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.tables.change import Change, Plan, Planned
from hashrange.tables.expiry import expiry_seconds, is_too_old, number_of_item, number_reader
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import table_id_of

SECOND_BYTES = 8
DECODED_BYTES_MAX = 512
"""Items whose rows have at most this many bytes are decoded whole to check their expiry: decoding takes no longer than
reading the expiry number twice, once for the plan and once for the participant.
"""
SWEPT_ROWS = 10_000
"""After this many rows of a queue were consumed one by one, its consumed part is deleted once more, as a range."""
QUEUES_TOGETHER = 64
"""Queues that are read before other work has its turn, if no row is due: 30 µs for each queue."""
EXPIRED_ROWS = 64
"""Rows of a queue that `expired` reads at most."""
AT_ONCE = -math.inf
NEVER = math.inf


class Due(NamedTuple):
    """Rows of one table's queue of expiries whose items are to be checked, and deleted if they have expired."""

    table: OpenTable
    attribute: str
    rows: list[Queued]
    until_seconds: float
    """Service time by which items must have expired to be deleted."""
    now_seconds: float


class _TableExpiries(msgspec.Struct):
    """The queue of expiries of one table."""

    queue: OrderedQueue
    next_seconds: float = AT_ONCE
    """No row of the queue is for a second before this one (service time)."""
    consumed_rows: int = 0
    """Rows consumed since the queue's consumed part was last deleted as a range."""


def _queue_of(source_id: bytes) -> _TableExpiries:
    return _TableExpiries(OrderedQueue(layout.TIME_TO_LIVE_PREFIX + source_id))


class Expiries(Participant):
    """Participant that keeps all queues of expiries."""

    reads_items = True

    def __init__(self, terms: Terms) -> None:
        self._clock = terms.clock
        self._delay_seconds = terms.options.ttl_delay_seconds
        self._find_table = terms.find_table
        self._has_passed = terms.has_passed
        self._wake = terms.wake
        self._by_source: dict[bytes, _TableExpiries] = {}
        """Source id of a table → its queue of expiries."""
        self._awaited_seconds = NEVER
        """Second (service time) of the queue row that the expiry job waits for; an earlier row wakes the job."""
        self._followed: tuple[Change, str | None, str | None] | None = None
        """The change for which `follows` last returned True, with the expiry numbers before and after it, for `add`."""

    def read(self, engine: Engine, tables: Sequence[Table]) -> dict[bytes, _TableExpiries]:
        """Find the tables that have a queue of expiries; `due` reads the queues' rows."""
        return {table.source_id: _queue_of(table.source_id) for table in tables if has_queue(table)}

    def load(self, engine: Engine, stored: dict[bytes, _TableExpiries]) -> None:
        """Take over the queues."""
        self._by_source = stored
        self._awaited_seconds = NEVER

    def content(self) -> Sequence[dict[Any, Any]]:
        """The queues."""
        return (self._by_source,)

    def takes_part(self, table: Table) -> bool:
        """True for tables whose time to live is ENABLED or ENABLING."""
        return has_queue(table)

    # --- rows that come and go ------------------------------------------------------------------

    def follows(self, change: Change, engine: Engine) -> bool:
        """True if the change alters the item's expiry number, the number in its time to live attribute.

        1.5 µs for a small item.
        """
        before, after = _numbers(change)
        if before == after:
            return False
        self._followed = (change, before, after)
        return True

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Queue items' new expiry times and remove former ones, except where a walk has not passed the item.

        1.5 µs for a small item whose time stays the same.
        """
        for change in changes:
            self.add_row(draft.batch, change, draft.afterwards)

    def add_row(self, batch: WriteBatch, change: Change, afterwards: list[Callable[[], object]]) -> None:
        """As `add`, for one change."""
        followed, self._followed = self._followed, None
        if followed is not None and followed[0] is change:
            _, before, after = followed
        else:
            before, after = _numbers(change)
        source_id, key = change.table.source_id, change.key
        if before == after or not self._has_passed(source_id, key):
            return
        expiries = self._by_source[source_id]
        if (former_seconds := expiry_seconds(before)) is not None:
            expiries.queue.delete(batch, queue_key(former_seconds, key))
        self._put(batch, afterwards, expiries, key, after)

    def _put(
        self,
        batch: WriteBatch,
        afterwards: list[Callable[[], object]],
        expiries: _TableExpiries,
        key: Key,
        number: str | None,
    ) -> None:
        """Add an item with this expiry number to its table's queue; at the next second if it has expired.

        An item that never expires (`number` is None or no valid time), or expired over five years ago, is not added.
        """
        expires_seconds = expiry_seconds(number)
        if expires_seconds is None:
            return
        now_seconds = self._clock.service_time()
        due_seconds = expires_seconds
        if expires_seconds <= now_seconds:
            if is_too_old(expires_seconds, now_seconds):
                return
            due_seconds = int(now_seconds) + 1
        expiries.queue.put(batch, queue_key(due_seconds, key), b"")
        if due_seconds < expiries.next_seconds or due_seconds < self._awaited_seconds:
            afterwards.append(partial(self._added, expiries, due_seconds))

    def _added(self, expiries: _TableExpiries, due_seconds: int) -> None:
        expiries.next_seconds = min(expiries.next_seconds, due_seconds)
        if due_seconds < self._awaited_seconds:
            self._awaited_seconds = due_seconds
            self._wake()

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """Begin a table's queue of expiries when time to live is enabled; delete it when time to live is disabled, or
        the table is deleted.
        """
        had_queue, keeps_queue = old is not None and has_queue(old), new is not None and has_queue(new)
        table = new or old
        assert table is not None
        source_id = table.source_id
        if had_queue and not keeps_queue:
            self._by_source[source_id].queue.clear_all(draft)
            draft.afterwards.append(lambda: self._ended(source_id))
        elif keeps_queue:
            draft.afterwards.append(lambda: self._changed(source_id))

    def _ended(self, source_id: bytes) -> None:
        del self._by_source[source_id]

    def _changed(self, source_id: bytes) -> None:
        expiries = self._by_source.setdefault(source_id, _queue_of(source_id))
        expiries.next_seconds = self._awaited_seconds = AT_ONCE
        self._wake()

    # --- the walk -------------------------------------------------------------------------------

    def walks(self, table: Table) -> Sequence[bytes]:
        """The table's own source id, which stands for its queue of expiries, while that is being filled (ENABLING)."""
        return [table.source_id] if is_enabling(table) else []

    def derive(self, table: OpenTable, source_id: bytes, key: Key, row: Row) -> tuple[Key, str | None]:
        """The item's key, and its expiry number or None."""
        return key, number_reader(_attribute_of(table))(row)

    def fill(self, draft: Draft, table: OpenTable, source_id: bytes, derived: Sequence[tuple[Key, str | None]]) -> None:
        """Add those of the walk's next items that expire to the queue of expiries."""
        expiries = self._by_source[source_id]
        for key, number in derived:
            self._put(draft.batch, draft.afterwards, expiries, key, number)

    def filled(self, table: Table, source_id: bytes) -> Table:
        """The table's description with its time to live ENABLED."""
        assert table.time_to_live is not None
        return msgspec.structs.replace(table, time_to_live=msgspec.structs.replace(table.time_to_live, state="ENABLED"))

    # --- what is due ----------------------------------------------------------------------------

    def due(self, limit_rows: int, engine: Engine) -> Due | float | None:
        """The first due rows of one queue (the tables take turns); if no row is due, the seconds until one may be.

        Returns 0 once QUEUES_TOGETHER queues were read that have no due row; None if all queues are known to be empty.
        Ignores queues that are still being filled. Raises the engine's bare exceptions.
        """
        now_seconds = self._clock.service_time()
        until_seconds = now_seconds - self._delay_seconds
        looked = 0
        for source_id, expiries in self._by_source.items():
            if expiries.next_seconds > until_seconds:
                continue
            table = self._enabled(source_id)
            if table is None:
                continue
            if looked == QUEUES_TOGETHER:
                return 0.0
            looked += 1
            first = expiries.queue.first(engine, limit_rows)
            rows = [one for one in first if second_of(one.key) <= until_seconds]
            if rows:
                # This table moves to the end, so that the next call begins with the other tables.
                self._by_source[source_id] = self._by_source.pop(source_id)
                return Due(table, _attribute_of(table), rows, until_seconds, now_seconds)
            expiries.next_seconds = second_of(first[0].key) if first else NEVER
            future = queue_key(int(now_seconds) + 1, b"")
            expiries.queue.begin_at(min(first[0].key, future) if first else future)
        waiting = [
            expiries.next_seconds for expiries in self._by_source.values() if expiries.next_seconds > until_seconds
        ]
        self._awaited_seconds = min(waiting, default=NEVER)
        return None if self._awaited_seconds == NEVER else self._awaited_seconds - until_seconds

    def _enabled(self, source_id: bytes) -> OpenTable | None:
        """The table with this source id; None if there is none, or its time to live is not ENABLED."""
        table = self._find_table(table_id_of(source_id))
        time_to_live = None if table is None else table.schema.time_to_live
        return None if time_to_live is None or time_to_live.state != "ENABLED" else table

    def sources(self) -> list[bytes]:
        """Source ids of the tables with a queue of expiries."""
        return list(self._by_source)

    def expired(self, source_id: bytes, now_seconds: float, start: bytes, engine: Engine) -> Due | None:
        """The next rows of a queue, from key `start` on, for items that may have expired by `now_seconds`.

        Unlike `due`, does not wait `ttl_delay_seconds` after an expiry. None if there are no more rows, or time to live
        is not ENABLED. Rows for the next second are included, because items that had expired when they were written are
        queued for it. Deletes no rows: those that are not deleted with their items stay until they are due. Raises the
        engine's bare exceptions.
        """
        expiries, table = self._by_source.get(source_id), self._enabled(source_id)
        if expiries is None or table is None:
            return None
        rows = expiries.queue.first(engine, EXPIRED_ROWS, before=queue_key(int(now_seconds) + 2, b""), start=start)
        return Due(table, _attribute_of(table), rows, now_seconds, now_seconds) if rows else None

    def taken(self, draft: Draft, due: Due, left: list[Queued]) -> None:
        """After the items of `due` were checked: delete `left`, the rows that were not deleted with their items. Does
        nothing if the table or the engine was replaced meanwhile.
        """
        if not self._is_current(due):
            return
        expiries = self._by_source[due.table.source_id]
        for one in left:
            expiries.queue.delete(draft.batch, one.key)
        expiries.consumed_rows += len(due.rows)
        if expiries.consumed_rows >= SWEPT_ROWS:
            expiries.consumed_rows = 0
            expiries.queue.sweep(draft)

    def passed(self, due: Due) -> None:
        """Let the next read of the queue begin after the rows of `due`, which are all deleted."""
        if self._is_current(due):
            self._by_source[due.table.source_id].queue.begin_at(due.rows[-1].key + b"\x00")

    def _is_current(self, due: Due) -> bool:
        """False if the table or the engine was replaced since `due` was read."""
        return self._find_table(due.table.table_id) is due.table


def has_queue(table: Table) -> bool:
    """True if the table's items expire, now or once time to live is ENABLED."""
    return table.time_to_live is not None and table.time_to_live.state != "DISABLED"


def is_enabling(table: Table) -> bool:
    """True while the table's queue of expiries is being filled."""
    return table.time_to_live is not None and table.time_to_live.state == "ENABLING"


def queue_key(due_seconds: int, key: bytes) -> bytes:
    """Key of an item's row in its table's queue of expiries, without the queue's prefix."""
    return due_seconds.to_bytes(SECOND_BYTES, "big") + key


def second_of(key: bytes) -> int:
    """The second (service time) that the row at `key` of a queue of expiries is for."""
    return int.from_bytes(key[:SECOND_BYTES], "big")


def item_key_of(key: bytes) -> Key:
    """The key of the item that the row at `key` of a queue of expiries is for."""
    return Key(key[SECOND_BYTES:])


def plan_expiry(due: Due) -> Plan:
    """A plan that deletes the item if it has expired by `due.until_seconds`, but not more than five years ago;
    otherwise it changes nothing. For a small deleted item the plan also returns the decoded item, so that no
    participant decodes the item again.
    """
    attribute = due.attribute
    read = number_reader(attribute)

    def plan(row: Row | None) -> Planned | Row | None:
        if row is None:
            return None
        item = decode_row(row) if len(row) <= DECODED_BYTES_MAX else None
        expires_seconds = expiry_seconds(read(row) if item is None else number_of_item(item, attribute))
        if expires_seconds is None or expires_seconds > due.until_seconds:
            return row
        return row if is_too_old(expires_seconds, due.now_seconds) else Planned(None, item)

    return plan


def is_left(change: Change, queued: Queued, attribute: str) -> bool:
    """True if row `queued` still exists after `change`: deleting an item deletes only the row at the item's expiry."""
    if change.old is None or change.new is not None:
        return True
    item = change.old_item
    number = number_reader(attribute)(change.old) if item is None else number_of_item(item, attribute)
    return expiry_seconds(number) != second_of(queued.key)


def _attribute_of(table: OpenTable) -> str:
    """Name of the time to live attribute of a table that has one."""
    assert table.expiry_name is not None
    return table.expiry_name


def expiry_of(table: OpenTable, row: Row) -> int | None:
    """When the item of a row expires; None if never. The table has a time to live attribute."""
    return expiry_seconds(number_reader(_attribute_of(table))(row))


def _numbers(change: Change) -> tuple[str | None, str | None]:
    """The expiry numbers of the item before and after a change; None where there is none."""
    name, old, new = change.table.expiry_name, change.old, change.new
    assert name is not None
    before = after = None
    if old is not None:
        item = change.old_item
        before = number_reader(name)(old) if item is None else number_of_item(item, name)
    if new is not None:
        item = change.new_item
        after = number_reader(name)(new) if item is None else number_of_item(item, name)
    return before, after
