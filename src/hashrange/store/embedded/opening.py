"""How is a store opened? The data folder is locked, checked for traces of a store without its data,
and the engine in it opened.
"""

import asyncio
import logging
from collections.abc import Sequence

from hashrange.clock import Clock
from hashrange.store.copying import Checkpoint
from hashrange.store.embedded import files, identity
from hashrange.store.embedded.catalog import read_catalog
from hashrange.store.embedded.checkpoints import EngineCheckpoint, home_in, open_home
from hashrange.store.embedded.engine import close_engine
from hashrange.store.embedded.engine_errors import OPENING, storage_errors, undone_on_failure
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.participants import PARTICIPANTS, MakeParticipant
from hashrange.store.embedded.store import EmbeddedStore, LockedHome

USUAL_OPTIONS = Options()

_log = logging.getLogger("hashrange.store")


def open_fork_engine(checkpoint: Checkpoint, options: Options) -> LockedHome:
    """Open the engine of a fork, and read its tables, on any thread. Raises StorageError."""
    assert isinstance(checkpoint, EngineCheckpoint), "a checkpoint of another kind of store"
    with storage_errors(checkpoint.place):
        home = checkpoint.copy()
    place = LockedHome(home, None if home.data_dir is None else identity.take_folder(home.data_dir), options)
    with storage_errors(home.place, OPENING), undone_on_failure(place.unlock):
        engine = open_home(home, place.lock)
        with undone_on_failure(lambda: close_engine(engine, home.place, may_fail=True)):
            return place._replace(engine=engine, stored=read_catalog(engine, options))


def open_store_in(
    place: LockedHome,
    clock: Clock,
    loop: asyncio.AbstractEventLoop | None,
    participants: Sequence[MakeParticipant] = PARTICIPANTS,
) -> EmbeddedStore:
    """Open the store in a place that is locked; that of a fork is removed when it is closed. Raises StorageError."""
    with undone_on_failure(place.unlock):
        if place.lock is not None and place.engine is None and files.has_only_traces(place.lock.folder):
            _log.warning(
                "%s holds traces of a store and no data, so a new one is made: if there should be data, stop the"
                " server and find out where the folder with the data is.",
                place.home.place,
            )
        return EmbeddedStore(place, clock, loop, participants)


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
    return open_store_in(LockedHome(home, lock, options), clock, loop, participants)
