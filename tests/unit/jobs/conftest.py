"""Which fixtures do tests of jobs share? A world over each kind of store;
at the end, the offline check must find no faults.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.jobs.world import World


@pytest.fixture
def world_options() -> dict[str, Any]:
    """Options of the world; a test file overrides this fixture to change them."""
    return {}


@pytest.fixture(params=["memory", "disk", "suspending"])
def world(request: pytest.FixtureRequest, tmp_path: Path, world_options: dict[str, Any]) -> Iterator[World]:
    folder = tmp_path / "data" if request.param != "memory" else None
    made = World(folder, is_suspending=request.param == "suspending", **world_options)
    yield made
    assert made.close() == []
