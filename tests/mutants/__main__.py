"""Do the tests notice when a rule is broken? `make mutants` breaks 200 rules, one after the other, and runs the tests
that reach the rule until one fails.

The list is `list.txt`, drawn by `--draw SEED`. Each line ends with the test that has noticed the mutant, which runs
first the next time; `-`: no test has; `?`: it has not been run; `= why`: nobody can see it, so that no test runs.
`--only N` runs the mutant of one line, `--since N` those from a line on, `--unnoticed` those that no test has noticed.
"""

import argparse
import contextlib
import queue
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.mutants import reach
from tests.mutants.copies import copied
from tests.mutants.mutant import ROOT, Mutant, drawn
from tests.mutants.trial import UNNOTICED, groups_of, who_notices

LIST = Path(__file__).with_name("list.txt")
MUTANTS = 200
NOT_RUN = "?"
EQUIVALENT = "= "


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--draw", type=int, metavar="SEED", help="draw the list anew")
    parser.add_argument("--only", type=int, metavar="N", help="the mutant of this line alone")
    parser.add_argument("--since", type=int, default=1, metavar="N", help="the mutants from this line on")
    parser.add_argument("--unnoticed", action="store_true", help="the mutants that no test has noticed")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="this many mutants at a time")
    parser.add_argument("--reach", nargs="*", metavar="TESTS", help="run these tests again to see what they reach")
    words = parser.parse_args()
    if words.draw is not None:
        _write([(mutant, NOT_RUN) for mutant in drawn(words.draw, MUTANTS)])
        reach.RECORD.unlink(missing_ok=True)
        return
    known = _read()
    if words.reach is not None or not reach.RECORD.exists():
        reach.measure([mutant for mutant, _ in known], words.reach or ["tests"])
    chosen = [
        number
        for number, (_, noticed) in enumerate(known, start=1)
        if words.only in {None, number}
        and number >= words.since
        and (words.only or not noticed.startswith(EQUIVALENT))
        and (noticed in {UNNOTICED, NOT_RUN} or not words.unnoticed)
    ]
    _try(chosen, known, words.jobs)
    counts = [sum(noticed.startswith(mark) for _, noticed in known) for mark in (UNNOTICED, EQUIVALENT, NOT_RUN)]
    print("Of {} mutants, {} are not noticed, {} are equivalent, {} have not been run.".format(len(known), *counts))


def _try(numbers: list[int], known: list[tuple[Mutant, str]], jobs: int) -> None:
    """Run the mutants of these lines, and write each answer as soon as it is there."""
    reaching = reach.reached()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as threads:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for job in range(jobs):
            copies.put(copied(Path(folder, str(job))))

        def trial(number: int) -> tuple[int, str, int]:
            mutant, noticed = known[number - 1]
            near = groups_of(mutant, reaching.get(number, set()), ROOT / "tests")
            with _taken(copies) as copy:
                return number, who_notices(mutant, [*_first(noticed), *near.groups], copy), near.left_out

        for done in as_completed([threads.submit(trial, number) for number in numbers]):
            number, noticed, left_out = done.result()
            mutant = known[number - 1][0]
            known[number - 1] = (mutant, noticed)
            _write(known)
            rest = f" ({left_out} more test files were not run)" if noticed == UNNOTICED and left_out else ""
            print(
                f"{number} {mutant.file} {mutant.place} {mutant.before} → {mutant.after}: {noticed}{rest}", flush=True
            )


@contextlib.contextmanager
def _taken(copies: queue.SimpleQueue[Path]) -> Iterator[Path]:
    copy = copies.get()
    try:
        yield copy
    finally:
        copies.put(copy)


def _first(noticed: str) -> list[list[str]]:
    """The test that has noticed the mutant before, if it is still there."""
    file = noticed.partition("::")[0]
    return [[noticed]] if file.endswith(".py") and (ROOT / file).exists() else []


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
