"""How is a running service copied, saved, and returned to an earlier state?
Its content by checkpoints of its store, together with its service time.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from hashrange.clock import MovableClock, ServiceTimeState
from hashrange.items.steps import gave_way
from hashrange.service.drive import in_turns
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.copying import Checkpoint, Opened, copying_of
from hashrange.store.interface import WholeStore
from hashrange.store.snapshot_file import SnapshotReader, SnapshotWriter

PIECE_BYTES = 256 * 1024
"""Length of the keys and values that are read at once from a checkpoint, in some 0.3 ms."""

SAVES_MAX = 10
"""How often features save again before a copy because there was more to save meanwhile.
After the last time the copy may lack some of this."""


class ServiceSnapshot(NamedTuple):
    """The state of a service at one moment, until `checkpoint` is released."""

    checkpoint: Checkpoint
    time_state: ServiceTimeState
    service_seconds: float
    """Service time at that moment."""
    states: Mapping[str, Any] = MappingProxyType({})
    """What features had beside the content at that moment, by their names."""


async def take_snapshot(service: Service) -> ServiceSnapshot:
    """Copy the state of a service at one moment, which comes when features have saved what was in memory only;
    until then, requests go on. Raises StorageError.
    """
    return await in_turns(_take_snapshot(service), service.workers, begins_now=True)


async def _take_snapshot(service: Service) -> ServiceSnapshot:
    clock = movable_clock(service)
    save, copying = service.features.save, copying_of(service.store)
    await save()
    for _ in range(SAVES_MAX):
        await copying.prepare_checkpoint()
        ways_given = gave_way()
        await save()  # what has been recorded since, mostly nothing
        if gave_way() == ways_given:
            break
    checkpoint = await copying.checkpoint()
    return ServiceSnapshot(checkpoint, clock.state, clock.service_time(), service.features.states())


@contextmanager
def handed_over(checkpoint: Checkpoint) -> Iterator[None]:
    """Inside this `with` block, the next store that begins with this checkpoint takes its files;
    it is released at the end of the block.
    """
    checkpoint.hand_over()
    try:
        yield
    finally:
        checkpoint.release()


async def return_in_turns(service: Service, snapshot: ServiceSnapshot | None) -> None:
    """The same as `return_to`; until what takes long is done, requests go on and find the former content."""
    opened = await copying_of(service.store).open_checkpoint(None if snapshot is None else snapshot.checkpoint)
    try:
        return_to(service, snapshot, opened)
        opened.replaced = (*opened.replaced, *service.give_up_tables())
    finally:
        await asyncio.to_thread(opened.release)


def return_to(service: Service, snapshot: ServiceSnapshot | None, opened: Opened | None = None) -> None:
    """Return a service to the state of `snapshot`. None: no content, the service time with which it began,
    and the states with which features begin.

    If the snapshot's service time was frozen, service time returns to that; else it differs from the machine's as it
    did then. `snapshot`: taken of this service, of a fork of it, or of one that it was forked from, or read for one of
    these (`read_snapshot`). `opened`: its checkpoint, if that has been opened. Raises StorageError.
    """
    clock = movable_clock(service)
    before = clock.state
    clock.go_to(initial_time(service.settings) if snapshot is None else snapshot.time_state)
    undo = service.features.return_to({} if snapshot is None else snapshot.states)
    try:
        copying_of(service.store).restore(opened or (None if snapshot is None else snapshot.checkpoint))
    except BaseException:
        clock.go_to(before)
        undo()
        raise
    service.features.look_at_fronts()


def initial_time(settings: Settings) -> ServiceTimeState:
    """The service time of a new database with these settings: the machine's, or so far behind it."""
    return ServiceTimeState(-settings.clock_behind_seconds)


def movable_clock(service: Service) -> MovableClock:
    """The clock of a service, which can be moved if the service can be copied."""
    clock = service.clock
    assert isinstance(clock, MovableClock), "a service that can be copied has a clock that can be moved"
    return clock


def write_snapshot(file: BinaryIO, snapshot: ServiceSnapshot) -> None:
    """Write a snapshot to a file. Raises StorageError and OSError."""
    writer = SnapshotWriter(file, snapshot.service_seconds)
    after = None
    while rows := snapshot.checkpoint.rows(after, PIECE_BYTES):
        after = rows[-1][0]
        writer.write(rows)
    writer.finish()


def read_snapshot(store: WholeStore, clock: MovableClock, reader: SnapshotReader) -> ServiceSnapshot:
    """Read a snapshot file, for a restore of `store`.

    If the snapshot was taken at a later service time than the clock's, the restored service begins at that time.
    Raises SnapshotFileError and StorageError.
    """
    ahead_seconds = max(0.0, reader.header.service_time - clock.service_time())
    state = clock.state
    checkpoint = copying_of(store).checkpoint_of(reader.rows())
    state = ServiceTimeState(state.moved_seconds + ahead_seconds, state.frozen_seconds)
    return ServiceSnapshot(checkpoint, state, reader.header.service_time)
