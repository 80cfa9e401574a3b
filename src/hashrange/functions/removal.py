"""How is removed what functions leave behind? A folder in which code has written what it liked, without recursion,
however deep it is; what a killed server leaves, by a process of its own, of which this file is the program.

The standard library's `rmtree` calls itself for each level and keeps a descriptor open for each, so that a thousand
levels end it. The process (`guardian.py`) imports nothing but this file and what it needs, so that it is small.
"""

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from itertools import count

from hashrange.functions.marks import Mark
from hashrange.functions.process_tree import kill_all_marked


def remove_tree(folder: str) -> None:
    """Remove a folder with all that is in it, as far as the system lets it. Blocks; call it in a thread.

    Links are removed, and not followed. Each folder inside is moved up to the uppermost one before it is looked
    at, so that no path becomes long.
    """
    if os.path.islink(folder):
        os.unlink(folder)
        return
    token = secrets.token_hex(16)  # so that no such name is taken
    paths = (os.path.join(folder, f".{token}-{number}") for number in count())
    folders = [folder]
    for one in folders:  # grows meanwhile
        folders += _empty(one, folder, paths)
    for one in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(one)


def _empty(one: str, uppermost: str, paths: Iterator[str]) -> list[str]:
    """Remove the files of a folder, and return the paths of the folders in it,
    some of which are moved to shorter paths.
    """
    found = []
    with contextlib.suppress(OSError):
        os.chmod(one, stat.S_IRWXU)  # else nothing can be removed from a folder that is read-only
    try:
        with os.scandir(one) as listed:
            members = list(listed)
    except OSError:
        return []
    for member in members:
        with contextlib.suppress(OSError):
            if not member.is_dir(follow_symlinks=False):
                os.unlink(member.path)
            elif one == uppermost:
                found.append(member.path)
            else:
                path = next(paths)
                os.rename(member.path, path)
                found.append(path)
    return found


# --- what a killed server leaves behind -----------------------------------------------------------

ENDED = b"ended"
"""What a server writes when it has ended its environments itself."""


def end_leftovers(mark: str, folder: str) -> None:
    """Wait for the end of the server, which has the other end of standard input; if it was killed, do the rest.

    `mark`: what the marks of all environments of the server begin with; `folder`: of unpacked code.
    """
    if sys.stdin.buffer.read() != ENDED:
        kill_all_marked(Mark.of(mark))
        remove_tree(folder)
