"""Where is functions' code unpacked? In folders below one temporary folder of the server,
each for one function at a time.
"""

import os
import tempfile

from hashrange.functions.code import unpack_code
from hashrange.functions.removal import remove_tree
from hashrange.work_threads import WorkThread

_SHORT_ZIP_BYTES_MAX = 64 * 1024
"""Such a zip has some 600 files at most, while others may have 25,000, which take seconds."""
_UNPACKING_SHORT, _UNPACKING_LONG = WorkThread("hashrange-short-zips"), WorkThread("hashrange-long-zips")
"""Read all zips of the process, one after the other, but short ones do not wait for long ones."""
_REMOVING = WorkThread("hashrange-removing")
"""Another thread, as a handler may have written so much that its removal takes long."""


def thread_for(zipped: bytes) -> WorkThread:
    """The thread that reads this zip."""
    return _UNPACKING_SHORT if len(zipped) <= _SHORT_ZIP_BYTES_MAX else _UNPACKING_LONG


class CodeFolders:
    """The folders of unpacked code. The temporary folder is made when it is first needed,
    and only its owner may enter it.
    """

    def __init__(self) -> None:
        self._root: str | None = None
        self._number = 0

    @property
    def root(self) -> str:
        """The temporary folder. Raises OSError if the disk refuses."""
        if self._root is None:
            self._root = tempfile.mkdtemp(prefix="hashrange-functions-")
        return self._root

    async def unpack(self, zipped: bytes) -> str:
        """Unpack a zip into a new folder and return its path. Raises CodeUnusable, and OSError if the disk refuses."""
        self._number += 1
        folder = os.path.join(self.root, str(self._number))
        await thread_for(zipped).run(unpack_code, zipped, folder)
        return folder

    async def remove(self, folder: str) -> None:
        """Remove a folder and what handlers have written into it."""
        await _REMOVING.run(remove_tree, folder)

    async def close(self) -> None:
        """Remove all folders."""
        if self._root is not None:
            await self.remove(self._root)
            self._root = None
