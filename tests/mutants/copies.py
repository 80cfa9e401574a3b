"""How is a copy of the project made in which rules can be broken, and in which environment do its tests run?"""

import os
import shutil
from pathlib import Path

from tests.mutants.mutant import ROOT

_FOLDERS = ("src", "tests", "docs", "benchmarks", "torture", "changelog.d", ".github", ".ci")
_IGNORED = shutil.ignore_patterns("__pycache__", "node_modules", "target", ".venv", ".git", ".bench")


def copied(folder: Path) -> Path:
    """A copy of the project, which belongs to no repository."""
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=_IGNORED)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, folder / path.name)
    return folder


def environment_of(copy: Path) -> dict[str, str]:
    """Processes that tests start import the copy, and keep what they have compiled."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": os.fspath(copy / "src")}
