"""Are rules broken one at a time, and drawn by their seed?"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants import mutant
from tests.mutants.mutant import ROOT, drawn, mutants_of

SOURCE = '''
LIMIT = 10
class Found(Base, frozen=True):
    size: int = 3
def fits(sizes, more):
    """At most 5."""
    if not sizes and more < 7:
        return True
    if more:
        raise ValueError("3", more == 4)
    return {sum}
'''


@pytest.mark.parametrize(
    ("result", "broken"),
    [
        ("sizes + more", "sizes - more"),
        ("'é' in sizes", "'é' not in sizes"),
        ("len(sizes) is more", "len(sizes) is not more"),
        ("(more if sizes else 1) in more", "(more if sizes else 1) not in more"),
    ],
)
def test_what_is_broken(result: str, broken: str) -> None:
    text = SOURCE.replace("{sum}", result)
    found = mutants_of("a.py", text)
    assert {(one.place, one.before, one.after) for one in found} == {
        ("Found", "3", "4"),
        ("fits", "not sizes and more < 7", "((not sizes) or (more < 7))"),
        ("fits", "not sizes", "bool(sizes)"),
        ("fits", "more < 7", "more <= 7"),
        ("fits", "7", "8"),
        ("fits", "True", "False"),
        ("fits", result, broken),
    }
    for mutated in found.values():
        ast.parse(mutated)
        differing = [pair for pair in zip(text.splitlines(), mutated.splitlines(), strict=True) if pair[0] != pair[1]]
        assert len(differing) == 1


@pytest.fixture
def few_sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A part of the package that is drawn from, because all of it takes seconds."""
    assert mutant.SOURCE == ROOT / "src" / "hashrange"
    monkeypatch.setattr(mutant, "SOURCE", mutant.SOURCE / "server")
    mutant._by_package.cache_clear()
    yield mutant.SOURCE
    mutant._by_package.cache_clear()


def test_the_seed_draws(few_sources: Path) -> None:
    assert drawn(7, 60) == drawn(7, 60) != drawn(8, 60)
    assert {one.file for one in drawn(7, 60)} <= {
        path.relative_to(few_sources).as_posix() for path in few_sources.rglob("*.py")
    }
