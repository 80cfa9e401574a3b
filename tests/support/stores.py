"""Which store do tests run over? The real one in memory."""

from hashrange.store.interface import Store


def make_store() -> Store:
    """An empty store; call it on the server's loop."""
    from tests.support.memory_store import MemoryStore

    return MemoryStore()
