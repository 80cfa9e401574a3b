"""What tests of jobs begin with: a world over every kind of store, in which a check finds nothing wrong at the end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.jobs.world import World


@pytest.fixture
def world_options() -> dict[str, Any]:
    """What the world is made with; a file that wants other options has a fixture of this name."""
    return {}


@pytest.fixture(params=["memory", "disk", "suspending"])
def world(request: pytest.FixtureRequest, tmp_path: Path, world_options: dict[str, Any]) -> Iterator[World]:
    folder = tmp_path / "data" if request.param != "memory" else None
    made = World(folder, is_suspending=request.param == "suspending", **world_options)
    yield made
    assert made.close() == []
