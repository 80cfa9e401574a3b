"""What if an eventually consistent read is stale? For tests: a wrapper of a store whose reads sometimes return
the row before its last change.

A seed decides which reads are stale. Only reads of single rows can be stale; pages and snapshots are read from the
inner store.
"""

import random
from collections.abc import Sequence

from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.copying import copying_of
from hashrange.store.interface import IdempotencyToken, Payer, Transacted, TransactionStep, WholeStore
from hashrange.store.request_ids import RequestId
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable
from tests.support.wrapped_stores.wrapped import WrappedStore

STALE_READ_PROBABILITY = 0.25
REMEMBERED_CHANGES_MAX = 64


class StaleReads(WrappedStore):
    """A store whose eventually consistent reads may return old rows;
    all writes to the inner store must go through it.
    """

    def __init__(self, inner: WholeStore, seed: int) -> None:
        super().__init__(inner)
        self._inner = inner
        self._chance = random.Random(seed).random
        self._before: dict[tuple[bytes, Key], Row | None] = {}
        """(source id, key) → the row before its last change."""
        self.stale_reads = 0
        """Number of reads that returned a row other than the current one, for tests."""
        self.catalog, self.copying = inner.catalog, copying_of(inner)
        self.page, self.snapshot_get = inner.page, inner.snapshot_get

    async def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Row | None:
        """The row at `key`; if `consistent` is false, sometimes the row before its last change."""
        row = await settled(self._inner.get(source_id, key, meter, consistent=consistent))
        if consistent or self._chance() >= STALE_READ_PROBABILITY:
            return row
        before = self._before.get((source_id, key), row)
        self.stale_reads += before != row
        return before

    async def mutate(
        self,
        table: OpenTable,
        key: Key,
        plan: Plan,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Change:
        """Write to the inner store; later reads may return the old row."""
        change = await settled(self._inner.mutate(table, key, plan, request_id, meter, origin))
        self._remember(change)
        return change

    async def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
    ) -> Transacted:
        """Transact in the inner store; later reads may return old rows."""
        transacted = await self._inner.transact(steps, token, request_id, meter)
        for change in transacted.changes:
            self._remember(change)
        return transacted

    def _remember(self, change: Change) -> None:
        if change.old == change.new:
            return
        if len(self._before) >= REMEMBERED_CHANGES_MAX:
            self._before.pop(next(iter(self._before)))
        self._before[change.table.source_id, change.key] = change.old
