"""How does a write become a commit? Read, plan, derive, and one batch, with nothing else of the loop in between.

A plan that takes long may give way (`hashrange.steps`); then what it was made for is looked at again before the batch is written.
"""

from collections.abc import Sequence
from typing import Protocol

from hashrange.errors import ApiError
from hashrange.items.types import Item, Key, Row
from hashrange.steps import gave_way
from hashrange.store.embedded.backfill import Backfills
from hashrange.store.embedded.catalog import existing
from hashrange.store.embedded.claims import Claim, Claims
from hashrange.store.embedded.engine import Engine, new_batch
from hashrange.store.embedded.item_collections import ItemCollections
from hashrange.store.embedded.outbox import Outbox
from hashrange.store.embedded.tokens import Tokens
from hashrange.store.embedded.workplace import Workplace
from hashrange.store.interface import Check, Step, Token, Transacted, TransactionRefused
from hashrange.store.steps import plan_steps
from hashrange.tables.change import Change, Plan
from hashrange.tables.derive import changes_statistics, statistics_deltas
from hashrange.tables.entries import derive_entry_writes
from hashrange.tables.schema import Table


class WritingStore(Workplace, Protocol):
    """What writes need of their store."""

    tokens: Tokens
    building: Backfills
    outbox: Outbox


class Writes:
    """Single writes and transactions of a store."""

    def __init__(self, store: WritingStore, collections: ItemCollections) -> None:
        self._store = store
        self._collections = collections
        self._claims = Claims()

    async def mutate(self, table: Table, key: Key, plan: Plan, item: Item | None = None) -> Change:
        """Replace the row at `key` by `plan(old row)`; a row that stays the same is not written.

        Suspends when the engine is stalled, and then reads and plans again; so does a long plan that gave way while another
        write changed what it was made for.
        """
        engine_key = table.source + key
        current = self._store.catalog.by_id.get
        attempt = 0
        claim: Claim | None = None
        try:
            while True:
                if self._claims.rows and claim is None:
                    await self._claims.others_done((engine_key,))
                ways_given = gave_way()
                stored = current(table.table_id)
                if stored is not table:
                    table = existing(stored)
                engine = self._store.engine
                try:
                    old = self._store.reads.row_to_replace(engine, engine_key)
                except Exception as error:
                    raise self._store.fail(error) from error
                new = plan(old)
                if new == old:
                    return Change(table, key, old, new)
                entries = derive_entry_writes(table, key, old, new, item) if table.indexes else ()
                if gave_way() != ways_given and not self._still_holds(engine, ((table, engine_key, old),)):
                    claim = claim or await self._claims.claim((engine_key,))
                    continue
                change = Change(table, key, old, new, entries)
                try:
                    if change.entries or changes_statistics(old, new):
                        batch = new_batch()
                        if table.indexes:
                            self._collections.count(self._store.engine, batch, change)
                        self._write_changes(batch, (change,))
                    else:
                        self._store.engine.put(engine_key, new)
                        self._store.reads.written(engine_key, old, new)
                except ApiError:
                    raise
                except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                    await self._store.wait_out_stall(error, attempt)
                    attempt += 1
                    continue
                self._store.committed()
                return change
        finally:
            if claim is not None:
                claim.release()

    async def transact(self, steps: Sequence[Step], token: Token | None, check: Check) -> Transacted:
        """Replace the rows of all steps in one commit, or none. Suspends as `mutate` does, and then starts again."""
        attempt = 0
        claim: Claim | None = None
        engine_keys = [table.source + key for table, key, _ in steps if key is not None]
        try:
            while True:
                if self._claims.rows and claim is None:
                    await self._claims.others_done(engine_keys)
                ways_given, engine = gave_way(), self._store.engine
                report, rows = self._read_for(steps, token)
                if report is not None:
                    return Transacted((), report)
                current = self._store.catalog.by_id.get
                steps = [step._replace(table=existing(current(step.table.table_id))) for step in steps]
                changes = plan_steps(steps, rows)
                check(changes)
                written = [change for change in changes if change.new != change.old]
                if token is None and not written:
                    return Transacted(changes)
                if gave_way() != ways_given and not self._still_hold(engine, changes, token):
                    claim = claim or await self._claims.claim(engine_keys)
                    continue
                try:
                    batch = new_batch()
                    self._collections.count_all(self._store.engine, batch, changes)
                    if token is not None:
                        self._store.tokens.add(self._store.engine, batch, token, changes)
                    self._write_changes(batch, written)
                except TransactionRefused:
                    raise
                except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                    await self._store.wait_out_stall(error, attempt)
                    attempt += 1
                    continue
                self._store.tokens.committed()
                self._store.committed()
                return Transacted(changes)
        finally:
            if claim is not None:
                claim.release()

    def _read_for(self, steps: Sequence[Step], token: Token | None) -> tuple[bytes | None, list[Row | None]]:
        """What a transaction begins with: the report of its token's first use, or the rows of all its steps."""
        try:
            report = None if token is None else self._store.tokens.replayed_report(self._store.engine, token)
            if report is not None:
                return report, []
            get, engine = self._store.reads.row_to_replace, self._store.engine
            return None, [None if key is None else get(engine, table.source + key) for table, key, _ in steps]
        except ApiError:
            raise
        except Exception as error:
            raise self._store.fail(error) from error

    def _still_hold(self, engine: Engine, changes: Sequence[Change], token: Token | None) -> bool:
        """The same for a transaction, whose token nobody must have used meanwhile."""
        places = [(change.table, change.table.source + change.key, change.old) for change in changes]
        return self._still_holds(engine, places) and (
            token is None or self._store.tokens.replayed_report(self._store.engine, token) is None
        )

    def _still_holds(self, engine: Engine, places: Sequence[tuple[Table, bytes, Row | None]]) -> bool:
        """Is what was read before a plan gave way true now? The engine, the tables, and the row at each engine key."""
        if self._store.engine is not engine:
            return False
        current, row = self._store.catalog.by_id.get, self._store.reads.row_to_replace
        try:
            return all(
                current(table.table_id) is table and row(engine, engine_key) == old for table, engine_key, old in places
            )
        except Exception as error:
            raise self._store.fail(error) from error

    def _write_changes(self, batch: Engine, changes: Sequence[Change]) -> None:
        """Write rows, index entries and the new figures of all their sources, with what stands in the batch."""
        changes = planned = self._store.building.maintained(changes)
        if self._store.outbox.is_used:
            changes = self._store.outbox.divert(batch, planned)
        put, delete = batch.put, batch.delete
        for table, key, _, new, entries in changes:
            if new is None:
                delete(table.source + key)
            else:
                put(table.source + key, new)
            for source, before, after in entries:
                if before is not None and (after is None or after.key != before.key):
                    delete(source.source + before.key)
                if after is not None:
                    put(source.source + after.key, after.row)
        self._store.write_batch(batch, statistics_deltas(changes))
        self._store.reads.changed(changes)
        if changes is not planned:
            self._store.outbox.diverted()
