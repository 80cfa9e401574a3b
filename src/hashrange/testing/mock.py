"""How does a test catch boto3 clients that the tested code makes itself?
`mock_dynamodb`, a context manager and decorator, lets a database answer them.
"""

from collections.abc import Callable, Collection
from typing import Any, NoReturn, TypeVar, overload

from hashrange.testing import moto_names
from hashrange.testing.blocks import Held, HeldBlocks
from hashrange.testing.database import Database, StartingDatabase
from hashrange.testing.decorated import decorated
from hashrange.testing.endpoint_patch import BlockAnswers, SharedDatabase, answered_by, surrounding_answer
from hashrange.testing.environment import configured_clients
from hashrange.testing.other_services import checked_passthrough

F = TypeVar("F", bound=Callable[..., Any])


class DynamoDBMock:
    """Lets a database answer every client, resource and session of boto3, botocore, aioboto3 and aiobotocore.

    `with mock_dynamodb() as database:`, `@mock_dynamodb` and `@mock_dynamodb()` begin with an empty database;
    if `database` is given, that one answers. Clients may exist already or be made in the block;
    no network, credentials or Region are needed. Lambda, CloudWatch, Application Auto Scaling, DAX and STS are answered
    too, unless their client's endpoint is not AWS's, or moto's `mock_aws` is active. Any other request that would reach
    AWS raises ServiceNotMocked, except to the services that `passthrough` names, as boto3 does.

    It may be entered several times, also nested: a block that is given no database shares that of the block around it.
    Blocks on several threads, or in several tasks of asyncio, each have their own database.
    """

    def __init__(self, database: Database | None = None, passthrough: Collection[str] = ()) -> None:
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
        self._passthrough = checked_passthrough(passthrough)
        self._blocks: HeldBlocks[Database] = HeldBlocks()

    @overload
    def __call__(self, function: F, /) -> F: ...
    @overload
    def __call__(self, /, *, database: Database | None = None, passthrough: Collection[str] = ()) -> "DynamoDBMock": ...
    def __call__(self, function: Callable[..., Any] | None = None, /, *, config: object = None, **options: Any) -> Any:
        """Decorate a function of any kind, or the test methods of a class:
        each call then runs in a `with` block of its own.

        Raises TypeError for a class with methods or fixtures that would run outside these `with` blocks.
        """
        if config is not None or isinstance(function, dict):
            raise TypeError(moto_names.told_of_configuration())
        if function is None:
            return DynamoDBMock(**options)
        if isinstance(function, Database | StartingDatabase):
            raise TypeError("mock_dynamodb is given its database by name: write mock_dynamodb(database=…).")
        return decorated(function, self._hold)

    def start(self) -> Database:
        """Begin a block, for code whose end is elsewhere; returns the database that answers.
        Each start needs a `stop`.
        """
        return self._blocks.enter(self._hold())

    def stop(self) -> None:
        """End the block that `start` has begun; the innermost of several. Raises RuntimeError if there is none."""
        self._blocks.leave()

    def __enter__(self) -> Database:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getattr__(self, name: str) -> NoReturn:
        told = moto_names.told_of_attribute(name)
        raise AttributeError(told or f"{type(self).__name__!r} object has no attribute {name!r}")

    def _hold(self) -> Held[Database]:
        """A generator that is one block: it yields the database that answers. Closing the generator ends the block."""
        outer = surrounding_answer()
        let_through = self._passthrough | (outer.passthrough if outer is not None else frozenset())
        if self._database is None and outer is not None and outer.shared.is_usable():
            shared = outer.shared
        else:
            shared = SharedDatabase(self._database)
        user = object()
        try:
            database = shared.enter(user)
            answers = BlockAnswers(shared, database._transport, let_through)  # noqa: SLF001 - of the same package
            with configured_clients(), answered_by(answers):
                yield database
        finally:
            shared.leave(user)


mock_dynamodb = DynamoDBMock()
