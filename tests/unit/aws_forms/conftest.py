"""A database whose CloudWatch is asked in raw HTTP."""

from collections.abc import Iterator

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        yield database
