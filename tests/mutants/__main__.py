"""Do the tests notice when a rule is broken? `make mutants` breaks 200 rules, one after the other, and runs the tests
that reach the rule until one fails.

The list is `list.txt`, drawn by `--draw SEED`. Each line ends with the test that has noticed the mutant, which runs
first the next time; `hung`: its tests do not end; `-`: no test has noticed it; `?`: it has not been run; `gone`: there
is no such rule any more, or it cannot be broken while it runs; `= why`: nobody can see it, so that no test runs.
`--only N` runs the mutant of one line, `--since N` those from a line on, `--unnoticed` those that no test has noticed.
"""

import argparse
import tempfile
from pathlib import Path

from tests.mutants import reach
from tests.mutants.copies import NO_TEST, copied, let_rules_ask
from tests.mutants.imported import who_notices
from tests.mutants.mutant import ROOT, Mutant, drawn, is_of_class
from tests.mutants.reach import groups_of_package, nearest_first
from tests.mutants.trials import UNNOTICED, answers_of

LIST = Path(__file__).with_name("list.txt")
MUTANTS = 200
NOT_RUN = "?"
EQUIVALENT = "= "
GONE = "gone"


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
    """Try the mutants of these lines, and write each answer as soon as it is there."""
    mutants = [mutant for mutant, _ in known]
    first = {number: _still_there(known[number - 1][1]) for number in numbers}

    def answer(number: int, noticed: str, left: int = 0) -> None:
        known[number - 1] = (mutants[number - 1], noticed)
        _write(known)
        file, place, _, before, after = mutants[number - 1]
        rest = f" ({left} more tests were not run)" if left else ""
        print(f"{number} {file} {place} {before} → {after}: {noticed}{rest}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        gone = let_rules_ask(copy / "src", mutants)
        reaching = reach.reached()
        trials, unnoticed = [], dict.fromkeys(numbers, 0)
        for number in numbers:
            tests = nearest_first(mutants[number - 1], reaching.get(number, set()) - {NO_TEST})
            if tests:
                trials.append((number, [*first[number], *tests]))
        for number, noticed, left in answers_of(trials, jobs, copy):
            unnoticed[number] = left
            if noticed != UNNOTICED:
                del unnoticed[number]
                answer(number, noticed)
        for number, left in unnoticed.items():
            mutant = mutants[number - 1]
            if mutant in gone:
                answer(number, GONE)
            elif NO_TEST in reaching.get(number, set()) or is_of_class(mutant):
                groups = [group for group in (first[number], *groups_of_package(mutant)) if group]
                answer(number, who_notices(number, groups, copy), left)
            else:
                answer(number, UNNOTICED, left)


def _still_there(noticed: str) -> list[str]:
    """The test that has noticed a mutant before, if its file is still there."""
    file = noticed.partition("::")[0]
    return [noticed] if file.endswith(".py") and (ROOT / file).exists() else []


def _read() -> list[tuple[Mutant, str]]:
    found = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        file, place, number, before, after, noticed = line.split("\t")
        found.append((Mutant(file, place, int(number), before, after), noticed))
    return found


def _write(known: list[tuple[Mutant, str]]) -> None:
    lines = ["\t".join((*map(str, mutant), noticed)) for mutant, noticed in known]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
