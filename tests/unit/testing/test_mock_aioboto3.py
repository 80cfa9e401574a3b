"""aioboto3, in an environment of its own because it pins its botocore: the same blocks catch its clients."""

import os
from pathlib import Path

import pytest

from tests.unit.testing.suites import HERE, python_with, run_pytest

NOTHING = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def python() -> str:
    return python_with("with_aioboto3")


@pytest.mark.parametrize(("suite", "count"), [("unmodified", 11), ("imported_late", 2)])
def test_clients_of_this_botocore_are_caught(python: str, suite: str, count: int, tmp_path: Path) -> None:
    text = (HERE / "with_aioboto3" / f"{suite}.py").read_text(encoding="utf-8")
    said = run_pytest(tmp_path, text, python=python, variables=NOTHING)
    assert f"\n{count} passed in " in said, said
