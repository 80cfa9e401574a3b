"""How are expired items deleted? Those that are due are read from their table's queue, and deleted in groups:
several small items per commit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from hashrange.errors import ResourceNotFoundException, StorageBusy, ValidationException
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.types import Key
from hashrange.soon import settled
from hashrange.store.embedded import layout
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.expiries import Due, Expiries, is_left, item_key_of, plan_expiry
from hashrange.store.embedded.open_tables import OpenTables
from hashrange.store.embedded.ordered_queue import Queued
from hashrange.store.embedded.site import Site
from hashrange.store.interface import WHOLE_LEASE, Lease, SeeChanges, TransactionStep
from hashrange.store.pause import PAUSE
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable

T = TypeVar("T")

EXPIRED_ROWS = 64
"""Rows of a table's queue of expiries that `expire_now` reads at once."""
GROUP_ROWS = 16
"""Small expired items that are deleted in one commit, which takes some 0.2 ms; then other requests run."""
GROUP_ITEM_BYTES_MAX = 4096
"""The items of a table count as small if their average size is at most this."""


class ExpiredItems:
    """Deletes the expired items of one store: `expire` a limited number at a time, for a job; `expire_now` all."""

    def __init__(self, site: Site, opened: OpenTables, commits: Commits) -> None:
        self._site = site
        self._opened = opened
        self._commits = commits
        self._expiries = next((one for one in opened.participants if isinstance(one, Expiries)), None)
        self._see: SeeChanges | None = None

    def on_expired(self, see: SeeChanges | None) -> None:
        """Implements `Maintenance.on_expired`."""
        self._see = see

    async def expire(self, lease: Lease, limit_rows: int) -> float | None:
        """Implements `Maintenance.expire`.

        Suspends after each group of items, in a stall, while another write claims an item, and while queues with too
        many deleted rows are compacted.
        """
        assert lease == WHOLE_LEASE
        expiries = self._expiries
        if expiries is None:
            return None
        due = await self._look_at_queues(partial(expiries.due, limit_rows=limit_rows))
        if not isinstance(due, Due):
            return due
        left: list[Queued] = []
        for group in self._groups(due):
            if not self._opened.is_current(due.table):
                return 0.0
            try:
                changes = await self._delete(due, list(group))
            except ResourceNotFoundException:
                return 0.0
            left += [
                queued
                for queued, change in zip(group.values(), changes, strict=True)
                if is_left(change, queued, due.attribute)
            ]
            await PAUSE
        await self._commits.commit(lambda draft: expiries.taken(draft, due, left))
        expiries.passed(due)
        return 0.0

    async def expire_now(self, lease: Lease, table: OpenTable | None) -> int:
        """Implements `Maintenance.expire_now`. Suspends in the same cases as `expire`."""
        assert lease == WHOLE_LEASE
        expiries = self._expiries
        if expiries is None:
            return 0
        now_seconds = self._site.clock.service_time()
        sources = expiries.sources() if table is None else [table.source_id]
        return sum([await self._expire_now(expiries, source_id, now_seconds) for source_id in sources])

    async def _expire_now(self, expiries: Expiries, source_id: bytes, now_seconds: float) -> int:
        """Delete one table's items that have expired by `now_seconds`; return how many."""
        deleted = 0
        start = b""
        while True:
            look = partial(
                expiries.expired, source_id=source_id, now_seconds=now_seconds, start=start, limit_rows=EXPIRED_ROWS
            )
            due = await self._look_at_queues(look)
            if due is None:
                return deleted
            for group in self._groups(due):
                if not self._opened.is_current(due.table):
                    break  # the table has changed: the rows of the remaining groups are read again
                with suppress(ResourceNotFoundException):
                    changes = await self._delete(due, list(group))
                    deleted += sum([change.old is not None and change.new is None for change in changes])
                start = list(group.values())[-1].key + b"\x00"
                await PAUSE

    def _groups(self, due: Due) -> Iterator[dict[Key, Queued]]:
        """Groups of rows of the queue, by item key, for one commit each; of one row if items are large or indexed.

        An item may have several rows in the queue; they are in different groups. If the item has expired, the first of
        them deletes it.
        """
        statistics = self._site.statistics.of(due.table.source_id)
        is_small = statistics.size_bytes <= GROUP_ITEM_BYTES_MAX * statistics.item_count and not due.table.indexes
        group: dict[Key, Queued] = {}
        for queued in due.rows:
            key = item_key_of(queued.key)
            if group and (key in group or len(group) == GROUP_ROWS or not is_small):
                yield group
                group = {}
            group[key] = queued
        if group:
            yield group

    async def _delete(self, due: Due, keys: Sequence[Key]) -> Sequence[Change]:
        """Delete the items at `keys` that are still expired: in one commit, or one by one if it would be too large."""
        changes = await self._delete_unseen(due, keys)
        if self._see is not None:
            self._see(changes)
        return changes

    async def _delete_unseen(self, due: Due, keys: Sequence[Key]) -> Sequence[Change]:
        table, plan = due.table, plan_expiry(due)
        if len(keys) > 1:
            with suppress(ValidationException):
                steps = [TransactionStep(table, key, plan) for key in keys]
                return (await self._commits.transact(steps, None, origin="ttl")).changes
        return [await settled(self._commits.mutate(table, key, plan, origin="ttl")) for key in keys]

    async def _look_at_queues(self, look: Callable[[Engine], T]) -> T:
        """The result of `look`, which reads queues of expiries. Raises StorageError.

        If `look` meets too many deleted rows, the queues are compacted, and `look` is called once more.
        """
        for is_last in (False, True):
            try:
                return look(self._site.engine)
            except Exception as error:
                fault = self._site.fail(error)
                if is_last or not isinstance(fault, StorageBusy):
                    raise fault from error
            await self._site.compact(layout.TIME_TO_LIVE_PREFIX, prefix_upper_bound(layout.TIME_TO_LIVE_PREFIX))
        raise AssertionError
