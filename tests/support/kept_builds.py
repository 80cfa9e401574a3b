"""Where is what tests fetch and build kept? In the user's cache, so that a new clone of this repository builds
nothing that an earlier one has built from the same.

A build's name in the cache has a digest of everything that goes into it: its sources, what builds it, and in
which version. What changes is therefore built anew, beside the former build.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hashrange-tests"
"""The folder of all builds; `make clean` removes it."""
FORMER_BUILDS_MAX = 3
"""Number of former builds of each name that are kept, for clones with other versions of the same sources."""
DONE = ".built"
"""File that is in the folder of a build which has succeeded; it is touched when the build is used."""


def kept_build(name: str, ingredients: Iterable[bytes], build: Callable[[Path], None]) -> Path:
    """The folder in which `build` has run with these ingredients, now or earlier.

    Several processes may ask for it at the same time: one of them builds.
    """
    folder = KEPT / f"{name}-{digest_of(ingredients)}"
    KEPT.mkdir(parents=True, exist_ok=True)
    with locked(KEPT / f"{name}.lock"):
        if not (folder / DONE).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            build(folder)
        (folder / DONE).touch()
        for former in former_builds(folder)[FORMER_BUILDS_MAX:]:
            shutil.rmtree(former)
    return folder


def digest_of(ingredients: Iterable[bytes]) -> str:
    """A digest that differs if an ingredient does, or their order."""
    digest = hashlib.sha256()
    for one in ingredients:
        digest.update(f"{len(one)}:".encode() + one)
    return digest.hexdigest()[:20]


def former_builds(folder: Path) -> list[Path]:
    """The other finished builds of the same name; those that were used last come first."""
    name = folder.name.rpartition("-")[0]
    found = [done.parent for done in folder.parent.glob(f"{name}-*/{DONE}") if done.parent != folder]
    same = [one for one in found if one.name.rpartition("-")[0] == name]
    return sorted(same, key=lambda one: -(one / DONE).stat().st_mtime)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that no other process holds. Windows has none that waits: only one run at a time builds there."""
    with path.open("w") as file:
        if sys.platform != "win32":
            import fcntl  # which Windows has not

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def identity_of(program: str) -> bytes:
    """What differs if another version of an installed program is there: its path, its size and its time."""
    path = os.path.realpath(program)
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}".encode()


def show_in(folder: Path, made: str, place: Path) -> None:
    """Let `folder`/`made` be a link to `place`, where it is kept. (On Windows, only developers may make links.)"""
    shown = folder / made
    if shown.is_symlink() and os.readlink(shown) == str(place):
        return
    if shown.is_dir() and not shown.is_symlink():
        shutil.rmtree(shown, ignore_errors=True)  # built here, before builds were kept; others may be as far
    link = folder / f"{made}.{os.getpid()}"
    link.symlink_to(place, target_is_directory=True)
    link.replace(shown)
