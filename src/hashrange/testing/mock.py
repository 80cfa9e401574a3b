"""How does a test catch boto3 clients that the tested code makes itself? `mock_dynamodb`, a context manager and decorator, lets a database answer them."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, overload

from hashrange.testing.blocks import Held, HeldBlocks
from hashrange.testing.database import Database, StartingDatabase, server
from hashrange.testing.decorated import decorated
from hashrange.testing.endpoint_patch import answered_by
from hashrange.testing.environment import configured_clients

F = TypeVar("F", bound=Callable[..., Any])


class DynamoDBMock:
    """Lets a database answer every client, resource and session of boto3, botocore, aioboto3 and aiobotocore.

    `with mock_dynamodb() as database:`, `@mock_dynamodb` and `@mock_dynamodb()` begin with an empty database; if `database`
    is given, that one answers. Clients may exist already or be made in the block; no network, credentials or Region are
    needed. Requests to other services are left alone: also inside moto's `mock_aws`, or around it.

    It may be entered several times, also nested; the innermost block's database answers. Blocks on several threads, or in
    several tasks of asyncio, each have their own database.
    """

    def __init__(self, database: Database | None = None) -> None:
        if isinstance(database, StartingDatabase):
            raise TypeError(
                "mock_dynamodb takes a database that runs. Enter server() first, with `with server() as database:`, and"
                " then write mock_dynamodb(database=database)."
            )
        if not isinstance(database, Database | None):
            raise TypeError(
                f"mock_dynamodb takes a database of server() or of the fixture hashrange, not {database!r}."
            )
        self._database = database
        self._blocks: HeldBlocks[Database] = HeldBlocks()

    @overload
    def __call__(self, function: F, /) -> F: ...
    @overload
    def __call__(self, /, *, database: Database | None = None) -> "DynamoDBMock": ...
    def __call__(self, function: Callable[..., Any] | None = None, /, *, database: Database | None = None) -> Any:
        """Decorate a function of any kind, or the test methods of a class: each call then runs in a `with` block of its own.

        Raises TypeError for a class with methods or fixtures that would run outside these `with` blocks.
        """
        if function is None:
            return DynamoDBMock(database)
        if isinstance(function, Database | StartingDatabase):
            raise TypeError("mock_dynamodb is given its database by name: write mock_dynamodb(database=…).")
        return decorated(function, self._hold)

    def __enter__(self) -> Database:
        return self._blocks.enter(self._hold())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks.leave()

    def _hold(self) -> Held[Database]:
        """A generator that is one block: it yields the database that answers. Closing the generator ends the block."""
        if self._database is None:
            with server() as database, configured_clients(), answered_by(database._transport):  # noqa: SLF001 - of the same package
                yield database
        else:
            self._database.require_open()
            with configured_clients(), answered_by(self._database._transport):  # noqa: SLF001 - of the same package
                yield self._database


mock_dynamodb = DynamoDBMock()
