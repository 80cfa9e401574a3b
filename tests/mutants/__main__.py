"""Do the tests notice when a rule is broken? `make mutants` breaks 200 rules, one after the other, and runs the tests
that are near until one fails.

The list is `list.txt`, drawn by `--draw SEED`. Each line ends with the test that has noticed the mutant, which is asked
first the next time; `-`: no test has; `?`: it has not been run. `--only N` runs the mutant of one line, `--since N`
those from a line on.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutant import ROOT, SOURCE, Mutant, drawn, mutants_of

LIST = Path(__file__).with_name("list.txt")
MUTANTS = 200
SECONDS_MAX = 600.0
"""A mutant whose tests take longer hangs, which is noticed too."""
UNNOTICED = "-"
NOT_RUN = "?"
HUNG = "hung"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--draw", type=int, metavar="SEED", help="draw the list anew")
    parser.add_argument("--only", type=int, metavar="N", help="the mutant of this line alone")
    parser.add_argument("--since", type=int, default=1, metavar="N", help="the mutants from this line on")
    words = parser.parse_args()
    if words.draw is not None:
        _write([(mutant, NOT_RUN) for mutant in drawn(words.draw, MUTANTS)])
        return
    known = _read()
    with tempfile.TemporaryDirectory() as folder:
        copy = _copied(Path(folder))
        for place, (mutant, noticed_by) in enumerate(known):
            if place + 1 < words.since or words.only not in {None, place + 1}:
                continue
            noticed = _noticed(mutant, noticed_by, copy)
            print(place + 1, *mutant[:2], f"{mutant.before} → {mutant.after}:", noticed, flush=True)
            known[place] = (mutant, noticed)
            _write(known)
    unnoticed = sum(noticed == UNNOTICED for _, noticed in known)
    not_run = sum(noticed == NOT_RUN for _, noticed in known)
    print(f"{unnoticed} of {len(known) - not_run} mutants are not noticed, and {not_run} have not been run.")


def _copied(folder: Path) -> Path:
    """A copy of the project in which rules can be broken."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", "target", ".venv", ".git", ".bench")
    for name in ("src", "tests", "docs", "benchmarks", "torture", "changelog.d", ".github"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, folder / path.name)
    return folder


def _noticed(mutant: Mutant, noticed_by: str, copy: Path) -> str:
    """The first test that fails over the mutant, HUNG, or UNNOTICED."""
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    broken = mutants_of(mutant.file, text).get(mutant)
    if broken is None:
        return "gone"
    path = copy / "src" / "hashrange" / mutant.file
    path.write_text(broken, encoding="utf-8")
    try:
        for tests in _near(mutant, noticed_by, copy):
            failed = _failed(tests, copy)
            if failed is not None:
                return failed
        return UNNOTICED
    finally:
        path.write_text(text, encoding="utf-8")


def _near(mutant: Mutant, noticed_by: str, copy: Path) -> list[list[str]]:
    """Tests to run one group after the other: the one that has noticed it, those of the package, and all others."""
    groups = []
    if "::" in noticed_by or noticed_by.endswith(".py"):
        groups.append([noticed_by.partition("::")[0]])
    package = mutant.file.split("/")[0].removesuffix(".py")
    names = [f"tests/unit/{package}", f"tests/unit/test_{package}.py"]
    groups.append([name for name in names if (copy / name).exists()])
    groups += [["tests/scripts", "tests/conformance"], ["tests/unit"], ["tests/model", "tests/fuzz", "tests/clients"]]
    return [group for group in groups if group]


def _failed(tests: list[str], copy: Path) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-n", "2", "-p", "no:randomly", "--no-header", *tests]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return HUNG
    if done.returncode in {0, 5}:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else f"rc {done.returncode}"


def _read() -> list[tuple[Mutant, str]]:
    found = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        file, place, number, before, after, noticed = line.split("\t")
        found.append((Mutant(file, place, int(number), before, after), noticed))
    return found


def _write(known: list[tuple[Mutant, str]]) -> None:
    lines = ["\t".join((*map(str, mutant), noticed)) for mutant, noticed in known]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
