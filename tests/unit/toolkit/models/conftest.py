"""Where do tests of models run them? On one database in memory, on which each leaves nothing, without a port."""

from collections.abc import Iterator

import pytest

from hashrange.cli.model import OWN_ENDPOINT
from hashrange.testing import Database, server
from hashrange.toolkit.target import LOCAL_REGION, Target


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server() as running:
        yield running


@pytest.fixture(scope="module")
def target(database: Database) -> Target:
    return Target(database, OWN_ENDPOINT, LOCAL_REGION, ignores_variables=True)
