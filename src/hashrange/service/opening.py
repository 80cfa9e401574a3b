"""How is a service opened from its settings? The store is opened; table states that would last longer than
the configured delay are ended.
"""

import msgspec

from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.features.features import lag_seconds_of
from hashrange.operations.overlong_deadlines import shorten_overlong_deadlines
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.service.cluster_refusals import check_settings
from hashrange.service.features import FEATURES
from hashrange.service.service import Service
from hashrange.service.snapshots import ServiceSnapshot, initial_time, read_snapshot
from hashrange.service.store_opening import open_copy_of, open_store_of
from hashrange.settings import Settings, SettingUnusable, with_delays
from hashrange.store.copying import Checkpoint, copying_of
from hashrange.store.interface import WholeStore
from hashrange.store.snapshot_file import opened_snapshot


async def open_service(
    settings: Settings,
    clock: Clock,
    checkpoint: Checkpoint | None = None,
    lag_seconds: float = 0.0,
) -> Service:
    """Open a service over the store of these settings, on the running loop; jobs do not run yet.

    Raises StorageError, SnapshotFileError for `settings.snapshot`, FaultsError for `settings.faults`,
    and SettingUnusable.

    `checkpoint`: serve a fork that begins with this content, instead of the settings' `data_dir`. `lag_seconds`: the
    longest delay of the index entries that wait in this content.

    The caller has to close the service's store.
    """
    check_settings(settings)
    settings = with_delays(settings)
    if checkpoint is None:
        store = await open_store_of(settings, clock)
    else:
        store = await open_copy_of(settings, clock, checkpoint, lag_seconds)
    try:
        if checkpoint is None:
            begin_in_past(store, clock, settings)
            if settings.snapshot is not None:
                begin_with(store, clock, settings.snapshot)
            if settings.init is not None:
                # Imported here: most servers have no init folder, and start time counts.
                from hashrange.service.initial_content import begin_with_folder  # noqa: PLC0415

                await begin_with_folder(store, clock, settings)
        tables = [table.schema for table in store.catalog.all_tables()]
        delays_seconds = settings.table_state_delay_seconds, settings.vector_index_delay_seconds
        await shorten_overlong_deadlines(store, tables, clock.service_time(), *delays_seconds)
        service = Service(store, ALL_OPERATIONS, clock, settings)
        if settings.metrics == "on":
            service.start_recording()
        service.features.look_at_fronts()
    except BaseException:
        await store.close()
        raise
    return service


async def open_fork(settings: Settings, snapshot: ServiceSnapshot) -> Service:
    """Open a service that begins with the state of `snapshot`: content, service time, and states of features.

    The `data_dir`, `snapshot`, `faults` and `kinesis_endpoint` of the settings are not used:
    what a fork sent to Kinesis could not be told from what its original sends. Raises StorageError.
    """
    settings = msgspec.structs.replace(settings, snapshot=None, faults=None, kinesis_endpoint=None)
    clock = MovableClock(SystemClock(), snapshot.time_state)
    lag_seconds = lag_seconds_of(FEATURES, snapshot.states)
    service = await open_service(settings, clock, snapshot.checkpoint, lag_seconds)
    service.features.return_to(snapshot.states)
    return service


def begin_in_past(store: WholeStore, clock: Clock, settings: Settings) -> None:
    """Set service time as far behind the machine's as the settings say.
    Raises SettingUnusable if the store has tables.
    """
    if not settings.clock_behind_seconds:
        return
    if store.catalog.all_tables():
        raise SettingUnusable(
            "--clock-behind is set, but the data folder holds tables already, and their time does not go back."
            " Start without --clock-behind to go on with them, or with another --data-dir."
        )
    assert isinstance(clock, MovableClock), "a service whose time begins in the past has a clock that can be moved"
    clock.go_to(initial_time(settings))


def begin_with(store: WholeStore, clock: Clock, path: str) -> None:
    """Fill a store without tables from a snapshot file, all or nothing.

    Raises SettingUnusable if the store has tables, SnapshotFileError and StorageError.
    """
    if store.catalog.all_tables():
        raise SettingUnusable(
            f"--snapshot is {path}, but the data folder holds tables already. Start without --snapshot to go on with"
            " them, or with another --data-dir to begin with the snapshot."
        )
    assert isinstance(clock, MovableClock), "a service that begins with a snapshot has a clock that can be moved"
    with opened_snapshot(path) as reader:
        snapshot = read_snapshot(store, clock, reader)
    try:
        clock.go_to(snapshot.time_state)
        copying_of(store).restore(snapshot.checkpoint)
    finally:
        snapshot.checkpoint.release()
