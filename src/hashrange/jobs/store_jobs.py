"""Which jobs does a store need? `jobs_of` lists them: each calls a method of its maintenance, which does the work.

No job polls: the method returns when there is more to do, and the store wakes the jobs for work that is due earlier
(`Maintenance.on_work`). The index backfill also fills the queue of expiries (a row for each item that expires) of a
table whose time to live was turned on. Nothing is filled from a table that is still UPDATING: resources for the index
are being allocated.
"""

from functools import partial

from hashrange.clock import Clock
from hashrange.jobs.job import AT_ONCE, Job, SlicedJob
from hashrange.store.interface import LocalMaintenance, SeeChanges, WholeStore, find_local_maintenance
from hashrange.tables.states import may_backfill

BACKFILL_SLICE_ROWS = 128
"""Rows of the table that one slice of a backfill reads: about 1.5 ms. The store ends a slice of large rows earlier."""
DELAY_SLICE_CHANGES = 128
"""Changes whose delayed index entries one slice writes at most: about 1 ms for one index. The store ends a slice of
many or large entries earlier.
"""
EXPIRY_SLICE_ROWS = 64
"""Rows of one queue of expiries that one slice handles at most: about 2 ms for small items without indexes."""


def jobs_of(store: WholeStore, clock: Clock, see_expired: SeeChanges) -> list[Job]:
    """Create the jobs that work on this store. `see_expired` sees how expired items are deleted."""
    local = find_local_maintenance(store)
    settle = SlicedJob("settle", store.maintenance.settle, waits_for_service_time=False)
    return [settle] if local is None else [*_local_jobs(local, clock, see_expired), settle]


def _local_jobs(store: LocalMaintenance, clock: Clock, see_expired: SeeChanges) -> list[Job]:
    return [
        SlicedJob("index backfill", partial(_backfill, store, clock)),
        # Writes delayed index entries once they are due, in the order of the changes of their partition, and late ones
        # that a failed request has left, one per slice. Entries of global indexes are delayed if
        # `index_delay_seconds` is set, which lets people test against eventual consistency.
        SlicedJob("index delay", lambda: store.apply_delayed(DELAY_SLICE_CHANGES)),
        # Deletes expired items (time to live): a few of one table at a time, in order of expiry times.
        SlicedJob("expiry", lambda: store.expire(EXPIRY_SLICE_ROWS, see_expired)),
        # Replaces stream shards which were open long enough, and deletes shards too old to be read.
        SlicedJob("stream shards", store.tend_streams),
        # Deletes changes that point-in-time recovery no longer needs.
        SlicedJob("recovery windows", store.tend_recovery),
        # Splits partitions of tables and indexes that have grown, one per slice.
        SlicedJob("partition splits", partial(_split, store)),
        # Divides large parts of vector indexes in memory into cells, and frees those of deleted tables and indexes.
        SlicedJob("vector cells", store.tend_vectors, waits_for_service_time=False),
    ]


async def _backfill(store: LocalMaintenance, clock: Clock) -> float | None:
    """Fill one CREATING index, or one new queue of expiries, from at most BACKFILL_SLICE_ROWS more rows of its table.

    They are filled one at a time, in the order in which their backfills began; after a restart, those in progress come
    first, in the order of table ids. The store does each slice in one commit, which records how far the slice came;
    after a kill, the next slice continues there.

    Returns AT_ONCE, or None if there is none to fill. If all tables with an index or queue to fill are UPDATING,
    returns the seconds until the first one is ACTIVE.
    """
    ongoing = store.backfills()
    if not ongoing:
        return None
    now_seconds = clock.service_time()
    for table, source in ongoing:
        if may_backfill(table, now_seconds):
            await store.backfill(source, BACKFILL_SLICE_ROWS)
            return AT_ONCE
    return min(table.updating_until_seconds for table, _ in ongoing) - now_seconds


async def _split(store: LocalMaintenance) -> float | None:
    return AT_ONCE if await store.split_partitions() else None
