"""Which test files reach a rule? In a copy of the source, each rule of the list notes its number and the test that
runs, before it is evaluated; the whole suite runs over this copy once.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.copies import copied, environment_of
from tests.mutants.mutant import ROOT, Mutant, Site, sites_of

RECORD = ROOT / "build" / "mutants" / "reached.txt"
"""A line for each pair of a number and a test file; too large to be committed."""
NO_TEST = ""
"""Stands for what runs while modules are imported, or in a process that does not know of its test."""
PROCESSES = "3"
_NOTING = '''
import os

_noted = set()


def note(number):
    """A process that a test has started has the name of the test from its start."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    noted = (os.getpid(), test, number)
    if noted not in _noted:
        _noted.add(noted)
        with open(f"{folder}/{os.getpid()}", "a", encoding="utf-8") as file:
            file.write(f"{number}\\t{test}\\n")
'''


def measure(mutants: list[Mutant], tests: list[str]) -> None:
    """Run the tests over rules that note who reaches them, and write RECORD."""
    with tempfile.TemporaryDirectory() as folder:
        copy, notes = copied(Path(folder, "copy")), Path(folder, "notes")
        notes.mkdir()
        instrument(copy / "src", mutants, notes)
        command = [sys.executable, "-m", "pytest", "-n", PROCESSES, "--no-header", "--tb", "no", *tests]
        subprocess.run(command, cwd=copy, env=environment_of(copy), check=False)
        lines = {line for path in notes.iterdir() for line in path.read_text(encoding="utf-8").splitlines()}
    if RECORD.exists():
        lines.update(RECORD.read_text(encoding="utf-8").splitlines())
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def reached() -> dict[int, set[str]]:
    """Number of a mutant → the test files that reach its rule."""
    found: dict[int, set[str]] = {}
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        number, _, test = line.partition("\t")
        found.setdefault(int(number), set()).add(test)
    return found


def instrument(source: Path, mutants: list[Mutant], notes: Path) -> None:
    """Let each rule note its number, from 1 on; the rules that cannot, such as patterns of a match, are left as they
    are, and noted as reached while modules are imported.
    """
    (source / "hashrange_noting.py").write_text(f"folder = {os.fspath(notes)!r}\n{_NOTING}", encoding="utf-8")
    silent = set(mutants)
    for file in {mutant.file for mutant in mutants}:
        path = source / "hashrange" / file
        text = path.read_text(encoding="utf-8")
        sites = [site for site in sites_of(file, text) if site.mutant in silent]
        sites = [site for site in sites if _compiles(_noting(text, [site], mutants))]
        path.write_text(_noting(text, sites, mutants), encoding="utf-8")
        silent -= {site.mutant for site in sites}
    lines = [f"{mutants.index(mutant) + 1}\t{NO_TEST}\n" for mutant in silent]
    (notes / "silent").write_text("".join(lines), encoding="utf-8")


def _noting(text: str, sites: Iterable[Site], mutants: list[Mutant]) -> str:
    """The text in which the rules at `sites` note their numbers; a rule may be a part of another."""
    inserted = []
    for site in sites:
        begin = f'(__import__("hashrange_noting").note({mutants.index(site.mutant) + 1}) or ('
        inserted += [(site.start, 1, -site.end, begin), (site.end, 0, 0, "))")]
    for position, _, _, words in sorted(inserted, reverse=True):
        text = text[:position] + words + text[position:]
    return text


def _compiles(text: str) -> bool:
    try:
        compile(text, "", "exec")
    except SyntaxError:
        return False
    return True
