"""Which fixtures does pytest get? A database for each test, with clients:
empty, or with the base data that `hashrange_base` makes once.

pytest loads this file in every run (entry point `pytest11`), so it imports nothing else of Hashrange until a fixture
is used. One database per process serves all tests; before each test its content and its service time are restored.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hashrange.testing.database import Database, Snapshot
    from hashrange.testing.kept_client import KeptClient

BASE = "hashrange_base"
FOR_ALL_CLIENTS = "hashrange_boto3"
_STARTS: "pytest.StashKey[dict[Any, Snapshot]]" = pytest.StashKey()
"""Two kinds of entries: a database → its first content; a definition of `hashrange_base` and a database → the content
that the fixture has made there."""


@pytest.fixture(scope="session")
def hashrange_database() -> "Iterator[Database]":
    """The database of this process, for `hashrange_base`; tests use `hashrange`."""
    from hashrange.testing.database import server  # noqa: PLC0415 - only for runs that use it

    with server() as database, database.kept_open():
        yield database


@pytest.fixture(scope="session")
def hashrange_base(hashrange_database: "Database") -> None:
    """Makes the tables and items with which each test begins: none. A suite that wants some overrides this fixture."""


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, None]:
    """Let each `hashrange_base` begin with an empty database, or with that of the fixture that
    it extends; keep its data.
    """
    if fixturedef.argname != BASE:
        yield
        return
    database = request.getfixturevalue("hashrange_database")
    starts = request.session.stash.setdefault(_STARTS, {})
    if BASE in fixturedef.argnames:
        database.restore(_start(database, request))
    elif database in starts:
        database.restore(starts[database])
    else:
        starts[database] = database.snapshot()
    outcome = yield
    if outcome.excinfo is None:
        starts[fixturedef, database] = database.snapshot()


def pytest_itemcollected(item: Any) -> None:
    """Let `hashrange_boto3` begin before the test's other fixtures of that scope:
    those that use `mock_dynamodb` then share its database.
    """
    names = getattr(item, "fixturenames", [])
    if FOR_ALL_CLIENTS in names:
        defined = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - there is no public way to a fixture's scope
        names.remove(FOR_ALL_CLIENTS)
        scopes = [defined[name][-1].scope if name in defined else "" for name in names]
        names.insert(scopes.index("function") if "function" in scopes else len(names), FOR_ALL_CLIENTS)


def _start(database: "Database", request: Any) -> "Snapshot":
    """The content that the `hashrange_base` of this request has made."""
    base = request._get_active_fixturedef(BASE)  # noqa: SLF001 - a folder's override; there is no public way to it
    starts = request.session.stash[_STARTS]
    if (base, database) not in starts:
        if base.func.__module__ != __name__:
            pytest.fail(
                "hashrange_base has made its data in another hashrange_database: where you override hashrange_database,"
                " override hashrange_base too.",
                pytrace=False,
            )
        starts[base, database] = database.snapshot()
    return starts[base, database]  # type: ignore[no-any-return]


@pytest.fixture
def hashrange(
    hashrange_database: "Database", hashrange_base: object, request: pytest.FixtureRequest
) -> "Iterator[Database]":
    """A database with nothing but the base data, whatever the test before did; it cannot be closed."""
    hashrange_database.restore(_start(hashrange_database, request))
    with hashrange_database.kept_open():
        yield hashrange_database


@pytest.fixture(scope="session")
def _hashrange_clients() -> "dict[Database, KeptClient]":
    return {}


@pytest.fixture
def dynamodb_client(hashrange: "Database", _hashrange_clients: "dict[Database, KeptClient]") -> Any:
    """A boto3 client of the test's database; the same client as in the test before,
    unless that test has changed the client.
    """
    from hashrange.testing.kept_client import KeptClient  # noqa: PLC0415 - only for runs that use it

    if hashrange not in _hashrange_clients:
        _hashrange_clients[hashrange] = KeptClient(hashrange)
    return _hashrange_clients[hashrange].take()


@pytest.fixture
def dynamodb_resource(hashrange: "Database") -> Any:
    """A boto3 resource of the test's database."""
    return hashrange.resource()


@pytest.fixture
def hashrange_boto3(hashrange: "Database") -> "Iterator[Database]":
    """While the test runs, its database answers every client that any code makes with
    boto3 or aioboto3, or has made.
    """
    from hashrange.testing import mock_dynamodb  # noqa: PLC0415 - only for runs that use it

    with mock_dynamodb(database=hashrange):
        yield hashrange


@pytest.fixture
def hashrange_endpoint(hashrange: "Database") -> str:
    """The URL at which the test's database serves programs of any language on this machine."""
    return hashrange.endpoint


@pytest.fixture
def hashrange_environment(hashrange_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Environment variables, also set in the test's process, with which programs that it starts
    call the test's database.
    """
    from hashrange.testing.database import MISLEADING_VARIABLES, endpoint_variables  # noqa: PLC0415 - only for runs that use it

    variables = endpoint_variables(hashrange_endpoint)
    for name in MISLEADING_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables
