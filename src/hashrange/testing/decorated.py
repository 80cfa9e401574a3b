"""What does a decorator do to a function or a test class, so that each call is within a block?
It keeps the kind of each function, and refuses what it cannot cover.

It knows nothing of databases: a block is a generator that yields once, and ends when it is closed (`blocks.py`).
"""

import asyncio
import inspect
import re
import sys
import sysconfig
import unittest
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import aclosing, closing
from functools import partialmethod, wraps
from types import FunctionType
from typing import Any

from hashrange.testing.blocks import Held

Hold = Callable[[], Held[Any]]
"""Makes a block; `next` begins it."""

TEST_PREFIX, TEST_CLASS_PREFIX = "test", "Test"
"""How the names of a class's test methods, and of test classes in it, begin."""
NOT_REACHED = ("setup_method", "teardown_method", "setup_class", "teardown_class", "setup", "teardown")
"""Methods of a class that a decorator of the class cannot cover:
pytest calls them around test methods, or did before pytest 8."""
NOT_REACHED_IN_TEST_CASE = ("setUpClass", "tearDownClass")
"""Methods that unittest calls before or after all tests of a class."""
RUNS = ("run", "debug")
"""Methods with which a `unittest.TestCase` runs a test, with all of its stages."""
LIBRARY_FOLDERS = {"site-packages", "dist-packages"}


def decorated(target: Any, hold: Hold) -> Any:
    """The function, so that each call is within a block; or the class, whose test methods are
    replaced by such functions.

    Raises TypeError for anything else, and for a class that would not be covered.
    """
    if isinstance(target, type):
        decorate = _decorated_test_case if issubclass(target, unittest.TestCase) else _decorated_class
        return decorate(target, hold)
    if isinstance(target, staticmethod | classmethod):
        return type(target)(_decorated_function(target.__func__, hold))
    if not callable(target):
        raise TypeError(f"mock_dynamodb decorates functions and classes, not {target!r}.")
    return _decorated_function(target, hold)


# --- classes ------------------------------------------------------------------------------------


