"""Is a mutant tried by the tests that reach it, and noticed only by a test that passes over the rule as it is?"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import imported
from tests.mutants.copies import environment_of, let_rules_ask
from tests.mutants.imported import who_notices
from tests.mutants.mutant import ROOT, Mutant, is_of_class, sites_of
from tests.mutants.reach import groups_of_package, nearest_first
from tests.mutants.trials import HUNG, UNNOTICED, answers_of

SOURCE = """
SIZES = {2: "small"}
class Found:
    size: int = 3
def fits(size, more):
    match size:
        case 5:
            return more < 7 and not size > 8
        case _:
            return size == 9
"""
FITS = Mutant("a.py", "fits", 0, "more < 7", "more <= 7")
FITS_NINE = Mutant("a.py", "fits", 0, "size == 9", "size != 9")
FITS_RULES = ("more < 7 and not size > 8", "more < 7", "7", "not size > 8", "size > 8", "8")
DIES = "tests/unit/test_a.py::test_dies"
NOTICES = "tests/unit/test_a.py::test_seven"


def test_rules_note_the_tests_that_reach_them(tmp_path: Path) -> None:
    mutants = asking(tmp_path, tmp_path / "notes")
    (tmp_path / "notes").mkdir()
    code = "import os, hashrange.a; os.environ['PYTEST_CURRENT_TEST'] = 'b.py::test_c[d e] (call)'; "
    code += "print(hashrange.a.fits(5, 6), hashrange.a.fits(5, 7), hashrange.a.SIZES, hashrange.a.Found.size)"
    assert output_of(code, tmp_path) == "True False {2: 'small'} 3\n"
    assert noted(tmp_path, mutants) == {("3", ""), *((rule, "b.py::test_c") for rule in FITS_RULES)}


def test_a_process_notes_the_file_of_the_test_that_has_started_it(tmp_path: Path) -> None:
    mutants = asking(tmp_path, tmp_path / "notes")
    (tmp_path / "notes").mkdir()
    code = "import os, hashrange.a; os.environ['PYTEST_CURRENT_TEST'] = 'b.py::test_c (call)'; hashrange.a.fits(4, 0)"
    output_of(code, tmp_path, PYTEST_CURRENT_TEST="a.py::test (setup)")
    assert noted(tmp_path, mutants) == {("3", "a.py"), ("size == 9", "a.py"), ("9", "a.py")}


def test_a_rule_that_asks_is_broken_by_its_number(tmp_path: Path) -> None:
    mutants = asking(tmp_path, None)
    number = mutants.index(FITS) + 1
    assert output_of("from hashrange.a import fits; print(fits(5, 7))", tmp_path, MUTANT=str(number)) == "True\n"
    assert output_of("from hashrange.a import fits; print(fits(5, 7))", tmp_path) == "False\n"


def test_a_process_knows_the_broken_rule_whatever_its_environment(tmp_path: Path) -> None:
    number = asking(tmp_path, None).index(FITS) + 1
    inner = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'src')!r}); from hashrange.a import fits; print(fits(5, 7))"
    )
    code = (
        f"import hashrange.a, subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], env={{}}, check=True)"
    )
    assert output_of(code, tmp_path, MUTANT=str(number)) == "True\n"


def asking(folder: Path, notes: Path | None) -> list[Mutant]:
    """A copy whose rules ask, except the pattern of the match; returns all of them."""
    source = folder / "src" / "hashrange"
    source.mkdir(parents=True)
    (source / "__init__.py").touch()
    (source / "a.py").write_text(SOURCE)
    mutants = [site.mutant for site in sites_of("a.py", SOURCE)]
    not_there = Mutant("gone.py", "fits", 0, "5", "6")
    left = let_rules_ask(folder / "src", [*mutants, not_there], notes)
    assert [(mutant.file, mutant.before) for mutant in left] == [("a.py", "5"), ("gone.py", "5")]
    return mutants


def output_of(code: str, copy: Path, **variables: str) -> str:
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": environment_of(copy)["PYTHONPATH"], **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def noted(folder: Path, mutants: list[Mutant]) -> set[tuple[str, str]]:
    lines = [line for path in (folder / "notes").iterdir() for line in path.read_text().splitlines()]
    pairs = [line.split("\t") for line in lines]
    return {(mutants[int(number) - 1].before, test) for number, test in pairs}


def test_the_nearest_tests_are_first() -> None:
    rule = Mutant("jobs/runner.py", "Runner._rest", 0, "not x", "bool(x)")
    far = "tests/conformance/test_query.py::test_a"
    near = [
        f"tests/unit/jobs/{name}" for name in ("test_runner.py::test_b", "test_expiry.py", "test_expiry.py::test_a")
    ]
    assert nearest_first(rule, {far, *near}) == [*near, far]
    assert not is_of_class(rule)
    assert is_of_class(rule._replace(place="Runner"))
    groups = groups_of_package(rule)
    found = [file for group in groups for file in group]
    assert found[0] == "tests/unit/jobs/test_runner.py"
    assert set(found) == {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/unit/jobs").glob("test_*.py")}
    assert groups_of_package(rule._replace(file="clock.py")) == [["tests/unit/test_clock.py"]]


def test_forks_of_one_process_try_all_mutants(tmp_path: Path) -> None:
    mutants = asking(tmp_path, None)
    write_tests(tmp_path)
    for name in ("__init__", "mutants/__init__", "mutants/copies", "mutants/mutant", "mutants/trials"):
        path = tmp_path / "tests" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text((ROOT / "tests" / f"{name}.py").read_text())
    numbers = [mutants.index(mutant) + 1 for mutant in (FITS, FITS._replace(before="7", after="8"), FITS_NINE)]
    files = ["tests/unit/test_b.py", "tests/unit/test_a.py", "tests/unit/gone.py"]
    trials = [(numbers[0], files[:1]), (numbers[1], files), (numbers[2], [f"{files[1]}::test_dies", files[0]])]
    answers = list(answers_of(trials, 2, tmp_path))
    assert sorted(answers) == sorted([(numbers[0], UNNOTICED, 0), (numbers[1], NOTICES, 0), (numbers[2], DIES, 0)])


@pytest.mark.parametrize(
    ("runs", "noticed"),
    [
        ([(1, "a.py::test_b"), (0, "")], "a.py::test_b"),
        ([(1, "a.py::test_b"), (1, "a.py::test_b"), (1, "a.py::test_c"), (0, "")], "a.py::test_c"),
        ([(1, "a.py::test_b"), (1, "a.py::test_b"), (0, ""), (0, "")], UNNOTICED),
        ([(1, "a.py"), (1, "a.py"), (1, "a.py"), (1, "a.py"), (5, "")], UNNOTICED),
        ([(4, ""), (0, "")], "exit status 4"),
        ([(4, ""), (4, ""), (5, "")], UNNOTICED),
        ([(None, ""), (0, "")], HUNG),
        ([(None, ""), (None, ""), (0, "")], UNNOTICED),
        ([(0, ""), (1, "a.py::test_b"), (0, "")], "a.py::test_b"),
    ],
)
def test_only_a_test_that_passes_over_the_rule_as_it_is_notices(
    runs: list[tuple[int | None, str]], noticed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(runs)
    asked = []

    def run(tests: list[str], without: list[str], broken: int, copy: Path, seconds_max: float) -> imported._Run:
        asked.append((broken, tests, list(without)))
        return imported._Run(*next(left), 0)

    monkeypatch.setattr(imported, "_run", run)
    assert who_notices(7, [["a.py"], ["b.py"]], tmp_path) == noticed
    assert next(left, None) is None
    assert asked[:2] == [(7, ["a.py"], []), (0 if runs[0][0] != 0 else 7, [runs[0][1] or asked[1][1][0]], [])]
    assert (7, ["a.py"], ["a.py::test_b"]) in asked or noticed != "a.py::test_c"


def test_new_processes_try_a_mutant(tmp_path: Path) -> None:
    number = asking(tmp_path, None).index(FITS) + 1
    write_tests(tmp_path)
    groups = [["tests/unit/test_b.py"], ["tests/unit/test_a.py"]]
    assert who_notices(number, groups[:1], tmp_path) == UNNOTICED
    assert who_notices(number, groups, tmp_path) == NOTICES


def write_tests(folder: Path) -> None:
    tests = folder / "tests" / "unit"
    tests.mkdir(parents=True)
    head = "import os\nimport pytest\nfrom hashrange.a import fits\n\n"
    broken = "def test_broken():\n    assert not fits(5, 6)\n\n"
    seven = "def test_seven(more):\n    assert more != 7 or not fits(5, more)\n\n"
    seven = f"@pytest.mark.parametrize('more', ['a b', 7])\n{seven}"
    dies = "def test_dies():\n    if fits(4, 0):\n        os._exit(0)\n"
    (tests / "test_a.py").write_text(head + broken + seven + dies)
    (tests / "test_b.py").write_text(f"{head}def test_six():\n    assert fits(5, 6)\n")
