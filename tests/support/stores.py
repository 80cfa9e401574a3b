"""Over which stores do tests run? The embedded one in memory, and one that suspends at every call."""

import asyncio
from collections.abc import Callable

from hashrange.clock import Clock, SystemClock
from hashrange.limits import ITEM_COLLECTION_SIZE_MAX_BYTES
from hashrange.store.embedded.opening import open_store
from hashrange.store.embedded.participant import DrawDelay, Options
from hashrange.store.interface import WholeStore
from hashrange.tables.partitions import partitions_of_service
from tests.support.wrapped_stores.stale_reads import StaleReads
from tests.support.wrapped_stores.suspending import SuspendingStore
from tests.support.wrapped_stores.suspending_time import SuspendingTime

SEED = 1


def make_store(collection_size_max_bytes: int = ITEM_COLLECTION_SIZE_MAX_BYTES) -> WholeStore:
    """Make an empty store; call it on the server's loop."""
    return _open(SystemClock(), None, collection_size_max_bytes)


def make_suspending_store(collection_size_max_bytes: int = ITEM_COLLECTION_SIZE_MAX_BYTES) -> WholeStore:
    """Make an empty store that behaves as a distributed one may, and delays its global indexes, by a seed."""
    time = SuspendingTime(SEED)
    return as_distributed(_open(time, time.delay, collection_size_max_bytes), SEED, time)


def _open(clock: Clock, index_delay: DrawDelay | None, collection_size_max_bytes: int) -> WholeStore:
    """On-demand tables have four partitions, as in the service."""
    return open_store(
        None,
        clock,
        asyncio.get_running_loop(),
        Options(index_delay, collection_size_max_bytes, initial_partitions=partitions_of_service),
    )


def as_distributed(inner: WholeStore, seed: int, time: SuspendingTime | None = None) -> SuspendingStore:
    """The store inside wrappers that suspend, lose races and outcomes, and return old data."""
    return SuspendingStore(StaleReads(inner, seed), seed, time)


STORES: dict[str, Callable[..., WholeStore]] = {"embedded": make_store, "suspending": make_suspending_store}
