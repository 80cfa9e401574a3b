"""How is a store copied, restored or emptied as a whole? By checkpoints:
the part of a store's interface that test suites and backups use.

It is no part of what every store promises: one whose content several servers hold has none of it. What copies asks
`copying_of`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from hashrange.store.snapshot_file import StoredRow


class StoredFile(NamedTuple):
    """A file of a data folder."""

    name: str
    """Its path in the folder, with `/`."""
    size_bytes: int
    fingerprint: str
    """Two files of one name, length and fingerprint have the same content; empty: that cannot be told."""


class StoredFiles(NamedTuple):
    """The files of a data folder."""

    store_format: int
    """Format version of the data folder."""
    files: Sequence[StoredFile]


class Checkpoint(Protocol):
    """The whole content of a store at one moment, until `release`: a store is restored to it, forks begin with it."""

    def rows(self, after: bytes | None, limit_bytes: int) -> list[StoredRow]:
        """Rows in order of their keys, from the first after key `after` (None: the first of all); empty at the end.

        The last one is that with which the length of all keys and values reaches `limit_bytes`. Raises StorageError.
        """

    def files(self) -> StoredFiles | None:
        """The files of a data folder with this content, the same ones at each call; None: the content is in memory.

        The first call takes long, some 0.1 ms for each file. On any thread. Raises StorageError.
        """

    def read_file(self, name: str, offset: int, limit_bytes: int) -> bytes | None:
        """At most `limit_bytes` of one of `files`; empty at its end. None: there is no such file.

        On any thread. Raises StorageError.
        """

    def hand_over(self) -> None:
        """Let the next store that is restored or forked from this checkpoint take its files, which is quicker.

        Only `release` may be called after that.
        """

    def release(self) -> None:
        """Free what only the checkpoint holds; stores that were made from it keep their content."""


class Opened(Protocol):
    """A checkpoint's content that has been made ready for one restore, until `release`."""

    replaced: Sequence[dict[Any, Any]]
    """What takes long to free of the content that it has replaced."""

    def release(self) -> None:
        """Free what no store has taken, the content that it has replaced, and what is in `replaced`; on any thread."""


class Copying(Protocol):
    """The methods of a store that copy or replace its whole content, or make a checkpoint of given rows."""

    async def prepare_checkpoint(self) -> None:
        """Do what takes long of the next `checkpoint`. If few bytes are written meanwhile,
        that one does not suspend. Raises StorageError.
        """

    async def checkpoint(self) -> Checkpoint:
        """Copy the whole content, as of the last commit when this method returns."""

    def checkpoint_of(self, rows: Iterable[StoredRow]) -> Checkpoint:
        """Make a checkpoint whose content is `rows`, as `Checkpoint.rows` of any store returned them.

        Raises StorageError, and what `rows` raises.
        """

    async def open_checkpoint(self, checkpoint: Checkpoint | None) -> Opened:
        """Do what takes long of a `restore` of this checkpoint; None: of nothing. Raises StorageError."""

    def restore(self, checkpoint: Checkpoint | Opened | None) -> None:
        """Replace the whole content by that of `checkpoint`; None: by nothing.

        `checkpoint`: made by the method `checkpoint` or `checkpoint_of` of this store, of a fork of it,
        or of a store that it was forked from; or `Opened` of one of these.

        Positions go on; all else is as it was in the store whose content or rows the checkpoint holds, when they were
        copied. Calls that are suspended meanwhile may raise StorageError, and may then be repeated.
        """


def copying_of(store: object) -> Copying:
    """A store's attribute `copying`, which copies or replaces its whole content. Nobody asks a store that has none."""
    copying: Copying | None = getattr(store, "copying", None)
    assert copying is not None, "what needs copies of the content is refused by a store without them"
    return copying
