"""How does a folder of the server's own go away, with all that is in it? At once for whoever looks, by a rename into a
folder of what is discarded; then it is deleted there. What a killed process has left there, the next one deletes.
"""

import contextlib
import os
import secrets


class DiscardedFolders:
    """The folder of what is discarded. Any number of threads and processes may use it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def take(self, path: str) -> str | None:
        """Move a folder here, and return its path here, which `delete` wants; None if there is none. Raises OSError."""
        taken = os.path.join(self._folder, secrets.token_hex(8))
        try:
            os.rename(path, taken)
        except FileNotFoundError:
            return None
        return taken

    def delete(self, taken: str | None) -> None:
        """Delete a folder that has been taken here, however deep it is, as far as the system lets it.

        Each folder inside moves up here before it is looked at: no function calls itself, and no path becomes long.
        """
        waiting = [] if taken is None else [taken]
        while waiting:
            folder = waiting.pop()
            for entry in _entries_of(folder):
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)
                    elif (moved := self.take(entry.path)) is not None:
                        waiting.append(moved)
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def delete_all(self) -> None:
        """Delete what a killed process has left."""
        for entry in _entries_of(self._folder):
            self.delete(entry.path)


def _entries_of(folder: str) -> "list[os.DirEntry[str]]":
    """What is in a folder that may be gone."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
