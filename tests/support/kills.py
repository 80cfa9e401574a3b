"""What does a kill leave behind? A copy of a running store's folder as it was at one moment."""

import shutil
from pathlib import Path


def copy_as_killed(running: Path, copy: Path) -> None:
    """Copy the folder of an open store that nobody writes to; again as long as a compaction has changed it meanwhile."""
    while True:
        before = _files(running)
        try:
            shutil.copytree(running, copy)
        except shutil.Error:
            pass  # a file was compacted away
        else:
            if _files(running) == before:
                return
        shutil.rmtree(copy)


def _files(folder: Path) -> dict[str, int]:
    """Name → size of what a compaction makes, grows or deletes."""
    sizes = {}
    for path in folder.rglob("*"):
        if path.suffix != ".log" and not path.name.startswith("LOG"):
            try:
                sizes[path.name] = path.stat().st_size
            except FileNotFoundError:
                sizes[path.name] = -1
    return sizes
