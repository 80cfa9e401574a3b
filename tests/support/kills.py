"""What remains after a kill? A copy of a running store's folder at one moment."""

import shutil
from pathlib import Path


def copy_as_killed(running: Path, copy: Path) -> None:
    """Copy the folder of an open store that nobody writes to; repeated while a compaction changes the folder."""
    while True:
        before = _files(running)
        try:
            shutil.copytree(running, copy)
        except shutil.Error:
            pass  # a compaction removed a file
        else:
            if _files(running) == before:
                return
        shutil.rmtree(copy)


def _files(folder: Path) -> dict[str, int]:
    """Name → size of the files that a compaction creates, extends or deletes."""
    sizes = {}
    for path in folder.rglob("*"):
        if path.suffix != ".log" and not path.name.startswith("LOG"):
            try:
                sizes[path.name] = path.stat().st_size
            except FileNotFoundError:
                sizes[path.name] = -1
    return sizes
