"""A database that records its metrics, with service time frozen at the begin of a minute."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.metric_recording.seen import Seen, freeze_at_minute

ONCE = Config(retries={"total_max_attempts": 1})


@pytest.fixture
def database() -> Iterator[Database]:
    """The database."""
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        freeze_at_minute(database)
        yield database


@pytest.fixture
def seen(database: Database) -> Seen:
    """What it records."""
    return Seen(database)


@pytest.fixture
def client(database: Database) -> Any:
    """A client that does not try again."""
    return database.client(config=ONCE)
