"""What does work of the store that no request does, need of its store? Building indexes, applying the outbox."""

from typing import Protocol

from hashrange.errors import StorageError
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.read_cache import ReadCache


class Workplace(Protocol):
    """The store, for work that reads, writes one batch and begins again after whatever suspended it."""

    engine: Engine
    catalog: EmbeddedCatalog
    reads: ReadCache

    def write_batch(self, batch: Engine, deltas: dict[bytes, tuple[int, int]]) -> None:
        """Write a batch, and with it by how much the figures of sources change. Raises the engine's bare exceptions."""
        ...

    def committed(self) -> None:
        """Count a commit that has been written."""
        ...

    def wake(self) -> None:
        """There is new work to do."""
        ...

    def fail(self, error: Exception) -> StorageError:
        """The StorageError to raise for `error`."""
        ...

    async def wait_for_room(self) -> None: ...
    async def wait_out_stall(self, error: Exception, attempt: int) -> None:
        """Wait a while, or raise."""
        ...

    async def compact(self, lower: bytes, upper: bytes) -> None:
        """Have deleted keys of a range cleared away."""
        ...
