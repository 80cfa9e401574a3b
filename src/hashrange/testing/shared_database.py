"""Which database do nested blocks have in common? A `SharedDatabase`: one that was given, or one that is begun for
the first and ends with the last of them.
"""

from threading import RLock

from hashrange.testing.blocks import Held
from hashrange.testing.database import Database, server


class SharedDatabase:
    """The database of a block and of the blocks within it."""

    def __init__(self, given: Database | None) -> None:
        self._given = given
        self._lock = RLock()
        self._users: set[object] = set()
        """The blocks that are open."""
        self._begun: Held[Database] | None = None
        self._database = given

    def is_usable(self) -> bool:
        """False if the running code cannot ask the database: it is closed, belongs to another process,
        or runs this very code.
        """
        try:
            if self._database is not None:
                self._database.require_open()
        except RuntimeError:
            return False
        return True

    def enter(self, user: object) -> Database:
        """Note that a block needs the database; returns the database, which is begun unless it was given or is running.

        Raises what the beginning of `server()` raises, and RuntimeError if the given database is closed.
        """
        with self._lock:
            self._users.add(user)
            if self._given is not None:
                self._given.require_open()
            elif self._begun is None:
                # SLF001: of the same package; a `with` block could not end elsewhere
                self._begun = server._hold()  # noqa: SLF001
                self._database = next(self._begun)
            assert self._database is not None
            return self._database

    def leave(self, user: object) -> None:
        """Note that a block has ended, or could not begin; ends the database after the last one unless it was given."""
        with self._lock:
            self._users.discard(user)
            begun = self._begun
            if not self._users and begun is not None:
                self._begun = self._database = None
                begun.close()
