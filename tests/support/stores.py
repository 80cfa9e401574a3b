"""Which store do tests run over? The real one, in memory."""

import asyncio

from hashrange.clock import SystemClock
from hashrange.store.embedded.store import open_store
from hashrange.store.interface import Store


def make_store() -> Store:
    """An empty store; call it on the server's loop."""
    return open_store(None, SystemClock(), asyncio.get_running_loop())
