"""Where are copies of a store on disk, and how does one take the place of the store's own files?
By renaming, undone if the server dies meanwhile.

The folder `copies` in a data folder holds a data folder for each checkpoint and fork of the running server. When a copy
replaces the store's engine, the engine's folder is renamed to `engine.former` first. A server that finds this folder
and no `engine` renames it back: the replacement was not finished, and nobody was told that it was. In the end the
former engine takes the place of the copy, to be removed with it.
"""

import os
import tempfile

from hashrange.store.embedded import files
from hashrange.store.embedded.files import COPIES_FOLDER, FORMER_ENGINE_FOLDER
from hashrange.store.embedded.modes import PRIVATE_FOLDER, mode_of


def copies_folder(data_dir: str) -> str:
    """Path of the folder for copies of the store in `data_dir`."""
    return os.path.join(data_dir, COPIES_FOLDER)


def make_copy_folder(copies: str) -> str:
    """Make an empty data folder for one copy in the folder `copies`; return its path. Raises OSError."""
    os.makedirs(copies, PRIVATE_FOLDER, exist_ok=True)
    return tempfile.mkdtemp(dir=copies)


def replace_engine_folder(data_dir: str, copy_dir: str) -> None:
    """Exchange the engine's folder in `data_dir` for that of the copy in `copy_dir`, durably. Raises OSError.

    Neither engine may be open. The folder in `data_dir` keeps its mode.
    If an error is raised, the former folder is in its place again.
    """
    own, former = files.engine_folder(data_dir), os.path.join(data_dir, FORMER_ENGINE_FOLDER)
    copied = files.engine_folder(copy_dir)
    os.chmod(copied, mode_of(own))
    files.sync_folder(copied)
    os.rename(own, former)
    try:
        os.rename(copied, own)
        files.sync_folder(data_dir)
    except OSError:
        if os.path.exists(own):
            os.rename(own, copied)
        os.rename(former, own)
        raise
    try:
        os.rename(former, copied)
    except OSError:
        files.remove_folder(former)


def tidy(data_dir: str) -> None:
    """Undo an unfinished replacement, and delete what copies of an earlier server have left in a locked data folder.

    Raises OSError if an unfinished replacement cannot be undone.
    """
    own, former = files.engine_folder(data_dir), os.path.join(data_dir, FORMER_ENGINE_FOLDER)
    if os.path.isdir(former):
        if not os.path.exists(own):
            os.rename(former, own)
            files.sync_folder(data_dir)
        else:
            files.remove_folder(former)
    files.remove_folder(copies_folder(data_dir))
