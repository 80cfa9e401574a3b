"""A database with a table without sort key, `music`, and one with sort key and indexes, `chat`."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hashrange.testing.database import Database, Snapshot, server
from tests.unit.faults.kit import impatient, make_chat, make_music


@contextmanager
def begun() -> Iterator[Database]:
    """A new database with the tables."""
    with server() as database:
        client = impatient(database)
        make_music(client)
        make_chat(client)
        yield database


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Database, Snapshot]]:
    """The database of the tests of a file, and its first content."""
    with begun() as database:
        yield database, database.snapshot()


@pytest.fixture
def database(shared: tuple[Database, Snapshot]) -> Iterator[Database]:
    """The database with its first content, without faults; it cannot be closed."""
    database, snapshot = shared
    database.restore(snapshot)
    with database.kept_open():
        yield database


@pytest.fixture
def own_database() -> Iterator[Database]:
    """A database of this test alone."""
    with begun() as database:
        yield database
