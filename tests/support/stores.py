"""Which stores do tests run over? The real one, in memory, and the one that suspends at every call."""

import asyncio
from collections.abc import Callable

from hashrange.clock import SystemClock
from hashrange.store.embedded.store import open_store
from hashrange.store.interface import Store
from hashrange.store.suspending import SuspendingStore


def make_store() -> Store:
    """An empty store; call it on the server's loop."""
    return open_store(None, SystemClock(), asyncio.get_running_loop())


def make_suspending_store() -> Store:
    """An empty store behind the wrapper that suspends, loses races and reads late, always in the same way."""
    return SuspendingStore(make_store(), seed=1)


STORES: dict[str, Callable[[], Store]] = {"embedded": make_store, "suspending": make_suspending_store}
