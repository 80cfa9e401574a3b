"""A database with a table without sort key, `music`, and one with sort key and indexes, `chat`."""

from collections.abc import Iterator

import pytest

from hashrange.testing.database import Database, server
from tests.unit.faults.kit import make_chat, make_music


@pytest.fixture
def database() -> Iterator[Database]:
    """The database, without faults."""
    with server() as database:
        client = database.client()
        make_music(client)
        make_chat(client)
        yield database
