"""How do writes that meet in a server share a conditional batch? Each slot has one `SlotWriter`, which plans what waits
together and commits it in one batch.

    head      the slot's version, read at SERIAL, unless it is known: a SERIAL read completes what was begun, so that a
              quorum has all rows of that version; and after one's own batch it is known
    rows      those that the works need, read at QUORUM
    works     one after the other, each on what those before have written; some refuse
    batch     all that they have written, if the slot still has that version; without writes, the version is read again
    beaten    another server has written to the slot: all over again

So a refusal is true at a moment between request and reply, whoever else writes. The outcome of a lost reply is found
by the id of the batch: the same batch is sent again while the version has not changed. Nothing here depends on who owns
a slot, or on a clock but for giving up.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from hashrange.errors import (
    HashrangeError,
    OutcomeUnknown,
    ResourceNotFoundException,
    StorageError,
    without_frames,
)
from hashrange.items.types import Key, Row
from hashrange.messages.cluster import OUTCOME_UNKNOWN
from hashrange.messages.tables import RESOURCE_NOT_FOUND
from hashrange.store.cassandra import cql
from hashrange.store.cassandra.layout import (
    BATCHES,
    ITEMS,
    LOCKS,
    UNUSED_SLOT,
    Head,
    Lock,
    batch_row,
    decode_counts,
    decode_lock,
)
from hashrange.store.cassandra.session import GIVE_UP_SECONDS, QUORUM, SERIAL, OutcomeLost, Session
from hashrange.store.cassandra.slot_view import RowPlace, SlotView
from hashrange.store.request_ids import new_request_id
from hashrange.tables.change import Change

ROWS_OF_BATCH_MAX = 128
"""Rows that works may need which share a batch, unless it is a single work."""
_BEATEN_SECONDS_MAX = 0.02
KEYS_TOGETHER = 100
"""Keys that one SELECT asks for."""


class Work(Protocol):
    """Something to be done in one slot."""

    @property
    def places(self) -> Collection[RowPlace]:
        """Kinds and keys of the rows that it reads; their locks are read too, of items."""

    def run(self, view: SlotView) -> Any:
        """Read and write rows; returns the result. Raises HashrangeError before it has written anything. Is called
        again if the batch is beaten.
        """


class _Waiting:
    """A work, and who waits for its result."""

    __slots__ = ("_done", "work")

    def __init__(self, work: Work, done: "asyncio.Future[Any]") -> None:
        self.work = work
        self._done = done

    def end(self, result: Any, error: Exception | None) -> None:
        """Tell what has become of the work."""
        if self._done.done():
            return
        if error is None:
            self._done.set_result(result)
        else:
            self._done.set_exception(error)


async def read_slot_head(session: Session, table_id: int, slot: int, level: Any = SERIAL) -> Head:
    """What is kept once of a slot. Raises StorageError."""
    for _, _, version, batch, counts, locked, unlocked, is_closed in await session.execute(
        cql.READ_HEAD, table_id, slot, level=level
    ):
        return Head(
            version, batch, decode_counts(counts) if counts else {}, locked or 0, unlocked or 0, bool(is_closed)
        )
    return UNUSED_SLOT


_Outcome = tuple[Any, Exception | None]
"""What a work has returned or raised."""


class RowAndLock(NamedTuple):
    """An item as of one moment."""

    row: Row | None
    lock: Lock | None


async def read_row_and_lock(session: Session, place: tuple[int, int], key: Key) -> RowAndLock:
    """The row of an item in a slot, and its lock. Raises ResourceNotFoundException if the table is deleted."""
    found = await session.execute(cql.READ_ROW_AND_LOCK, *place, key, level=SERIAL)
    if any(is_closed for _, _, is_closed in found) or (not found and (await read_slot_head(session, *place)).is_closed):
        raise ResourceNotFoundException(RESOURCE_NOT_FOUND)
    of_kind = {kind: value for kind, value, _ in found}
    row, lock = of_kind.get(ITEMS), of_kind.get(LOCKS)
    return RowAndLock(None if row is None else Row(row), None if lock is None else decode_lock(lock))


class SlotWriter:
    """Writes to one slot from this server, one batch after the other."""

    def __init__(
        self,
        session: Session,
        table_id: int,
        slot: int,
        monotonic: Callable[[], float],
        follow: Callable[["SlotWriter", int, Sequence[Change]], None],
    ) -> None:
        """`follow`: called with the version and the changes whose entries in global indexes are due."""
        self.table_id = table_id
        self.slot = slot
        self._session = session
        self._monotonic = monotonic
        self._follow = follow
        self._head: Head | None = None
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, work: Work) -> "asyncio.Future[Any]":
        """Have a work done, with others that wait. The future gets its result, or the error that it raises;
        ResourceNotFoundException if the table is deleted; StorageError, OutcomeUnknown.
        """
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(work, done))
        if self._task is None:
            self._task = asyncio.ensure_future(self._work())
        return done

    @property
    def is_idle(self) -> bool:
        """True if nothing waits or is under way."""
        return self._task is None

    async def _work(self) -> None:
        try:
            while self._waiting:
                together = [self._waiting.popleft()]
                count = len(together[0].work.places)
                while self._waiting and (count := count + len(self._waiting[0].work.places)) <= ROWS_OF_BATCH_MAX:
                    together.append(self._waiting.popleft())
                try:
                    await self._round(together)
                except Exception as error:  # noqa: BLE001 - whoever waits gets it
                    self._head = None
                    _fail(together, error)
        finally:
            self._task = None

    async def _round(self, together: list[_Waiting]) -> None:
        """Do these works in one batch, or the first of them; the others wait for the next."""
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        pause_seconds = 0.0
        while True:
            if self._head is None:
                self._head = await read_slot_head(self._session, self.table_id, self.slot)
            head = self._head
            if head.is_closed:
                _fail(together, ResourceNotFoundException(RESOURCE_NOT_FOUND))
                return
            view = SlotView(self.table_id, self.slot, head, await self._rows(together, head))
            results = _done_in(view, together)
            if view.is_changed:
                is_done = await self._commit(view, new_request_id(), until_seconds)
            else:
                now = await read_slot_head(self._session, self.table_id, self.slot)
                is_done, self._head = now.version == head.version, now
            if is_done:
                break
            if self._monotonic() >= until_seconds:
                raise StorageError(OUTCOME_UNKNOWN.format(place=self._session.place))
            await self._session.pause(pause_seconds)  # two servers that meet do so again and again otherwise
            pause_seconds = min(_BEATEN_SECONDS_MAX, 2 * pause_seconds + 0.001)
        self._waiting.extendleft(reversed(together[len(results) :]))
        if view.followed:
            self._follow(self, view.version, view.followed)
        for waiting, (result, error) in zip(together, results, strict=False):
            waiting.end(result, error)

    async def _rows(self, together: Sequence[_Waiting], head: Head) -> Mapping[RowPlace, bytes]:
        """The rows that the works need."""
        if head.version is None:
            return {}
        keys: dict[int, dict[bytes, None]] = {}
        for waiting in together:
            for kind, key in waiting.work.places:
                keys.setdefault(kind, {})[key] = None
                if kind == 0 and head.locked > head.unlocked:
                    keys.setdefault(LOCKS, {})[key] = None
        found: dict[RowPlace, bytes] = {}

        async def read(kind: int, some: list[bytes]) -> None:
            for key, value in await self._session.execute(
                cql.READ_ROWS, self.table_id, self.slot, kind, some, level=QUORUM
            ):
                found[kind, key] = value

        parts = [
            read(kind, some[start : start + KEYS_TOGETHER])
            for kind, some in [(kind, list(wanted)) for kind, wanted in keys.items()]
            for start in range(0, len(some), KEYS_TOGETHER)
        ]
        if len(parts) == 1:
            await parts[0]
        else:
            await asyncio.gather(*parts)
        return found

    async def _commit(self, view: SlotView, batch: bytes, until_seconds: float) -> bool:
        """Write the batch; False if another one came between. Raises OutcomeUnknown, StorageError."""
        statements = list(view.statements(batch))
        self._head, former = None, self._head
        assert former is not None
        while True:
            try:
                if await self._session.decide(*statements):
                    self._head = view.head(batch)
                    return True
            except OutcomeLost:
                pass
            try:
                now = await read_slot_head(self._session, self.table_id, self.slot)
                is_done = await self._has_happened(view.version, batch, now)
            except StorageError as error:
                raise OutcomeUnknown(OUTCOME_UNKNOWN.format(place=self._session.place)) from error
            if is_done or now.version != former.version:
                self._head = now
                return is_done
            if self._monotonic() >= until_seconds:
                raise OutcomeUnknown(OUTCOME_UNKNOWN.format(place=self._session.place))

    async def _has_happened(self, version: int, batch: bytes, now: Head) -> bool:
        """True if the batch with this id has led to this version. Raises StorageError."""
        if now.version is None or now.version < version:
            return False
        if now.version == version:
            return now.batch == batch
        key, wanted = batch_row(version, batch)
        found = await self._session.execute(cql.READ_ROW, self.table_id, self.slot, BATCHES, key, level=SERIAL)
        if found and found[0][0][:8] > wanted[:8]:
            raise StorageError("so many batches have followed that it is no longer known whether one took place")
        return bool(found) and found[0][0] == wanted

    async def stop(self) -> None:
        """End what is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _done_in(view: SlotView, together: Sequence[_Waiting]) -> list[_Outcome]:
    """Do works until the batch is full; returns what has become of each of these."""
    outcomes: list[_Outcome] = []
    for waiting in together:
        if view.is_full:
            break
        try:
            outcomes.append((waiting.work.run(view), None))
        except HashrangeError as refusal:
            outcomes.append((None, without_frames(refusal)))
    return outcomes


def _fail(together: Sequence[_Waiting], error: Exception) -> None:
    for waiting in together:
        waiting.end(None, error)