def _decorated_test_case(target: type[unittest.TestCase], hold: Hold) -> type[unittest.TestCase]:
    _refuse(
        target,
        NOT_REACHED_IN_TEST_CASE,
        "runs before or after all tests of the class. Leave the decorator out, and begin setUpClass with"
        " cls.enterClassContext(mock_dynamodb()).",
    )

    def run(case: unittest.TestCase, original: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with closing(hold()) as block:
            next(block)
            return original(case, *arguments, **named)

    for name in RUNS:
        # No plain function, because other decorators, such as moto's, decorate all functions that stand in a class.
        setattr(target, name, partialmethod(run, getattr(target, name)))
    return target


def _decorated_class(target: type[Any], hold: Hold) -> type[Any]:
    if not _decorate_tests(target, hold):
        raise TypeError(
            f"mock_dynamodb decorates the test methods of a class, but {target.__name__} has none: no name of a method"
            f' begins with "{TEST_PREFIX}". Decorate its methods one by one.'
        )
    return target


def _decorate_tests(target: type[Any], hold: Hold) -> int:
    """Replace the test methods of a class, and of test classes in it; returns how many there are."""
    remedy = "a fixture that uses the fixture hashrange_boto3, and leave the decorator out."
    _refuse(target, NOT_REACHED, f"runs outside the test methods. Make it {remedy}")
    count = 0
    for name in dir(target):
        member = inspect.getattr_static(target, name)
        if _is_autouse_fixture(member):
            raise TypeError(
                f"mock_dynamodb does not reach the fixture {target.__name__}.{name}, which runs outside the test"
                f" methods. Make it {remedy}"
            )
        if name.startswith(TEST_PREFIX) and isinstance(member, FunctionType | staticmethod | classmethod):
            setattr(target, name, decorated(member, hold))
            count += 1
        elif name.startswith(TEST_CLASS_PREFIX) and isinstance(member, type) and name in vars(target):
            count += _decorate_tests(member, hold)
    return count


def _refuse(target: type[Any], names: tuple[str, ...], reason: str) -> None:
    """Raise TypeError if a class has one of these methods, other than from a base class of a library."""
    for name in names:
        if any(name in vars(base) and not _is_of_library(base) for base in target.__mro__):
            raise TypeError(f"mock_dynamodb does not reach {target.__name__}.{name}, which {reason}")


def _is_of_library(target: type[Any]) -> bool:
    """True for classes of Python and of installed libraries, whose methods call no application."""
    file = getattr(sys.modules.get(target.__module__), "__file__", None)
    if file is None:
        return target.__module__ in sys.builtin_module_names
    return file.startswith(sysconfig.get_path("stdlib")) or not LIBRARY_FOLDERS.isdisjoint(re.split(r"[/\\]", file))


def _is_autouse_fixture(member: Any) -> bool:
    """True for a fixture of pytest that tests need not name.
    The first attribute is that of pytest 8.4, the other of earlier ones.
    """
    marker = getattr(member, "_fixture_function_marker", None) or getattr(member, "_pytestfixturefunction", None)
    return getattr(marker, "autouse", False) is True


# --- functions ----------------------------------------------------------------------------------


def _decorated_function(function: Callable[..., Any], hold: Hold) -> Callable[..., Any]:
    """A function of the same kind, because pytest and others look at the kind."""
    if inspect.iscoroutinefunction(function):
        return _decorated_coroutine(function, hold)
    if inspect.isasyncgenfunction(function):
        return _decorated_asynchronous_generator(function, hold)
    if inspect.isgeneratorfunction(function):
        return _decorated_generator(function, hold)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        block = hold()
        try:
            next(block)
            result = function(*arguments, **named)
            rest = _rest(result, block)
        except BaseException:
            block.close()
            raise
        if rest is None:
            block.close()
            return result
        return rest

    return call


def _rest(result: Any, block: Held[Any]) -> Any:
    """What a call has returned but not yet done, such as a coroutine, within the block; None if all is done.

    The function may be an object, or may be decorated, so that its own kind does not tell.
    If nobody begins what is left to do, the block ends when the returned object is freed.
    """
    if asyncio.isfuture(result):
        result.add_done_callback(lambda _: block.close())
        return result
    if inspect.isgenerator(result):
        decorate: Callable[..., Any] = _decorated_generator
    elif inspect.isasyncgen(result):
        decorate = _decorated_asynchronous_generator
    elif inspect.isawaitable(result):
        decorate = _decorated_coroutine
    else:
        return None
    return decorate(lambda: result, lambda: block)()


def _begin(block: Held[Any]) -> None:
    """Begin a block unless it has begun."""
    if inspect.getgeneratorstate(block) == inspect.GEN_CREATED:
        next(block)


def _decorated_generator(
    function: Callable[..., Generator[Any, Any, Any]], hold: Hold
) -> Callable[..., Generator[Any, Any, Any]]:
    @wraps(function)
    def generate(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        with closing(hold()) as block:
            _begin(block)
            return (yield from function(*arguments, **named))

    return generate


def _decorated_coroutine(function: Callable[..., Any], hold: Hold) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(function)
    async def call_later(*arguments: Any, **named: Any) -> Any:
        with closing(hold()) as block:
            _begin(block)
            return await function(*arguments, **named)

    return call_later


def _decorated_asynchronous_generator(
    function: Callable[..., AsyncGenerator[Any, Any]], hold: Hold
) -> Callable[..., AsyncGenerator[Any, Any]]:
    @wraps(function)
    async def generate_later(*arguments: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        with closing(hold()) as block:
            _begin(block)
            async with aclosing(function(*arguments, **named)) as values:
                try:
                    value = await anext(values)
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # noqa: BLE001 - the decorated generator may handle it
                            value = await values.athrow(error)
                        else:
                            value = await values.asend(sent)
                except StopAsyncIteration:
                    return

    return generate_later
