"""Who may read the files of a store? Only the user who runs it: folders are made with mode 0700, files with 0600.

A folder that exists keeps its mode, because its owner may have opened it to others.
The engine makes files with mode 0644, also later, on threads of its own. A server's process has a umask that takes away
the rights of others (`server/app.run`). Hashrange does not change the umask of another program in which it runs. There,
nobody else may enter the engine's folder, and the files get mode 0600 when the engine is opened and when it is closed.
"""

import contextlib
import os
import stat

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
OTHERS = 0o077
"""The rights of all users but the owner, in the mode of a file."""


def mode_of(path: str) -> int:
    """The permissions of a file or folder. Raises OSError."""
    return stat.S_IMODE(os.stat(path).st_mode)


def close_to_others(folder: str) -> None:
    """Take the rights of others from the files in `folder`, if others have none to the folder itself. Ignores OSError.

    Some 2 µs per file. Does nothing on Windows, whose files have no such modes.
    """
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        if mode_of(folder) & OTHERS:
            return
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):  # the engine may delete files meanwhile
                if entry.stat().st_mode & OTHERS and entry.is_file(follow_symlinks=False):
                    os.chmod(entry.path, PRIVATE_FILE)
