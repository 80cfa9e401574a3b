"""Do the tests follow their own rules? No test's result may depend on how long something takes,
because that depends on the machine.
"""

import ast
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from hashrange.cli.settings_sources import load_settings
from tests.support.source_trees import parsed

TESTS = Path(__file__).parent
OF_OTHERS = {".venv", "node_modules"}
"""Folders of libraries that tests of clients have fetched."""

CLOCKS = {
    "time": {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns",
             "thread_time", "thread_time_ns", "time_ns"},
    "timeit": {"timeit", "repeat", "Timer", "default_timer"},
    "resource": {"getrusage"},
    "os": {"times"},
}  # fmt: skip
"""Functions that measure durations. The time of day, which signatures need, is not included."""
CLOCK_READERS = {
    "support/waiting.py": "its time-out ends a test that would hang",
    "support/processes.py": "it asks a process whose test hangs where it stands",
    "support/times.py": "it prints how long the tests took, and asserts nothing of it",
    "mutants/trials.py": "its time-outs end tests that hang over a broken rule",
    "mutants/imported.py": "its time-outs end tests that hang over a broken rule",
    "soak/test_connections.py": "it prints what it sees, for the reader of a soak, and asserts nothing of it",
    "unit/cli/test_serve.py": "a start may cost a multiple of the imports under it, which the same run measures",
    "unit/server/test_signing_names.py": (
        "a long header may take a multiple of a shorter one's time, which the same run measures"
    ),
    "unit/server/test_others_long_heads.py": (
        "a long head may take a multiple of a shorter one's time, which the same run measures"
    ),
    "unit/items/test_numbers.py": (
        "a long text may take a multiple of a shorter one's time, which the same run measures"
    ),
}
"""Test files that may read a clock, and why they do not compare times with constants."""


@cache
def texts() -> dict[str, str]:
    """File of the tests → its text."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(TESTS):
        folders[:] = set(folders) - OF_OTHERS
        paths = [Path(folder, name) for name in names if name.endswith(".py")]
        found |= {path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return found


def trees_with(words: Iterable[str]) -> dict[str, ast.Module]:
    """File of the tests → its syntax tree, of those that have one of these words."""
    has_one = re.compile(rf"\b(?:{'|'.join(words)})\b").search
    return parsed({file: text for file, text in texts().items() if has_one(text)})


def clocks_read(tree: ast.Module) -> Iterator[str]:
    """Every clock that a file uses, under any import or name."""
    modules = {"resource": "resource"}  # which some files import by pytest.importorskip
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in CLOCKS}
        elif isinstance(node, ast.ImportFrom) and node.module in CLOCKS:
            yield from (alias.name for alias in node.names if alias.name in CLOCKS[node.module])
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if attribute in CLOCKS.get(modules.get(name, ""), ()):
                    yield attribute


def hurried_properties(tree: ast.Module) -> Iterator[str]:
    """Every hypothesis test with a deadline, which is 0.2 seconds by default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            called = {ast.unparse(call.func): call for call in node.decorator_list if isinstance(call, ast.Call)}
            if "given" in called:
                chosen = called["settings"].keywords if "settings" in called else []
                if not any(word.arg is None or ast.unparse(word) == "deadline=None" for word in chosen):
                    yield node.name


def test_no_test_compares_a_time_with_a_constant() -> None:
    """Tests count steps (tests/support/working.py, tests/torture/test_turns.py), or compare two readings of one run."""
    clocks = set.union(*CLOCKS.values())
    assert {file for file, tree in trees_with(clocks).items() if any(clocks_read(tree))} == set(CLOCK_READERS)


def test_no_property_has_a_deadline() -> None:
    hurried = [f"{file}: {name}" for file, tree in trees_with(["given"]).items() for name in hurried_properties(tree)]
    assert not hurried, "say deadline=None"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time\ntime.monotonic()", ["monotonic"]),
        ("import time as clock\ndef f(): clock.perf_counter()", ["perf_counter"]),
        ("from time import process_time", ["process_time"]),
        ("def f():\n    import resource\n    resource.getrusage(0)", ["getrusage"]),
        ("resource = pytest.importorskip('resource')\nresource.getrusage(0)", ["getrusage"]),
        ("import timeit\ntimeit.repeat(f)", ["repeat"]),
        ("import time\ntime.time()\ntime.sleep(1)\nclock.monotonic()", []),
    ],
)
def test_clocks_are_told_from_the_time_of_day(source: str, expected: list[str]) -> None:
    assert list(clocks_read(ast.parse(source))) == expected


@pytest.mark.parametrize(
    ("decorators", "expected"),
    [
        ("@given(x)", ["f"]),
        ("@settings(max_examples=5)\n@given(x)", ["f"]),
        ("@settings(deadline=200)\n@given(x)", ["f"]),
        ("@settings(deadline=None)\n@given(x)", []),
        ("@settings(**SETTINGS)\n@given(x)", []),
        ("@fixture()", []),
    ],
)
def test_deadlines_are_found(decorators: str, expected: list[str]) -> None:
    assert list(hurried_properties(ast.parse(f"{decorators}\ndef f(x): pass"))) == expected


def test_names_of_files_are_plain_ascii() -> None:
    """A test that writes into the current folder may leave a file with a hostile name, and somebody may commit it."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=TESTS.parent, capture_output=True, check=False)
    if listing.returncode != 0:
        pytest.skip("the files are in no git repository")
    names = listing.stdout.split(b"\0")
    assert b"tests/test_rules.py" in names
    assert not [name for name in names if not (name.isascii() and name.decode("ascii").isprintable())]


def test_no_variable_of_a_test_makes_a_server_complain() -> None:
    """Servers that tests start see these variables too, and warn of every unknown HASHRANGE_… variable."""
    named = {name for text in texts().values() for name in re.findall(r'environ\.get\("(HASHRANGE_\w+)"', text)}
    assert len(named) > 5
    assert load_settings({}, dict.fromkeys(named, "1")).warnings == []
