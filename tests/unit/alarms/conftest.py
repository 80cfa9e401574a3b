"""A database with a frozen clock at the begin of a minute, and clients of CloudWatch and DynamoDB."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        database.clock.freeze()
        database.clock.advance(60 - database.clock.now() % 60)
        yield database


@pytest.fixture
def cloudwatch(database: Database) -> Any:
    return database.client("cloudwatch")
