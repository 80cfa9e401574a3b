"""A database for exports and imports."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from hashrange.transfers import flows
from tests.support.memory_objects import MemoryObjects
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.transfers.transferred import give_objects, need_no_setting


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    need_no_setting(monkeypatch)
    monkeypatch.setattr(flows, "SILENT_SECONDS_MAX", PATIENCE_SECONDS)


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as opened:
        yield opened


@pytest.fixture
def objects(database: Database) -> MemoryObjects:
    return give_objects(database)


@pytest.fixture
def client(database: Database) -> Any:
    return database.client()
