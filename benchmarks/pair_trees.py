"""Where do the sources of two commits come from? Each commit's from a git worktree of its own, which is removed at the end."""

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
    """Two commits that cannot be compared; the message says why and what would help."""


class Tree(NamedTuple):
    """Sources of one commit, or of the working tree."""

    title: str
    """Its short hash and subject."""
    sources: Path
    """The folder that holds the package."""


def git(*words: str, root: Path | None = None) -> str:
    """What git says, without the line's end; raises NotComparable with its own reason."""
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
    """The full hash of a commit by any name that git understands; raises NotComparable."""
    try:
        return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except NotComparable:
        raise NotComparable(f"there is no commit {name!r} here; `git log --oneline` lists those there are.") from None


def packages(requirements: str) -> dict[str, str]:
    """The version that a requirement file pins of each package."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", requirements, re.MULTILINE))


def check_packages(before: str, after: str | None) -> None:
    """Raises NotComparable when two commits (None: the working tree) need other versions of a package: both run in this environment.

    A package that only one of them needs does not concern the other.
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
    """Both commits' sources, `after` None for a copy of the working tree's; removed at the end, whatever ends it.

    Raises NotComparable. What a killed run has left goes when the next one starts (running.remove_leftovers, git worktree prune).
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
    """A worktree of its own."""
    git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    return Tree(git("log", "-1", "--format=%h %s", commit), folder / "src")


def copy_working_tree(folder: Path) -> Tree:
    """A copy: the files may be edited while it is measured."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return Tree(WORKING_TREE, folder / "src")


def remove(folder: Path) -> None:
    """The worktrees in `folder`, and what git knows of them."""
    for place in folder.iterdir():
        with contextlib.suppress(NotComparable):  # one that was not finished, or a copy
            git("worktree", "remove", "--force", "--force", str(place))
    shutil.rmtree(folder, ignore_errors=True)
