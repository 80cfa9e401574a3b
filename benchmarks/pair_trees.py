"""Where do the sources of two commits come from? From a temporary git worktree of each commit, removed at the end."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import ROOT, home

WORKING_TREE = "the working tree"
REQUIREMENTS = "requirements.txt"


class NotComparable(Exception):
    """Two commits cannot be compared; the message gives the reason and a remedy."""


class Tree(NamedTuple):
    """The sources of one commit, or of the working tree."""

    title: str
    """Short hash and subject of the commit."""
    sources: Path
    """The folder that holds the package."""


def git(*words: str, root: Path | None = None) -> str:
    """Return git's output without the final line break; raises NotComparable with git's error message."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=root or ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise NotComparable("git is not installed, from which the commits come.") from None
    if done.returncode:
        raise NotComparable(f"git {words[0]} {words[-1]}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


def find_commit(name: str) -> str:
    """Return the full hash of a commit by any name that git understands; raises NotComparable."""
    try:
        return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except NotComparable:
        raise NotComparable(f"there is no commit {name!r} here; `git log --oneline` lists those there are.") from None


def packages(requirements: str) -> dict[str, str]:
    """Return the pinned version of each package in a requirement file."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", requirements, re.MULTILINE))


def check_packages(before: str, after: str | None) -> None:
    """Raises NotComparable when two commits (None: the working tree) pin different versions of a package: both run in
    this environment.

    A package that only one of them needs is ignored.
    """
    of_before = packages(git("show", f"{before}:{REQUIREMENTS}"))
    of_after = packages((ROOT / REQUIREMENTS).read_text() if after is None else git("show", f"{after}:{REQUIREMENTS}"))
    differing = [
        f"{name} {version} and {of_after[name]}"
        for name, version in of_before.items()
        if of_after.get(name, version) != version
    ]
    if differing:
        raise NotComparable(
            f"the two need different packages ({', '.join(differing)}), and both are run in the environment of this"
            f" interpreter: compare commits whose {REQUIREMENTS} name the same versions."
        )


@contextlib.contextmanager
def checked_out(before: str, after: str | None) -> Iterator[tuple[Tree, Tree]]:
    """Provide both commits' sources, `after` None for a copy of the working tree; removed at the end in any case.

    Raises NotComparable. Leftovers of killed runs are removed when the next one starts (running.remove_leftovers, git
    worktree prune).
    """
    commits = [find_commit(name) for name in (before, after) if name is not None]
    check_packages(commits[0], commits[1] if after is not None else None)
    places = home() / "run"
    places.mkdir(exist_ok=True)
    git("worktree", "prune")
    folder = Path(tempfile.mkdtemp(prefix=f"pair-{os.getpid()}-", dir=places))
    try:
        trees = [check_out(commit, folder / side) for commit, side in zip(commits, ("before", "after"), strict=False)]
        if after is None:
            trees.append(copy_working_tree(folder / "after"))
        yield trees[0], trees[1]
    finally:
        remove(folder)


def check_out(commit: str, folder: Path) -> Tree:
    """Add a worktree of the commit."""
    git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    return Tree(git("log", "-1", "--format=%h %s", commit), folder / "src")


def copy_working_tree(folder: Path) -> Tree:
    """Copy the working tree, so that files may be edited during the measurement."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return Tree(WORKING_TREE, folder / "src")


def remove(folder: Path) -> None:
    """Remove the worktrees in `folder`, and git's records of them."""
    for place in folder.iterdir():
        with contextlib.suppress(NotComparable):  # an unfinished worktree, or a copy
            git("worktree", "remove", "--force", "--force", str(place))
    shutil.rmtree(folder, ignore_errors=True)
