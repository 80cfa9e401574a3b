"""How is a store copied, restored or emptied as a whole? By checkpoints: the part of a store's interface that test suites use."""

from typing import Protocol


class Checkpoint(Protocol):
    """The whole content of a store at one moment, until `release`: what it is restored to, and what forks begin with."""

    def release(self) -> None:
        """Free what only the checkpoint holds; stores that were made from it keep their content."""
        ...


class Copying(Protocol):
    """The methods of a store that copy or replace its whole content."""

    async def checkpoint(self) -> Checkpoint:
        """Copy the whole content, as of the last commit when this method returns."""
        ...

    def restore(self, checkpoint: Checkpoint | None) -> None:
        """Replace the whole content by that of `checkpoint`; None: by nothing.

        `checkpoint`: of this store, of a fork of it, or of a store that it was forked from.

        Positions go on; all else is as when the checkpoint was taken. Calls that are suspended meanwhile may raise
        StorageError, and may then be repeated.
        """
        ...
