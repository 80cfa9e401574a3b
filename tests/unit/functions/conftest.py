"""What do tests of functions share? A runner of tests in a loop, and programs that do not
depend on the caller's PATH.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.functions.world import Test, run

Runner = Callable[[Test], None]


@pytest.fixture(autouse=True)
def own_python_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the tests runs Python functions, so that they find the libraries of the tests."""
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))


@pytest.fixture
def in_world(tmp_path: Path) -> Runner:
    """Runs a test with a new folder of code."""
    folder = tmp_path / "code"
    folder.mkdir()
    return lambda test: run(folder, test)
