"""Which fixtures does pytest get? A database for each test, with clients: empty, or with the base data that `hashrange_base` makes once.

pytest loads this file in every run (entry point `pytest11`), so it imports nothing else of Hashrange until a fixture
is used. One database per process serves all tests; before each test its content and its service time are restored.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hashrange.testing.database import Database, Snapshot


@pytest.fixture(scope="session")
def hashrange_database() -> "Iterator[Database]":
    """The database of this process, for `hashrange_base`; tests use `hashrange`."""
    from hashrange.testing.database import server  # noqa: PLC0415 - only for runs that use it

    with server() as database:
        yield database


@pytest.fixture(scope="session")
def hashrange_base(hashrange_database: "Database") -> None:
    """Makes the tables and items with which each test begins: none. A suite that wants some overrides this fixture."""


@pytest.fixture(scope="session")
def _hashrange_start(hashrange_database: "Database", hashrange_base: object) -> "Snapshot":
    return hashrange_database.snapshot()


@pytest.fixture
def hashrange(hashrange_database: "Database", _hashrange_start: "Snapshot") -> "Database":
    """A database with nothing but the base data, whatever the test before did."""
    hashrange_database.restore(_hashrange_start)
    return hashrange_database


@pytest.fixture
def dynamodb_client(hashrange: "Database") -> Any:
    """A boto3 client of the test's database."""
    return hashrange.client()


@pytest.fixture
def dynamodb_resource(hashrange: "Database") -> Any:
    """A boto3 resource of the test's database."""
    return hashrange.resource()


@pytest.fixture
def hashrange_boto3(hashrange: "Database") -> "Iterator[Database]":
    """While the test runs, its database answers every client that any code makes with boto3 or aioboto3, or has made."""
    from hashrange.testing.mock import mock_dynamodb  # noqa: PLC0415 - only for runs that use it

    with mock_dynamodb(database=hashrange):
        yield hashrange


@pytest.fixture
def hashrange_endpoint(hashrange: "Database") -> str:
    """The URL at which the test's database serves programs of any language on this machine."""
    return hashrange.endpoint


@pytest.fixture
def hashrange_environment(hashrange_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Environment variables, also set in the test's process, with which programs that it starts call the test's database."""
    from hashrange.testing import environment  # noqa: PLC0415 - only for runs that use it

    variables = environment.endpoint_variables(hashrange_endpoint)
    for name in environment.MISLEADING_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables
