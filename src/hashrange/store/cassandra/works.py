"""What is done in a slot? The works of a `SlotWriter`: to write an item, to carry out a transaction within the slot, to
prepare one over several slots and to apply it, to clear the outbox, and to close the slot.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hashrange.errors import (
    ApiError,
    HashrangeError,
    ItemCollectionSizeLimitExceededException,
    TransactionConflictException,
)
from hashrange.items.types import Key, Row
from hashrange.messages.reads import COLLECTION_TOO_LARGE
from hashrange.messages.transactions import CONFLICT
from hashrange.store.cassandra.layout import COLLECTIONS, ITEMS, Lock
from hashrange.store.cassandra.slot_view import RowPlace, SlotView
from hashrange.store.interface import TransactionRefused, TransactionStep
from hashrange.store.transaction_steps import PlannedSteps, plan_steps
from hashrange.tables.change import Change, Origin, Plan, Planned, collection_growth_bytes, entries_of
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_prefix

ONE_BATCH_BYTES = 1_000_000
"""New rows of a transaction that are written in one batch. With the former rows in the outbox, and entries in local
indexes, a batch may have eight times as much; Cassandra takes half a segment of its commit log, usually 16 MB.
"""


class Locked(HashrangeError):
    """Items that a work needs are locked by transactions, which must be looked at first."""

    def __init__(self, locks: Mapping[Key, Lock]) -> None:
        super().__init__()
        self.locks = locks


class TooMuchForOneBatch(HashrangeError):
    """The rows of a transaction, with what follows from them, may be more than Cassandra takes together."""


def places_of(table: OpenTable, key: Key) -> Collection[RowPlace]:
    """Kinds and keys of the rows that a write of an item reads."""
    if table.has_item_collections:
        return (ITEMS, key), (COLLECTIONS, partition_prefix(key))
    return ((ITEMS, key),)


def places_of_steps(steps: Sequence[TransactionStep]) -> Collection[RowPlace]:
    """Kinds and keys of the rows that steps of a transaction read."""
    return [place for table, key, _ in steps if key is not None for place in places_of(table, key)]


def require_unlocked(view: SlotView, keys: Collection[Key]) -> None:
    """Raise Locked if an item is locked."""
    locks = {key: lock for key in keys if (lock := view.lock(key)) is not None}
    if locks:
        raise Locked(locks)


class ReplaceItem:
    """Replaces one row by what a plan makes of it."""

    def __init__(self, table: OpenTable, key: Key, plan: Plan, origin: Origin, limit_bytes: int) -> None:
        """`limit_bytes`: of an item collection."""
        self.places = places_of(table, key)
        self._table, self._key, self._plan, self._origin = table, key, plan, origin
        self._limit_bytes = limit_bytes

    def run(self, view: SlotView) -> Change:
        """The change. Raises what the plan raises, Locked, ItemCollectionSizeLimitExceededException."""
        table, key = self._table, self._key
        require_unlocked(view, (key,))
        old = view.row(key)
        planned = self._plan(old)
        if not isinstance(planned, Planned):
            planned = Planned(planned)
        if planned.new == old:
            return Change(table, key, old, old)
        entries = entries_of(planned, table, key, old) if table.entry_sources else ()
        change = Change(table, key, old, planned.new, entries, self._origin)
        if True in _too_large(view, (change,), self._limit_bytes):
            raise ItemCollectionSizeLimitExceededException(COLLECTION_TOO_LARGE)
        view.write(change)
        return change


class Transact:
    """Carries out a transaction whose items are all in the slot."""

    def __init__(self, steps: Sequence[TransactionStep], limit_bytes: int) -> None:
        self.places = places_of_steps(steps)
        self._steps = steps
        self._limit_bytes = limit_bytes

    def run(self, view: SlotView) -> Sequence[Change]:
        """The changes. Raises what `Store.transact` raises, Locked, TooMuchForOneBatch."""
        changes, commit_bytes, _ = planned_steps(view, self._steps, self._limit_bytes)
        if commit_bytes > ONE_BATCH_BYTES:
            raise TooMuchForOneBatch
        for change in changes:
            if change.new != change.old:
                view.write(change)
        return changes


class PrepareItems:
    """Locks the items of a transaction that are in the slot, each with the row that is to replace it."""

    def __init__(self, steps: Sequence[TransactionStep], limit_bytes: int, transaction: bytes, attempt: bytes) -> None:
        self.places = places_of_steps(steps)
        self._steps = steps
        self._limit_bytes = limit_bytes
        self._id = transaction, attempt

    def run(self, view: SlotView) -> PlannedSteps:
        """What is to be done. Raises what `Transact.run` raises."""
        planned = planned_steps(view, self._steps, self._limit_bytes)
        for change in planned.changes:
            view.put_lock(change.key, Lock(*self._id, change.new))
        return planned


class Finish:
    """Ends what a transaction has prepared for an item: replaces the row if it is committed, and unlocks it."""

    def __init__(self, table: OpenTable, key: Key, attempt: bytes, *, is_committed: bool) -> None:
        self.places = places_of(table, key)
        self._table, self._key, self._attempt = table, key, attempt
        self._is_committed = is_committed

    def run(self, view: SlotView) -> None:
        """Do so unless somebody has done it."""
        table, key = self._table, self._key
        lock = view.lock(key)
        if lock is None or lock.attempt != self._attempt:
            return
        view.remove_lock(key)
        old = view.row(key)
        if self._is_committed and lock.row != old:
            entries = entries_of(lock.row, table, key, old) if table.entry_sources else ()
            view.write(Change(table, key, old, lock.row, entries))


class ClearOutbox:
    """Deletes changes from the outbox whose entries have been written."""

    places: Collection[RowPlace] = ()

    def __init__(self, versions: Sequence[int]) -> None:
        """`versions`: those to which the changes have led, with all other changes of the same batches."""
        self._versions = versions

    def run(self, view: SlotView) -> None:
        """Delete them."""
        for version in self._versions:
            view.forget_outbox(version)


class Close:
    """Ends a slot whose table is deleted."""

    places: Collection[RowPlace] = ()

    def run(self, view: SlotView) -> None:
        """Delete all rows, and refuse what comes later."""
        view.close()


def planned_steps(view: SlotView, steps: Sequence[TransactionStep], limit_bytes: int) -> PlannedSteps:
    """What is to be done by a transaction's steps in one slot. Raises what `plan_steps` raises, and Locked."""
    require_unlocked(view, [key for _, key, _ in steps if key is not None])
    rows: list[Row | None] = [None if key is None else view.row(key) for _, key, _ in steps]
    planned = plan_steps(steps, rows)
    too_large = _too_large(view, planned.changes, limit_bytes)
    if True in too_large:
        raise TransactionRefused(
            [ItemCollectionSizeLimitExceededException(COLLECTION_TOO_LARGE) if one else None for one in too_large]
        )
    return planned


def _too_large(view: SlotView, changes: Sequence[Change], limit_bytes: int) -> list[bool]:
    """For each change, whether it enlarges an item collection that all of them together enlarge beyond the limit."""
    grown: dict[Any, int] = {}
    growths = []
    for change in changes:
        growth = collection_growth_bytes(change) if change.table.has_item_collections else 0
        prefix = partition_prefix(change.key)
        grown[prefix] = grown.get(prefix, 0) + growth
        growths.append((prefix, growth))
    return [
        growth > 0 and grown[prefix] > 0 and view.collection_bytes(prefix) + grown[prefix] > limit_bytes
        for prefix, growth in growths
    ]


def conflict() -> ApiError:
    """The refusal of a write to an item of a running transaction."""
    return TransactionConflictException(CONFLICT)
