"""Which jobs does a server run? One of each kind, over its store."""

from hashrange.clock import Clock
from hashrange.jobs.expiry import Expiry
from hashrange.jobs.index_backfill import IndexBackfill
from hashrange.jobs.index_delay import IndexDelay
from hashrange.jobs.job import Job
from hashrange.jobs.partition_splits import PartitionSplits
from hashrange.jobs.settling import SettleWhenIdle
from hashrange.jobs.stream_shards import StreamShards
from hashrange.store.interface import WholeStore


def jobs_of(store: WholeStore, clock: Clock) -> list[Job]:
    """Create the jobs that work on this store."""
    return [
        IndexBackfill(store, clock),
        IndexDelay(store),
        Expiry(store),
        StreamShards(store),
        PartitionSplits(store),
        SettleWhenIdle(store),
    ]
