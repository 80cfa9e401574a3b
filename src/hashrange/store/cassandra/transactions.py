"""How does a transaction change rows of several slots at once? In two phases; a row of `transactions` decides.

    begin     the row is PENDING
    prepare   each slot gets locks, which hold the new rows; a slot may refuse
    decide    the row becomes COMMITTED: at this moment all of it has happened. Or ABORTED
    finish    each slot gets its new rows, and the locks go; behind the reply

Whoever meets a lock asks the row: it finishes what is committed or aborted, and aborts what has been PENDING for too
long, so no server needs another one. A lock whose row is missing, or is that of another attempt, counts as aborted:
rows are only deleted once all locks are gone. A transaction within one slot and without a token needs none of it.

An idempotency token is such a row, too, under its name, which stays until it expires.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any, NamedTuple, cast

import msgspec

from hashrange.errors import (
    ApiError,
    HashrangeError,
    IdempotentParameterMismatchException,
    OutcomeUnknown,
    StorageError,
    TransactionInProgressException,
    ValidationException,
)
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.limits import TRANSACTION_COMMIT_MAX_BYTES, TRANSACTION_SIZE_MAX_BYTES
from hashrange.messages.cluster import ABORTED_BY_OTHERS, OUTCOME_UNKNOWN
from hashrange.messages.transactions import TOKEN_REUSED, TRANSACTION_TOO_LARGE
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import Lock, slot_of
from hashrange.store.cassandra.session import GIVE_UP_SECONDS, QUORUM, SERIAL, OutcomeLost, Session
from hashrange.store.cassandra.slot_writer import RowAndLock, Work, read_row_and_lock, read_slot_head
from hashrange.store.cassandra.slots import Slots
from hashrange.store.cassandra.works import Finish, Locked, PrepareItems, TooMuchForOneBatch, Transact, conflict
from hashrange.store.interface import IdempotencyToken, Transacted, TransactionRefused, TransactionStep
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable

RUNNING_SECONDS = 4.0
"""A transaction that has been PENDING for longer is aborted by whoever meets it."""
KEPT_SECONDS = 600.0
"""How long a committed transaction without a token is remembered at the least, if its server does not finish it."""
ROWS_SWEPT_TOGETHER = 100
Slot = tuple[int, int]
"""Table id and number of a slot."""
StoredPlaces = list[tuple[int, int, list[Key]]]
"""Table id, slot and keys of what a transaction locks."""
_encode_places = msgspec.msgpack.Encoder().encode
_decode_places = cast(
    Callable[[bytes], StoredPlaces], msgspec.msgpack.Decoder(list[tuple[int, int, list[bytes]]]).decode
)


class TransactionState(IntEnum):
    """What has become of a transaction."""

    PENDING = 1
    COMMITTED = 2
    ABORTED = 3


class TransactionRow(NamedTuple):
    """A row of `transactions`."""

    attempt: bytes
    state: TransactionState
    digest: bytes | None
    report: bytes | None
    places: bytes
    until_ms: int
    expires_ms: int


class Transactions:
    """The transactions of this server, and those of others that it meets."""

    def __init__(
        self,
        session: Session,
        slots: Slots,
        wall_time: Callable[[], float],
        monotonic: Callable[[], float],
        find_table: Callable[[int], OpenTable | None],
        limit_bytes: int,
    ) -> None:
        """`limit_bytes`: of an item collection."""
        self._session = session
        self._slots = slots
        self._wall_time = wall_time
        self._monotonic = monotonic
        self._find_table = find_table
        self._limit_bytes = limit_bytes
        self._behind: set[asyncio.Task[None]] = set()
        """What is being finished behind replies."""

    async def transact(self, steps: Sequence[TransactionStep], token: IdempotencyToken | None) -> Transacted:
        """Implements `Store.transact`."""
        by_slot: dict[Slot, list[int]] = {}
        for number, (table, key, _) in enumerate(steps):
            place = (table.table_id, 0 if key is None else slot_of(key))
            by_slot.setdefault(place, []).append(number)
        if token is None and len(by_slot) == 1:
            (place,) = by_slot
            with suppress(TooMuchForOneBatch):
                return Transacted(await self._in_slot(place, steps, Transact(steps, self._limit_bytes)))
        transaction = secrets.token_bytes(16) if token is None else token.name
        attempt = secrets.token_bytes(16)
        places = [
            (*place, [key for number in numbers if (key := steps[number].key) is not None])
            for place, numbers in by_slot.items()
        ]
        former = await self._begin(transaction, attempt, places, token)
        if former is not None:
            return Transacted((), former)
        changes = await self._prepare(transaction, attempt, places, by_slot, steps)
        report = b"" if token is None else token.report(changes)
        await self._decide(transaction, attempt, TransactionState.COMMITTED, report)
        task = asyncio.ensure_future(self._finish(transaction, attempt, places, is_kept=token is not None))
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
        return Transacted(changes)

    async def _in_slot(self, place: Slot, steps: Sequence[TransactionStep], work: Work) -> Any:
        """The result of a work for steps in one slot. Raises what it raises; TransactionRefused for locked items."""
        while True:
            try:
                return await self._slots.writer(*place).add(work)
            except Locked as locked:
                if not await self.settle(place, locked.locks):
                    reasons = [conflict() if key in locked.locks else None for _, key, _ in steps]
                    raise TransactionRefused(reasons) from None

    # --- begin ------------------------------------------------------------------------------------

    async def _begin(
        self, transaction: bytes, attempt: bytes, places: StoredPlaces, token: IdempotencyToken | None
    ) -> bytes | None:
        """Begin a transaction, or return the report of the one that has used the token."""
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        while True:
            if token is not None and (record := await self._record(transaction)) is not None:
                if record.attempt == attempt:
                    return None
                report = await self._former_report(transaction, record, token)
                if report is not None:
                    return report
            now_ms = int(self._wall_time() * 1000)
            expires_ms = now_ms + int(KEPT_SECONDS * 1000) if token is None else int(token.expires_at_seconds * 1000)
            values = (
                transaction,
                attempt,
                TransactionState.PENDING,
                None if token is None else token.digest,
                _encode_places(places),
                now_ms + int(RUNNING_SECONDS * 1000),
                expires_ms,
            )
            try:
                if await self._session.decide((cql.BEGIN_TRANSACTION, values)):
                    return None
            except OutcomeLost:
                record = await self._record(transaction)
                if record is not None and record.attempt == attempt:
                    return None
            if self._monotonic() >= until_seconds:
                raise StorageError(OUTCOME_UNKNOWN.format(place=self._session.place))

    async def _former_report(self, transaction: bytes, record: TransactionRow, token: IdempotencyToken) -> bytes | None:
        """The report of the transaction that has used the token; None once the token is free."""
        if record.state is TransactionState.PENDING and not self._is_over(record):
            if record.digest != token.digest:
                raise IdempotentParameterMismatchException(TOKEN_REUSED)
            raise TransactionInProgressException
        if record.state is TransactionState.COMMITTED:
            if record.expires_ms > token.now_seconds * 1000:
                if record.digest != token.digest:
                    raise IdempotentParameterMismatchException(TOKEN_REUSED)
                return record.report or b""
            await self._finish(transaction, record.attempt, _decode_places(record.places), is_kept=False)
            return None
        await self._abort(transaction, record)
        await self._forget(transaction, record.attempt, TransactionState.ABORTED)
        return None

    # --- prepare and decide -----------------------------------------------------------------------

    async def _prepare(
        self,
        transaction: bytes,
        attempt: bytes,
        places: StoredPlaces,
        by_slot: Mapping[Slot, Sequence[int]],
        steps: Sequence[TransactionStep],
    ) -> Sequence[Change]:
        """Lock all items; returns the changes, in the order of the steps. If a slot refuses, the transaction is
        aborted, and the refusal raised.
        """
        try:
            works = []
            for place, numbers in by_slot.items():
                own = [steps[number] for number in numbers]
                work = PrepareItems(own, self._limit_bytes, transaction, attempt)
                works.append(self._in_slot(place, own, work))
            made = await asyncio.gather(*works, return_exceptions=True)
            changes = _in_order(by_slot, made, len(steps))
        except BaseException:
            await self._decide(transaction, attempt, TransactionState.ABORTED, b"")
            await self._finish(transaction, attempt, places, is_kept=False, state=TransactionState.ABORTED)
            raise
        return changes

    async def _decide(self, transaction: bytes, attempt: bytes, state: TransactionState, report: bytes) -> None:
        """Let a pending transaction become what it is to be. Raises OutcomeUnknown; StorageError if others have aborted
        one that is to be committed.
        """
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        decision = cql.DECIDE, (state, report, transaction, attempt, TransactionState.PENDING)
        while True:
            try:
                if await self._session.decide(decision):
                    return
            except OutcomeLost:
                pass
            try:
                record = await self._record(transaction)
            except StorageError as error:
                raise OutcomeUnknown(OUTCOME_UNKNOWN.format(place=self._session.place)) from error
            now = TransactionState.ABORTED if record is None or record.attempt != attempt else record.state
            if now is not TransactionState.PENDING:
                if state is TransactionState.COMMITTED and now is TransactionState.ABORTED:
                    raise StorageError(ABORTED_BY_OTHERS)
                return
            if self._monotonic() >= until_seconds:
                raise OutcomeUnknown(OUTCOME_UNKNOWN.format(place=self._session.place))

    # --- finish -----------------------------------------------------------------------------------

    async def _finish(
        self,
        transaction: bytes,
        attempt: bytes,
        places: StoredPlaces,
        *,
        is_kept: bool,
        state: TransactionState = TransactionState.COMMITTED,
    ) -> None:
        """Replace the rows of a committed transaction, unlock all items, and forget it unless it is kept."""
        works = []
        for table_id, slot, keys in places:
            table = self._find_table(table_id)
            for key in keys if table is not None else ():
                assert table is not None
                work = Finish(table, key, attempt, is_committed=state is TransactionState.COMMITTED)
                works.append(self._slots.writer(table_id, slot).add(work))
        results = await asyncio.gather(*works, return_exceptions=True)
        if not is_kept and not any(isinstance(one, StorageError) for one in results):
            await self._forget(transaction, attempt, state)

    async def _forget(self, transaction: bytes, attempt: bytes, state: TransactionState) -> None:
        try:
            await self._session.decide((cql.FORGET_TRANSACTION, (transaction, attempt, state)))
        except OutcomeLost:
            pass  # whoever meets it next forgets it

    async def settle(self, place: Slot, locks: Mapping[Key, Lock]) -> bool:
        """Finish the transactions that have locked items of a slot, as far as they are not running: True if there was
        any such.
        """
        has_finished = False
        by_attempt: dict[tuple[bytes, bytes], list[Key]] = {}
        for key, lock in locks.items():
            by_attempt.setdefault((lock.transaction, lock.attempt), []).append(key)
        for (transaction, attempt), keys in by_attempt.items():
            record = await self._record(transaction)
            is_known = record is not None and record.attempt == attempt
            if is_known and record is not None and record.state is TransactionState.PENDING:
                if not self._is_over(record):
                    continue
                await self._abort(transaction, record)
                has_finished = True  # it may have been committed meanwhile: whoever asks looks again
                continue
            is_committed = is_known and record is not None and record.state is TransactionState.COMMITTED
            table = self._find_table(place[0])
            if table is not None:
                works = [Finish(table, key, attempt, is_committed=is_committed) for key in keys]
                await asyncio.gather(*[self._slots.writer(*place).add(work) for work in works])
            has_finished = True
        return has_finished

    async def _abort(self, transaction: bytes, record: TransactionRow) -> None:
        if record.state is TransactionState.PENDING:
            await self._decide(transaction, record.attempt, TransactionState.ABORTED, b"")

    def _is_over(self, record: TransactionRow) -> bool:
        return self._wall_time() * 1000 >= record.until_ms

    async def _record(self, transaction: bytes) -> TransactionRow | None:
        for attempt, state, *rest in await self._session.execute(cql.READ_TRANSACTION, transaction, level=SERIAL):
            return TransactionRow(attempt, TransactionState(state), *rest)
        return None

    # --- reads of one moment ----------------------------------------------------------------------

    async def snapshot(self, places: Sequence[tuple[OpenTable, Key]]) -> list[Row | None]:
        """The rows at places as of one moment: read between two reads of all versions that agree. Raises
        TransactionRefused if a transaction is running for one of them.
        """
        slots = list(dict.fromkeys([(table.table_id, slot_of(key)) for table, key in places]))
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        while True:
            before = await asyncio.gather(*[read_slot_head(self._session, *slot) for slot in slots])
            found = await asyncio.gather(*[self._row_and_lock(table, key) for table, key in places])
            after = await asyncio.gather(*[read_slot_head(self._session, *slot) for slot in slots])
            if [one.version for one in before] == [one.version for one in after]:
                running = []
                has_finished = False
                for (table, key), (_, lock) in zip(places, found, strict=True):
                    place = table.table_id, slot_of(key)
                    is_settled = lock is None or await self.settle(place, {key: lock})
                    has_finished = has_finished or (lock is not None and is_settled)
                    running.append(None if is_settled else conflict())
                if not has_finished:
                    if any(one is not None for one in running):
                        raise TransactionRefused(running)
                    return [row for row, _ in found]
            if self._monotonic() >= until_seconds:
                raise TransactionRefused([conflict() for _ in places])

    async def _row_and_lock(self, table: OpenTable, key: Key) -> RowAndLock:
        return await read_row_and_lock(self._session, (table.table_id, slot_of(key)), key)

    async def sweep(self) -> None:
        """Finish what other servers have left, and forget what has expired. Raises StorageError."""
        after = -(2**63)
        while found := await self._session.execute(cql.READ_TRANSACTIONS, after, ROWS_SWEPT_TOGETHER, level=QUORUM):
            for _, transaction, attempt, state, *rest in found:
                record = TransactionRow(attempt, TransactionState(state), *rest)
                now_ms = self._wall_time() * 1000
                if record.state is TransactionState.PENDING:
                    if self._is_over(record):
                        await self._abort(transaction, record)
                elif now_ms >= record.until_ms:
                    is_kept = record.state is TransactionState.COMMITTED and now_ms < record.expires_ms
                    places = _decode_places(record.places)
                    await self._finish(transaction, attempt, places, is_kept=is_kept, state=record.state)
            after = found[-1][0]

    async def settled(self) -> None:
        """Return once what is being finished behind replies is finished."""
        await asyncio.gather(*self._behind, return_exceptions=True)


def _in_order(by_slot: Mapping[Slot, Sequence[int]], made: Sequence[Any], count: int) -> Sequence[Change]:
    """The changes of all slots in the order of the steps. Raises the refusals of all slots as one, other errors, and
    ValidationException if all items together are too large.
    """
    changes: list[Change | None] = [None] * count
    reasons: list[ApiError | None] = [None] * count
    is_refused = False
    for numbers, result in zip(by_slot.values(), made, strict=True):
        if isinstance(result, TransactionRefused):
            is_refused = True
            for number, reason in zip(numbers, result.reasons, strict=True):
                reasons[number] = reason
        elif isinstance(result, BaseException):
            if not isinstance(result, HashrangeError):
                raise result
            if not is_refused:
                raise result
        else:
            for number, change, reason in zip(numbers, result.changes, result.reasons, strict=True):
                changes[number], reasons[number] = change, reason
    if is_refused:
        raise TransactionRefused(reasons)
    done = [one for one in changes if one is not None]
    weighed = [one.old if one.new is None else one.new for one in done]
    size_bytes = sum(row_size_bytes(row) for row in weighed if row is not None)
    if (
        size_bytes > TRANSACTION_SIZE_MAX_BYTES
        or sum(len(one.new or b"") for one in done) > TRANSACTION_COMMIT_MAX_BYTES
    ):
        raise ValidationException(TRANSACTION_TOO_LARGE)
    return done
