"""How does a write become a commit? In stages, the same for items, transactions, tables and jobs;
a write that changes no row makes no commit.

    read        the old rows; of a transaction first its idempotency token
    plan        the new rows; a plan refuses by raising an exception
    derive      the index entries that follow, except those of items that a walk has not reached yet, and the attributes
                of large items that participants read
    refuse      any participant may refuse
    batch       rows, entries, participants' rows and statistics make one draft; a single row that no participant
                follows needs none, and one whose participants all add to its batch (`add_row`) no more than the batch
    write       the whole draft, or nothing; then the commit is counted
    afterwards  update statistics, read cache and participants
    barrier     sync the commit together with other commits; replies about it wait for the sync

Nothing else runs between reading and writing, unless long work, such as a plan, gives way (`hashrange.items.steps`):
then the old rows are checked again, and nothing gives way after that. If they have changed, the plan was overtaken, and
is called again. After a stall all stages repeat.
Why: docs/adr/0024-one-commit.md.
"""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

import msgspec

from hashrange.errors import ApiError, StorageBusy
from hashrange.items.row_layout import LAYOUT, ROW_SIZE, STATISTICS, is_same_item, row_difference, row_size_bytes
from hashrange.items.steps import READ_BYTES_PER_STEP, gave_way, spend, undisturbed
from hashrange.items.types import Key, Row
from hashrange.limits import WRITE_UNIT_BYTES
from hashrange.soon import Soon
from hashrange.store.embedded.claims import Claims
from hashrange.store.embedded.draft import Commit, Draft, batch_for
from hashrange.store.embedded.engine import Engine, small_batch
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.open_tables import StoredTable
from hashrange.store.embedded.participant import Participant
from hashrange.store.embedded.shares import Shares, require_willing, shares_of_transaction
from hashrange.store.embedded.stalls import OPENING_STALLS_MAX, STALL_DELAYS_SECONDS, EngineRefused, wait_out_stall
from hashrange.store.embedded.tokens import StoredToken, Tokens
from hashrange.store.embedded.walks import Walks
from hashrange.store.interface import (
    IdempotencyToken,
    ItemPlaces,
    Payer,
    Transacted,
    TransactionRefused,
    TransactionStep,
)
from hashrange.store.pause import block_thread
from hashrange.store.request_ids import RequestId
from hashrange.store.transaction_steps import plan_steps
from hashrange.tables.change import Change, Origin, Plan, Planned, entries_of, followed_item
from hashrange.tables.open_table import OpenTable

T = TypeVar("T")
ReadRow = Callable[[Engine, bytes], Row | None]
"""Reads a row by its engine key: `ReadCache.row` or `ReadCache.row_to_replace`."""
_begin_undisturbed, _end_undisturbed = undisturbed.add, undisturbed.discard
UNUSED_TIME = 0.0
"""Stands for a commit's service time if no participant needs the time."""


class Overtaken(Exception):
    """Rows, tables or the engine may have changed while a plan or read that depends on them gave way."""


class StoreState(NamedTuple):
    """State of the store when a transaction or a read of many rows began."""

    ways_given: int
    engine: Engine
    """The engine, for a transaction the one to be written."""
    position: int


