"""How does a test catch boto3 clients that the tested code makes itself? `mock_dynamodb`, a context manager and decorator, lets a database answer them."""

import inspect
import unittest
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import ExitStack, aclosing
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, TypeVar, overload

from hashrange.testing.database import Database, server
from hashrange.testing.endpoint_patch import answered_by
from hashrange.testing.environment import configured_clients

F = TypeVar("F", bound=Callable[..., Any])

TEST_PREFIX = "test"
"""How the names of a class's test methods begin."""
SETUP_METHOD = "setup_method"
"""The method of a class that pytest calls before each test method. What decorates the test method does not include it."""


class DynamoDBMock:
    """Lets a database answer every client, resource and session of boto3, botocore, aioboto3 and aiobotocore.

    `with mock_dynamodb() as database:`, `@mock_dynamodb` and `@mock_dynamodb()` begin with an empty database; if `database`
    is given, that one answers. Clients may exist already or be made in the block; no network, credentials or Region are
    needed. Requests to other services are left alone: also inside moto's `mock_aws`, or around it.

    It may be entered several times, also nested; the innermost block's database answers.
    """

    def __init__(self, database: Database | None = None) -> None:
        self._database = database
        self._entered: list[ExitStack] = []

    @overload
    def __call__(self, function: F, /) -> F: ...
    @overload
    def __call__(self, /, *, database: Database | None = None) -> "DynamoDBMock": ...
    def __call__(self, function: Callable[..., Any] | None = None, /, *, database: Database | None = None) -> Any:
        """Decorate a function of any kind, or the test methods of a class: each call then has a block of its own."""
        if function is None:
            return DynamoDBMock(database)
        return self._decorated_class(function) if isinstance(function, type) else self._decorated(function)

    def __enter__(self) -> Database:
        with ExitStack() as stack:
            database = self._database or stack.enter_context(server())
            stack.enter_context(configured_clients())
            stack.enter_context(answered_by(database._transport))  # noqa: SLF001 - of the same package
            self._entered.append(stack.pop_all())
        return database

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.pop().close()

    def _decorated_class(self, target: type[Any]) -> type[Any]:
        if issubclass(target, unittest.TestCase):
            target.run = self._decorated(target.run)  # type: ignore[method-assign]
            return target
        if hasattr(target, SETUP_METHOD):
            raise TypeError(
                f"mock_dynamodb does not reach {target.__name__}.{SETUP_METHOD}, which runs before each test method; make it"
                " a fixture that uses the fixture hashrange_boto3, and leave the decorator out"
            )
        for name in dir(target):
            method = inspect.getattr_static(target, name)
            if name.startswith(TEST_PREFIX) and isinstance(method, FunctionType):
                setattr(target, name, self._decorated(method))
        return target

    def _decorated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the same kind, because pytest and others look at the kind."""

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with DynamoDBMock(self._database):
                return function(*arguments, **named)

        @wraps(function)
        def generate(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
            with DynamoDBMock(self._database):
                return (yield from function(*arguments, **named))

        @wraps(function)
        async def call_later(*arguments: Any, **named: Any) -> Any:
            with DynamoDBMock(self._database):
                return await function(*arguments, **named)

        @wraps(function)
        async def generate_later(*arguments: Any, **named: Any) -> AsyncIterator[Any]:
            with DynamoDBMock(self._database):
                async with aclosing(function(*arguments, **named)) as values:
                    async for value in values:
                        yield value

        if inspect.iscoroutinefunction(function):
            return call_later
        if inspect.isasyncgenfunction(function):
            return generate_later
        return generate if inspect.isgeneratorfunction(function) else call


mock_dynamodb = DynamoDBMock()
