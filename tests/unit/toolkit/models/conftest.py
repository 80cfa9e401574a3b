"""Where do tests of models run them? On one server, on which each leaves nothing."""

from collections.abc import Iterator

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from hashrange.toolkit.target import Target, TargetOptions, find_target


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as running:
        yield running


@pytest.fixture(scope="module")
def target(database: Database) -> Target:
    return find_target(TargetOptions(endpoint=database.endpoint), {})
