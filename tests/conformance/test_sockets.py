"""Which tests of this folder need a socket? `sockets.txt` names the files where all or some do;
all others run without one, too.
"""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def test_the_list_names_the_tests_that_need_a_socket(request: pytest.FixtureRequest) -> None:
    """Only the files that are collected in this run are checked."""
    tests: dict[str, set[str]] = {}
    without: dict[str, set[str]] = {}
    for item in request.session.items:
        if item.path.parent != FOLDER or item.path.name == Path(__file__).name or not isinstance(item, pytest.Function):
            continue
        tests.setdefault(item.path.name, set()).add(item.originalname)
        if "in process" in item.name:
            without.setdefault(item.path.name, set()).add(item.originalname)
    lines = (FOLDER / "sockets.txt").read_text(encoding="utf-8").splitlines()
    listed = {name: count for count, name in [line.split() for line in lines]}
    for file, names in tests.items():
        needing = names - without.get(file, set())
        expected = "all" if needing == names else "some" if needing else None
        assert listed.get(file) == expected, f"{file}: {len(needing)} of {len(names)} need a socket"
