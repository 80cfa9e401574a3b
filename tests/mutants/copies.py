"""How is a copy of the project made in which each rule can be broken while it runs, and notes which test reaches it?

Each rule of a list asks the module `hashrange_mutants` whether it is broken. Processes that tests start have the number
of the broken rule from the environment variable MUTANT, and the test from pytest's.
"""

import ast
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.mutant import ROOT, Mutant, Site, sites_of

CANNOT_ASK = "functions/runtimes/"
"""Programs of processes that import nothing else of the project."""
NO_TEST = ""
"""Stands for what runs while modules are imported, or in a process that does not know of its test."""
_FOLDERS = ("src", "tests", "docs", "benchmarks", "torture", "changelog.d", ".github", ".ci")
_IGNORED = shutil.ignore_patterns("__pycache__", "node_modules", "target", ".venv", ".git", ".bench")
_ASKED = '''
import os
import subprocess

_VARIABLES = ("MUTANT", "PYTEST_CURRENT_TEST")
_begin = subprocess.Popen.__init__


def _begin_knowing(self, *words, env=None, **others):
    """Begin a process that knows of the mutant and the test, whatever else its environment has."""
    if env is not None:
        env = {name: os.environ[name] for name in _VARIABLES if name in os.environ} | dict(env)
    _begin(self, *words, env=env, **others)


subprocess.Popen.__init__ = _begin_knowing
broken = int(os.environ.get("MUTANT", "0"))
_started_by = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
_noted = set()


def is_broken(number):
    """Note the function of the test; in a process that a test has started, which other tests may use, its file."""
    if folder:
        current = os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[0].partition(" ")[0]
        noted = (os.getpid(), _started_by or current, number)
        if noted not in _noted:
            _noted.add(noted)
            with open(f"{folder}/{os.getpid()}", "a", encoding="utf-8") as file:
                file.write(f"{number}\\t{noted[1]}\\n")
    return number == broken
'''


def copied(folder: Path) -> Path:
    """A copy of the project, which belongs to no repository."""
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=_IGNORED)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, folder / path.name)
    return folder


_NOT_INHERITED = ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
"""The options that somebody gives to all runs of pytest may name what a copy does not have."""


def environment_of(copy: Path) -> dict[str, str]:
    """Processes that tests start import the copy, and keep what they have compiled."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return {**inherited, "PYTHONPATH": os.fspath(copy / "src")}


def let_rules_ask(source: Path, mutants: list[Mutant], notes: Path | None = None) -> list[Mutant]:
    """Let each rule ask whether its number is broken, from 1 on, and note in a folder who reaches it.

    Returns those that cannot, such as patterns of a match and rules of CANNOT_ASK; they are left as they are.
    """
    folder = os.fspath(notes) if notes else ""
    (source / "hashrange_mutants.py").write_text(f"folder = {folder!r}\n{_ASKED}", encoding="utf-8")
    left = dict.fromkeys(mutants)
    for file in {mutant.file for mutant in mutants}:
        path = source / "hashrange" / file
        text = "" if file.startswith(CANNOT_ASK) or not path.exists() else path.read_text(encoding="utf-8")
        sites = [site for site in sites_of(file, text) if site.mutant in left]
        sites = [site for site in sites if _compiles(text, site, mutants)]
        if sites:
            path.write_text(_asking(text, sites, mutants), encoding="utf-8")
        for site in sites:
            del left[site.mutant]
    return list(left)


def _asking(text: str, sites: Iterable[Site], mutants: list[Mutant]) -> str:
    """The text in which the rules at `sites` ask; a rule may be a part of another."""
    inserted = []
    for site in sites:
        begin = f"(({site.mutant.after}) if hashrange_mutants.is_broken({mutants.index(site.mutant) + 1}) else ("
        inserted += [(site.start, 1, -site.end, begin), (site.end, 0, 0, "))")]
    for position, _, _, words in sorted(inserted, reverse=True):
        text = text[:position] + words + text[position:]
    first = next(node for node in ast.parse(text).body if not _must_be_first(node))
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: first.lineno - 1], "import hashrange_mutants\n", *lines[first.lineno - 1 :]])


def _must_be_first(node: ast.stmt) -> bool:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _compiles(text: str, site: Site, mutants: list[Mutant]) -> bool:
    try:
        compile(_asking(text, [site], mutants), "", "exec")
    except SyntaxError:
        return False
    return True
