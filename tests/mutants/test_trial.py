"""Is a mutant tried by the tests that reach it, and noticed only by a test that passes over the rule as it is?"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import reach, trial
from tests.mutants.mutant import Mutant, sites_of
from tests.mutants.trial import GONE, HUNG, UNNOTICED, groups_of, who_notices

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
NOTICES = "tests/unit/test_a.py::test_seven"


def test_rules_note_the_tests_that_reach_them(tmp_path: Path) -> None:
    make_copy(tmp_path)
    (tmp_path / "notes").mkdir()
    mutants = [site.mutant for site in sites_of("a.py", SOURCE)]
    reach.instrument(tmp_path / "src", mutants, tmp_path / "notes")
    code = "import os, hashrange.a; os.environ['PYTEST_CURRENT_TEST'] = 'tests/b.py::test (call)'; "
    code += "print(hashrange.a.fits(5, 6), hashrange.a.fits(5, 7), hashrange.a.SIZES, hashrange.a.Found.size)"
    environment = {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True False {2: 'small'} 3\n"
    noted = [path.read_text().splitlines() for path in (tmp_path / "notes").iterdir()]
    found = {tuple(line.split("\t")) for lines in noted for line in lines}
    assert {(mutants[int(number) - 1].before, test) for number, test in found} == {
        ("3", ""),
        ("5", ""),
        ("more < 7 and not size > 8", "tests/b.py"),
        ("more < 7", "tests/b.py"),
        ("7", "tests/b.py"),
        ("not size > 8", "tests/b.py"),
        ("size > 8", "tests/b.py"),
        ("8", "tests/b.py"),
    }


def test_the_nearest_tests_run_first() -> None:
    tests = Path("tests").resolve()
    items = sorted(path.name for path in (tests / "unit" / "jobs").glob("test_*.py"))
    own = [f"tests/unit/jobs/{name}" for name in items]
    others = [f"tests/conformance/test_{name}.py" for name in ("query", "scan")]
    rule = Mutant("jobs/runner.py", "Runner._rest", 0, "not x", "bool(x)")
    first, *further = groups_of(rule, {*others, own[0], "tests/unit/jobs/test_runner.py"}, tests).groups
    assert first == sorted({"tests/unit/jobs/test_runner.py", own[0]}, key=lambda file: "runner" not in file)
    assert further == [others[:1], others[1:]]  # a group for conformance takes almost a minute
    assert groups_of(rule, set(), tests).groups == []
    assert set(groups_of(rule, {""}, tests).groups[0]) <= set(own)
    assert groups_of(rule._replace(place="Runner"), set(), tests) == groups_of(rule, {""}, tests)
    many = {f"tests/docs/test_{number}.py" for number in range(99)}
    assert groups_of(rule, many, tests).left_out == 99 - sum(map(len, groups_of(rule, many, tests).groups)) > 0


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
    path = make_copy(tmp_path)
    left = iter(runs)
    deselected = []

    def run(tests: list[str], without: list[str], copy: Path, seconds_max: float) -> trial._Run:
        deselected.append(list(without))
        return trial._Run(*next(left), 0)

    monkeypatch.setattr(trial, "_run", run)
    assert who_notices(FITS, [["a.py"], ["b.py"]], tmp_path) == noticed
    assert next(left, None) is None
    assert path.read_text() == SOURCE
    assert ["a.py::test_b"] in deselected or noticed != "a.py::test_c"


def test_a_mutant_is_tried_in_a_copy(tmp_path: Path) -> None:
    path = make_copy(tmp_path)
    tests = tmp_path / "tests" / "unit"
    tests.mkdir(parents=True)
    head = "import pytest\nfrom hashrange.a import fits\n"
    (tests / "test_b.py").write_text(f"{head}def test_six(): assert fits(5, 6)\n")
    seven = (
        "@pytest.mark.parametrize('more', ['a b', 7])\ndef test_seven(more): assert more != 7 or not fits(5, more)\n"
    )
    (tests / "test_a.py").write_text(f"{head}def test_broken(): assert not fits(5, 6)\n{seven}")
    groups = [["tests/unit/test_b.py"], ["tests/unit/test_a.py"]]
    assert who_notices(FITS, groups[:1], tmp_path) == UNNOTICED
    assert who_notices(FITS, groups, tmp_path) == NOTICES
    assert who_notices(FITS._replace(before="8"), groups, tmp_path) == GONE
    assert who_notices(FITS._replace(file="b.py"), groups, tmp_path) == GONE
    assert path.read_text() == SOURCE


def make_copy(folder: Path) -> Path:
    path = folder / "src" / "hashrange" / "a.py"
    path.parent.mkdir(parents=True)
    path.with_name("__init__.py").touch()
    path.write_text(SOURCE)
    return path
