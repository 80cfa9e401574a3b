"""How is a store opened? The data folder is locked, checked for traces of a store without its data,
and the engine in it opened.
"""

import asyncio
import logging
from collections.abc import Sequence

from hashrange.clock import Clock
from hashrange.store.copying import Checkpoint
from hashrange.store.embedded import files, identity
from hashrange.store.embedded.checkpoints import EngineCheckpoint, home_in, open_home
from hashrange.store.embedded.engine import Engine, close_engine
from hashrange.store.embedded.engine_errors import OPENING, storage_errors, undone_on_failure
from hashrange.store.embedded.loading import StoredContent
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.participants import PARTICIPANTS, MakeParticipant
from hashrange.store.embedded.store import EmbeddedStore, LockedHome

USUAL_OPTIONS = Options()

_log = logging.getLogger("hashrange.store")


async def open_forked_store(
    checkpoint: Checkpoint,
    clock: Clock,
    options: Options = USUAL_OPTIONS,
    participants: Sequence[MakeParticipant] = PARTICIPANTS,
) -> EmbeddedStore:
    """Open a store on the running loop that begins with the content of a checkpoint, and is removed when it is closed.
    Its engine is opened and read on another thread. Raises StorageError.
    """
    place = await asyncio.to_thread(_take_copy, checkpoint, options)
    with undone_on_failure(place.unlock):
        store = EmbeddedStore(place, clock, asyncio.get_running_loop(), participants)
        engine, stored = await asyncio.to_thread(_open_and_read, place, store)
        store.begin(engine, stored)
        return store


def _take_copy(checkpoint: Checkpoint, options: Options) -> LockedHome:
    """A place of its own with the content of a checkpoint. On any thread. Raises StorageError."""
    assert isinstance(checkpoint, EngineCheckpoint), "a checkpoint of another kind of store"
    with storage_errors(checkpoint.place):
        home = checkpoint.copy()
    return LockedHome(home, None if home.data_dir is None else identity.take_folder(home.data_dir), options)


def _open_and_read(place: LockedHome, store: EmbeddedStore) -> tuple[Engine, StoredContent]:
    """Open the engine in a store's place, and read it for the store, on any thread. Raises StorageError."""
    with storage_errors(place.home.place, OPENING):
        engine = open_home(place.home, place.lock)
        with undone_on_failure(lambda: close_engine(engine, place.home.place, may_fail=True)):
            return engine, store.read(engine)


def open_store(
    data_dir: str | None,
    clock: Clock,
    loop: asyncio.AbstractEventLoop | None,
    options: Options = USUAL_OPTIONS,
    participants: Sequence[MakeParticipant] = PARTICIPANTS,
) -> EmbeddedStore:
    """Open or make the store in `data_dir`; None keeps everything in memory and leaves nothing behind.

    `loop`: the store's event loop; None is for tools, whose own thread syncs. `participants`: makers of the
    participants. Raises StorageLocked, StorageReadOnly, StorageFormatUnknown, StorageCorruption or another
    StorageError.
    """
    home = home_in(data_dir)
    lock = None if data_dir is None else identity.take_folder(data_dir)
    place = LockedHome(home, lock, options)
    with undone_on_failure(place.unlock):
        if lock is not None and files.has_only_traces(lock.folder):
            _log.warning(
                "%s holds traces of a store and no data, so a new one is made: if there should be data, stop the"
                " server and find out where the folder with the data is.",
                home.place,
            )
        store = EmbeddedStore(place, clock, loop, participants)
        store.begin()
        return store