class Commits:
    """Makes all commits of a store."""

    def __init__(self, site: Site, walks: Walks, tokens: Tokens, claims: Claims) -> None:
        self.site = site
        self._tables = site.tables
        self._walks = walks
        self._tokens = tokens
        self._claims = claims
        self._finish: Callable[[Commit], Coroutine[Any, Any, None]] | None = None
        """`Draft.finish` of the last commit until `_finished` calls it; None: that commit needs no further commits."""

    # --- the three kinds of commit --------------------------------------------------------------

    def mutate(
        self,
        table: OpenTable,
        key: Key,
        plan: Plan,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Soon[Change]:
        """Implements `Store.mutate`; `request_id` is unused, because no reply to a commit is lost here.

        Waits while another write claims the row, the engine stalls, or `Draft.finish` makes further commits.
        """
        reason = None
        if not self._claims.rows:
            try:
                change = self._mutate(table, key, plan, meter, origin, has_claim=False)
            except (EngineRefused, Overtaken) as failed:
                reason = _without_frames(failed)
            else:
                return change if self._finish is None else self._finished(change)
        return self._again(
            (table.source_id + key,),
            lambda has_claim: self._mutate(table, key, plan, meter, origin, has_claim=has_claim),
            reason,
        )

    def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Coroutine[Any, Any, Transacted]:
        """Implements `Store.transact`; `request_id` is unused. Waits in the same cases as `mutate`."""
        places = [None if key is None else table.source_id + key for table, key, _ in steps]
        return self._again(
            [one for one in places if one is not None],
            lambda has_claim: self._transact(steps, places, token, meter, origin, has_claim=has_claim),
        )

    async def snapshot_get(self, places: ItemPlaces, limit_bytes: int, meter: Payer = None) -> list[Row | None]:
        """Implements `Store.snapshot_get`. Waits while another write claims one of the rows."""
        if not self._claims.rows:
            with suppress(Overtaken):
                return self._snapshot(places, limit_bytes, has_claim=False)
        engine_keys = [table.source_id + key for table, key in places]
        return await self._again(
            engine_keys, lambda has_claim: self._snapshot(places, limit_bytes, has_claim=has_claim)
        )

    async def commit(self, make: Callable[[Draft], T]) -> T:
        """Commit the rows that `make` adds to a draft, if any; return its result. Calls `make` again after a stall."""
        return await self._again((), lambda _: self._commit(make))

    async def _again(
        self, places: Sequence[bytes], attempt: Callable[[bool], T], reason: EngineRefused | Overtaken | None = None
    ) -> T:
        """The result of `attempt`, repeated while it raises EngineRefused or Overtaken. Raises StorageError if a
        stall lasts too long, or the engine failed otherwise.

        Calls `attempt(False)`; after Overtaken `attempt(True)`, with the rows `places` (engine keys) claimed.
        `reason`: how an earlier attempt failed.
        """
        stalls = 0
        has_claim = False
        try:
            while True:
                if isinstance(reason, EngineRefused):
                    await wait_out_stall(self.site, reason.error, stalls)
                    stalls += 1
                elif reason is not None and not has_claim:
                    await self._claims.claim(places)
                    has_claim = True
                if not has_claim and self._claims.rows:
                    await self._claims.others_done(places)
                try:
                    made = attempt(has_claim)
                    return made if self._finish is None else await self._finished(made)
                except (EngineRefused, Overtaken) as failed:
                    reason = _without_frames(failed)
        finally:
            if has_claim:
                self._claims.release(places)

    def _finished(self, made: T) -> Coroutine[Any, Any, T]:
        """A coroutine that returns `made` once `Draft.finish` of the last commit is done."""
        finish, self._finish = self._finish, None
        assert finish is not None
        return _behind(finish(self.commit), made)

    def put_changes(self, draft: Draft, table: OpenTable, changes: Sequence[Change]) -> None:
        """Add new rows of a table to the draft of `commit`, with all that follows from them. Raises ApiError,
        EngineRefused; ResourceNotFoundException if the table no longer exists.
        """
        participants = self._tables.existing(table).participants
        if changes:
            draft.changes = changes
            draft.entries = self._walks.passed(changes)
            self._follow(draft, participants, changes)

    def commit_now(self, make: Callable[[Draft], T]) -> T:
        """Like `commit`, while a store opens: a stall blocks the thread. Raises EngineRefused and bare exceptions."""
        for delay_seconds in (*STALL_DELAYS_SECONDS, *repeat(STALL_DELAYS_SECONDS[-1], OPENING_STALLS_MAX)):
            try:
                return self._commit(make)
            except EngineRefused as stalled:
                if not isinstance(self.site.fail(stalled.error), StorageBusy):
                    raise stalled.error from None
            block_thread(delay_seconds)
        return self._commit(make)

    # --- one attempt ----------------------------------------------------------------------------

    def _mutate(
        self, table: OpenTable, key: Key, plan: Plan, meter: Payer, origin: Origin, *, has_claim: bool
    ) -> Change:
        """Try to write one row. 3 µs plus the plan. Raises EngineRefused, Overtaken, and what `mutate` raises."""
        site = self.site
        engine, ways_given = site.engine_to_write(), gave_way()
        table = self._tables.existing(table)
        engine_key = table.source_id + key
        try:
            old = site.reads.row_to_replace(engine, engine_key)
        except Exception as error:
            raise site.fail(error) from error
        planned = plan(old)
        if not isinstance(planned, Planned):
            planned = Planned(planned)
        new = planned.new
        if new == old:
            return Change(table, key, old, new)
        is_followed = False
        if table.participants:
            changes_what = row_difference(old, new)
            old_item, new_item = planned.old_item, planned.new_item
            # `followed_item` leaves items as they are that have shorter rows, which are never packed.
            if table.reads_items and len(old or b"") + len(new or b"") > WRITE_UNIT_BYTES:
                old_item, new_item = followed_item(table, old, old_item), followed_item(table, new, new_item)
            entries = entries_of(planned, table, key, old) if table.entry_sources else ()
            at_seconds = site.clock.service_time() if table.needs_time else UNUSED_TIME
            change = Change(
                table, key, old, new, entries, origin, at_seconds, site.barrier.position + 1, old_item, new_item
            )
            is_followed = changes_what != LAYOUT and (
                table.is_always_followed or changes_what == STATISTICS or self._is_followed(table, change, engine)
            )
        else:
            change = Change(table, key, old, new, (), origin, UNUSED_TIME, site.barrier.position + 1)
        # All that may give way has been done. From here to the commit nothing does.
        if gave_way() != ways_given:
            change = self._still_planned(change, table, engine, has_claim=has_claim)
        if is_followed:
            if table.needs_draft:
                self._write_draft(engine, table, change, meter)
            else:
                self._write_followed(engine, engine_key, table, change, changes_statistics=changes_what == STATISTICS)
        else:
            self._write_alone(engine, engine_key, change)
        return change

    def _still_planned(self, change: Change, table: StoredTable, engine: Engine, *, has_claim: bool) -> Change:
        """The change after its plan gave way, with the position and time of a commit that is made now.

        Raises Overtaken if the row is not as it was planned from, and StorageError.
        """
        site = self.site
        self._require_row(engine, table, table.source_id + change.key, change.old, has_claim=has_claim)
        at_seconds = site.clock.service_time() if table.needs_time else UNUSED_TIME
        return msgspec.structs.replace(change, at_seconds=at_seconds, position=site.barrier.position + 1)

    def _transact(
        self,
        steps: Sequence[TransactionStep],
        places: Sequence[bytes | None],
        token: IdempotencyToken | None,
        meter: Payer,
        origin: Origin,
        *,
        has_claim: bool,
    ) -> Transacted:
        moment = StoreState(gave_way(), self.site.engine_to_write(), self.site.barrier.position)
        former = None if token is None else self._earlier_use(moment.engine, token)
        if former is not None and former.report is not None:
            return Transacted((), former.report)
        current = {table: self._tables.existing(table) for table in {step.table for step in steps}}
        opened = [*current.values()]
        if opened != [*current]:
            steps = [step._replace(table=current[step.table]) for step in steps]
        at_seconds = self.site.clock.service_time() if True in [one.needs_time for one in opened] else UNUSED_TIME
        rows = map(partial(self._row, self.site.reads.row_to_replace, moment.engine), places)
        try:
            changes, commit_bytes, _ = plan_steps(steps, rows, at_seconds, moment.position + 1, origin)
        except (ApiError, TransactionRefused):
            self._require_calm(moment, opened, places, has_claim=has_claim)
            raise
        batch = batch_for(commit_bytes, len(changes))
        to_look_at = enumerate(changes) if any(one.participants for one in opened) else ()
        followed = [number for number, change in to_look_at if not is_same_item(change.old, change.new)]  # may give way
        self._require_calm(moment, opened, places, has_claim=has_claim)
        if token is not None and moment.ways_given != gave_way() and self._earlier_use(moment.engine, token) != former:
            raise Overtaken
        position = self.site.barrier.position + 1
        if position != moment.position + 1:
            changes = [msgspec.structs.replace(change, position=position) for change in changes]
        written = [change for change in changes if change.new != change.old]
        if token is None and not written:
            return Transacted(changes)
        draft = Draft(moment.engine, position, at_seconds, changes, batch, meter)
        with undisturbed:
            shares: Shares = {}
            if followed:
                draft.entries = self._walks.passed(written)
                shares = shares_of_transaction(opened, [changes[number] for number in followed])
            self._follow(draft, tuple(shares), written, shares)
            if token is not None and former is not None:
                try:
                    self._tokens.add(draft, token, former)
                except Exception as error:
                    raise EngineRefused(error) from error
            self._write(draft, written)
        return Transacted(changes)

    def _snapshot(self, places: ItemPlaces, limit_bytes: int, *, has_claim: bool) -> list[Row | None]:
        moment = StoreState(gave_way(), self.site.engine, self.site.barrier.position)
        tables = [one for one in map(self._tables.find, {table.table_id for table, _ in places}) if one is not None]
        rows: list[Row | None] = [None] * len(places)
        read, engine = self.site.reads.row, moment.engine
        for number, (table, key) in enumerate(places):
            row = rows[number] = self._row(read, engine, table.source_id + key)
            if row is not None:
                limit_bytes -= row_size_bytes(row)
                if limit_bytes < 0:
                    break
        self._require_calm(moment, tables, (), has_claim=has_claim)
        return rows

    def _row(self, read: ReadRow, engine: Engine, engine_key: bytes | None) -> Row | None:
        """The row at `engine_key` (None: no row). May give way behind a long row."""
        if engine_key is None:
            return None
        try:
            row = read(engine, engine_key)
        except Exception as error:
            raise self.site.fail(error) from error
        if row is not None and len(row) >= READ_BYTES_PER_STEP:
            spend(len(row) // READ_BYTES_PER_STEP)
        return row

    def _earlier_use(self, engine: Engine, token: IdempotencyToken) -> StoredToken:
        """The token's earlier use, its fields None if there is none.
        Raises IdempotentParameterMismatchException, StorageError.
        """
        try:
            return self._tokens.look(engine, token)
        except ApiError:
            raise
        except Exception as error:
            raise self.site.fail(error) from error

    def _commit(self, make: Callable[[Draft], T]) -> T:
        site = self.site
        draft = Draft(site.engine_to_write(), site.barrier.position + 1, site.clock.service_time())
        with undisturbed:
            made = make(draft)
            if len(draft.batch):
                self._write(draft)
        return made

    # --- has anything changed while a plan gave way? -------------------------------------------

    # A write of one row reads the row again. A transaction, or a read of many rows, checks that nothing was committed
    # meanwhile. If it has claimed its rows (`claims.py`), it checks only that tables and engine are the same, because
    # no other write changes claimed rows: a write that began before the claim finds the claim when it is checked, and
    # is overtaken.

    def _require_row(
        self, engine: Engine, table: OpenTable, engine_key: bytes, old: Row | None, *, has_claim: bool
    ) -> None:
        """Raise Overtaken if engine, table or row changed after they were read, or another write claimed the row.

        `has_claim`: this write has claimed the row. Raises StorageError.
        """
        self._require_unclaimed([engine_key], has_claim=has_claim)
        if self.site.engine is not engine or not self._tables.is_current(table):
            raise Overtaken
        with self.site.failures():
            row = self.site.reads.row_to_replace(engine, engine_key)
        if row != old:
            raise Overtaken

    def _require_calm(
        self, moment: StoreState, tables: Sequence[OpenTable], places: Sequence[bytes | None], *, has_claim: bool
    ) -> None:
        """Raise Overtaken if a commit since `moment`, another write's claim or a new engine may have changed the rows.

        Does nothing if no code gave way since. `places`: engine keys of rows that no other write may have claimed.
        `has_claim`: the caller has claimed its rows, so that a commit counts only if it changed or deleted one of
        `tables`.
        """
        if gave_way() == moment.ways_given:
            return
        self._require_unclaimed(places, has_claim=has_claim)
        if self.site.engine is not moment.engine:
            raise Overtaken
        if self.site.barrier.position == moment.position:
            return
        if not has_claim or not all(self._tables.is_current(table) for table in tables):
            raise Overtaken

    def _require_unclaimed(self, places: Sequence[bytes | None], *, has_claim: bool) -> None:
        """Raise Overtaken if one of these rows is claimed, unless by the caller itself (`has_claim`)."""
        if not has_claim and not self._claims.rows.keys().isdisjoint(places):
            raise Overtaken

    # --- from the changes to the commit ---------------------------------------------------------

    def _is_followed(self, table: StoredTable, change: Change, engine: Engine) -> bool:
        """For a change that leaves item count and size the same: True if a participant would refuse it, or add rows."""
        try:
            for one in table.participants:
                if one.follows(change, engine):
                    return True
        except Exception as error:
            raise self.site.fail(error) from error
        return False

    def _follow(
        self,
        draft: Draft,
        participants: Sequence[Participant],
        written: Sequence[Change],
        shares: Shares | None = None,
    ) -> None:
        """Let participants refuse, then add to the draft the rows of `written` (changes with `old != new`), what they
        change of item counts and sizes, and the rows of participants.

        `shares`: the changes that each participant follows, in a transaction; None: all follow all of `written`, which
        are changes of one table. The draft has their `entries`. Raises ApiError, TransactionRefused, EngineRefused.
        """
        try:
            for participant in participants:
                if participant.may_refuse:
                    changes = written if shares is None else shares[participant]
                    require_willing(participant, draft, changes, is_transaction=shares is not None)
            batch = draft.batch
            for change in written:
                source_id, old, new = change.table.source_id, change.old, change.new
                if new is None:
                    batch.delete(source_id + change.key)
                else:
                    batch.put(source_id + change.key, new)
                draft.count(source_id, old, new)
            for participant in participants:
                participant.add(draft, written if shares is None else shares[participant])
        except (ApiError, TransactionRefused, AssertionError):
            raise
        except Exception as error:
            raise EngineRefused(error) from error

    def _write_draft(self, engine: Engine, table: StoredTable, change: Change, meter: Payer) -> None:
        """Write the change of one row with what participants add, which may refuse it. Raises what `_follow` and
        `_write` raise.
        """
        written = (change,)
        draft = Draft(engine, change.position, change.at_seconds, written, small_batch(), meter, change.entries)
        if self._walks.positions:
            draft.entries = self._walks.passed(written)
        _begin_undisturbed(thread := get_ident())
        try:
            self._follow(draft, table.participants, written)
            self._write(draft, written)
        finally:
            _end_undisturbed(thread)

    def _write_followed(
        self, engine: Engine, engine_key: bytes, table: StoredTable, change: Change, *, changes_statistics: bool
    ) -> None:
        """Write a row with those that participants add. Only if the table needs no draft. Raises EngineRefused."""
        site, old, new = self.site, change.old, change.new
        statistics = None
        afterwards: list[Callable[[], object]] = []
        _begin_undisturbed(thread := get_ident())
        try:
            batch = small_batch()
            if new is None:
                batch.delete(engine_key)
            else:
                batch[engine_key] = new
            for participant in table.participants:
                participant.add_row(batch, change, afterwards)
            if changes_statistics:
                statistics = site.statistics.add_row(batch, table.source_id, old, new)
            engine.write(batch)
        except AssertionError:
            raise
        except Exception as error:
            raise EngineRefused(error) from error
        finally:
            _end_undisturbed(thread)
        site.barrier.commit()
        if statistics is not None:
            site.statistics.take(table.source_id, statistics)
        site.reads.written(engine_key, old, new)
        site.changed_at[table.table_id] = change.position
        for call in afterwards:
            call()

    def _write_alone(self, engine: Engine, engine_key: bytes, change: Change) -> None:
        """Write a row that no participant follows: by `engine.put`, or with the table's statistics if these change.
        Raises EngineRefused.
        """
        site, table, old, new = self.site, change.table, change.old, change.new
        if old is not None and new is not None and old[ROW_SIZE] == new[ROW_SIZE]:
            try:
                engine.put(engine_key, new)
            except Exception as error:
                raise EngineRefused(error) from error
        else:
            batch = small_batch()
            if new is None:
                batch.delete(engine_key)
            else:
                batch.put(engine_key, new)
            statistics = site.statistics.add_row(batch, table.source_id, old, new)
            try:
                engine.write(batch)
            except Exception as error:
                raise EngineRefused(error) from error
            site.statistics.take(table.source_id, statistics)
        site.reads.written(engine_key, old, new)
        site.barrier.commit()
        site.changed_at[table.table_id] = change.position

    def _write(self, draft: Draft, written: Sequence[Change] = ()) -> None:
        """Write draft with statistics, count the commit, update caches, call its `afterwards`. Raises EngineRefused."""
        site = self.site
        statistics = site.statistics.add(draft) if draft.deltas else None
        try:
            draft.write()
        except Exception as error:
            raise EngineRefused(error) from error
        site.barrier.commit()
        if statistics is not None:
            site.statistics.by_table.update(statistics)
        reads, changed_at, position = site.reads, site.changed_at, draft.position
        for change in written:
            table = change.table
            reads.written(table.source_id + change.key, change.old, change.new)
            changed_at[table.table_id] = position
        if not written:
            if draft.only_of is None:
                site.all_changed_at = position
            else:
                changed_at[draft.only_of] = position
        if draft.touched:
            reads.drop_pages(draft.touched)
        for call in draft.afterwards:
            call()
        self._finish = draft.finish


async def _behind(rest: Coroutine[Any, Any, None], made: T) -> T:
    await rest
    return made


def _without_frames(failed: EngineRefused | Overtaken) -> EngineRefused | Overtaken:
    """Remove the traceback: its frames hold decoded items of up to 50 MB, and a hundred writes may wait to repeat."""
    if isinstance(failed, EngineRefused):
        failed.error.__traceback__ = None
    failed.__context__ = failed.__cause__ = None
    return failed.with_traceback(None)
