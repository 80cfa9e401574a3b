"""A database whose service time stands still, over either store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database


@pytest.fixture(params=["memory", "disk"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    folder = None if request.param == "memory" else str(tmp_path / "data")
    with server(Settings(data_dir=folder)) as database:
        database.clock.freeze()
        yield database
