"""Which tests reach a rule, and which of them are near? The whole suite runs once over a copy in which each rule notes
the test that runs.
"""

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.copies import copied, environment_of, let_rules_ask
from tests.mutants.mutant import ROOT, Mutant
from tests.support.dealing import FETCHING, SECONDS, group_of

RECORD = ROOT / "build" / "mutants" / "reached.txt"
"""A line for each pair of a number and a test; too large to be committed."""
PROCESSES = "3"
FILE_SECONDS = 1
"""Of a test file that dealing.SECONDS does not name."""
GROUP_SECONDS = (15, 45, 90, 150)
"""How long groups of test files take that run one after the other: most mutants are noticed by the first."""


def measure(mutants: list[Mutant], tests: list[str]) -> None:
    """Run the tests over rules that note who reaches them, and add the pairs to RECORD."""
    with tempfile.TemporaryDirectory() as folder:
        copy, notes = copied(Path(folder, "copy")), Path(folder, "notes")
        notes.mkdir()
        let_rules_ask(copy / "src", mutants, notes)
        command = [sys.executable, "-m", "pytest", "-n", PROCESSES, "--no-header", "--tb", "no", *tests]
        subprocess.run(command, cwd=copy, env=environment_of(copy), check=False)
        lines = {line for path in notes.iterdir() for line in path.read_text(encoding="utf-8").splitlines()}
    if RECORD.exists():
        lines.update(RECORD.read_text(encoding="utf-8").splitlines())
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def reached() -> dict[int, set[str]]:
    """Number of a mutant → the functions of tests that reach its rule, or whole files of tests."""
    found: dict[int, set[str]] = {}
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        number, _, test = line.partition("\t")
        found.setdefault(int(number), set()).add(test)
    return found


def nearest_first(mutant: Mutant, tests: Iterable[str]) -> list[str]:
    """Those of the module's own test file first, then those of its package; those of shorter files first.

    Tests that bind the machine are left out: two of them must not run at the same time, and most fetch and build.
    """
    own_folder, own_file = f"tests/unit/{_package(mutant)}/", f"tests/unit/test_{_package(mutant)}.py"
    module = "/test_" + mutant.file.rpartition("/")[2]

    def nearness(test: str) -> tuple[bool, bool, float, str]:
        file = test.partition("::")[0]
        is_own = file.startswith(own_folder) or file == own_file
        return not (is_own and file.endswith(module)), not is_own, seconds_of(file), test

    return sorted((test for test in tests if group_of(test) not in FETCHING), key=nearness)


def groups_of_package(mutant: Mutant) -> list[list[str]]:
    """The test files of the mutant's package, the nearest first, as far as the groups have room."""
    unit = ROOT / "tests" / "unit"
    found = [*(unit / _package(mutant)).rglob("test_*.py"), *unit.glob(f"test_{_package(mutant)}.py")]
    waiting = nearest_first(mutant, [path.relative_to(ROOT).as_posix() for path in found])
    groups = []
    for seconds_max in GROUP_SECONDS:
        count = sum(end <= seconds_max for end in itertools.accumulate(map(seconds_of, waiting)))
        groups.append(waiting[:count])
        waiting = waiting[count:]
    return [group for group in groups if group]


def _package(mutant: Mutant) -> str:
    return mutant.file.split("/")[0].removesuffix(".py")


def seconds_of(file: str) -> float:
    """How long a test file takes, roughly."""
    return SECONDS.get(group_of(file), FILE_SECONDS)
