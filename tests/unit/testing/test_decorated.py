"""`mock_dynamodb` as a decorator of what is no plain function: every call is within a block,
or the decorator refuses.
"""

import asyncio
import functools
import gc
import unittest
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.endpoint import Endpoint

from hashrange.testing import mock_dynamodb, server

UNPATCHED = Endpoint.make_request


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let requests that no database answers fail, and every block end."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a request would have gone to the network")

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", refuse)
    yield
    assert Endpoint.make_request is UNPATCHED


def tables() -> list[str]:
    """The tables that code with a client of its own sees."""
    client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any")
    found: list[str] = client.list_tables()["TableNames"]
    return found


def create(name: str) -> None:
    boto3.client("dynamodb", region_name="us-east-1").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def preparing(function: Callable[..., Any]) -> Callable[..., Any]:
    """An ordinary decorator, which knows nothing of coroutines and generators."""

    @functools.wraps(function)
    def prepare(*arguments: Any, **named: Any) -> Any:
        create("prepared")
        return function(*arguments, **named)

    return prepare


# --- functions that return what is yet to be done -----------------------------------------------


@mock_dynamodb
@preparing
async def coroutine() -> list[str]:
    await asyncio.sleep(0)
    return tables()


class Callee:
    async def __call__(self) -> list[str]:
        create("prepared")
        await asyncio.sleep(0)
        return tables()


@mock_dynamodb
def future() -> "asyncio.Future[list[str]]":
    return asyncio.ensure_future(Callee()())


@pytest.mark.parametrize("function", [coroutine, mock_dynamodb(Callee()), future])
def test_what_is_awaited_later_is_answered(function: Callable[[], Awaitable[list[str]]]) -> None:
    async def use() -> list[str]:
        return await function()

    assert asyncio.run(use()) == ["prepared"]


def test_what_a_decorated_generator_does_later_is_answered() -> None:
    @mock_dynamodb
    @preparing
    def generate() -> Iterator[list[str]]:
        yield tables()

    assert list(generate()) == [["prepared"]]


def test_what_a_decorated_asynchronous_generator_does_later_is_answered() -> None:
    @mock_dynamodb
    @preparing
    async def generate() -> AsyncIterator[list[str]]:
        yield tables()

    async def use() -> list[list[str]]:
        return [found async for found in generate()]

    assert asyncio.run(use()) == [["prepared"]]


def test_a_block_ends_with_a_coroutine_that_is_never_awaited() -> None:
    waiting = coroutine()
    assert Endpoint.make_request is not UNPATCHED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        del waiting
        gc.collect()


def test_a_function_that_fails_ends_its_block() -> None:
    @mock_dynamodb
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_an_asynchronous_generator_gets_what_is_sent_and_thrown() -> None:
    ended = []

    @mock_dynamodb
    async def echo() -> AsyncGenerator[Any, Any]:
        got = None
        try:
            while True:
                try:
                    got = yield got
                except ValueError as error:
                    got = error
        finally:
            ended.append(tables())

    async def use() -> None:
        values = echo()
        assert await anext(values) is None
        assert await values.asend("sent") == "sent"
        thrown = ValueError()
        assert await values.athrow(thrown) is thrown
        with pytest.raises(ZeroDivisionError):
            await values.athrow(ZeroDivisionError())
        values = echo()
        await anext(values)
        await values.aclose()

    asyncio.run(use())
    assert ended == [[], []]


# --- methods and classes ------------------------------------------------------------------------


@mock_dynamodb
class Methods:
    @staticmethod
    def test_static() -> list[str]:
        return tables()

    @classmethod
    def test_class(cls) -> list[str]:
        return tables()

    @property
    def test_property(self) -> int:
        return 1

    class TestData:
        size = 1

    class TestInner:
        def test_method(self) -> list[str]:
            return tables()


def test_static_and_class_methods_and_inner_classes_are_answered() -> None:
    assert Methods().test_static() == Methods.test_static() == Methods.test_class() == []
    assert Methods.TestInner().test_method() == []
    assert Methods().test_property == 1


def test_methods_are_decorated_above_and_below_what_makes_them_static() -> None:
    class Several:
        @mock_dynamodb
        @staticmethod
        def above() -> list[str]:
            return tables()

        @staticmethod
        @mock_dynamodb
        def below() -> list[str]:
            return tables()

        @mock_dynamodb
        @classmethod
        def of_class(cls) -> list[str]:
            return tables()

    assert Several.above() == Several().above() == Several.below() == Several.of_class() == []


def test_a_test_case_that_is_debugged_is_answered() -> None:
    found = []

    @mock_dynamodb
    class Debugged(unittest.TestCase):
        __test__ = False

        def setUp(self) -> None:
            create("set-up")

        def runTest(self) -> None:
            found.append(tables())

    Debugged().debug()
    Debugged().run()
    Debugged()()
    unittest.TestSuite([Debugged()]).debug()
    assert found == [["set-up"]] * 4


def test_a_test_case_may_be_decorated_again_by_a_class_that_extends_it() -> None:
    found = []

    @mock_dynamodb
    class Base(unittest.TestCase):
        __test__ = False

        def runTest(self) -> None:
            found.append(tables())

    @mock_dynamodb
    class Extended(Base):
        def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
            create("run")
            return super().run(result)

    Extended()()
    assert found == [["run"]]  # the inner block shares the outer database


@pytest.mark.parametrize(
    "name", ["setup_method", "teardown_method", "setup_class", "teardown_class", "setup", "teardown"]
)
def test_a_class_with_stages_outside_its_tests_is_refused(name: str) -> None:
    base = type("Base", (), {name: lambda _: None})
    members = {"test_it": lambda _: None}
    with pytest.raises(TypeError, match=rf"does not reach Staged\.{name}, .* uses the fixture hashrange_boto3"):
        mock_dynamodb(type("Staged", (base,), members))


@pytest.mark.parametrize("name", ["setUpClass", "tearDownClass"])
def test_a_test_case_with_stages_of_the_class_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"does not reach Staged\.{name}, .*enterClassContext\(mock_dynamodb\(\)\)"):
        mock_dynamodb(type("Staged", (unittest.TestCase,), {name: classmethod(lambda _: None)}))


def test_stages_of_libraries_are_not_refused() -> None:
    library = {"__module__": boto3.Session.__module__, "setUpClass": classmethod(lambda _: None), "setup_method": None}
    mock_dynamodb(type("Case", (type("Base", (unittest.TestCase,), library),), {}))
    mock_dynamodb(type("Class", (type("Base", (), library),), {"test_it": lambda _: None}))


def test_a_class_with_a_fixture_for_all_its_tests_is_refused() -> None:
    class Prepared:
        @pytest.fixture
        def table(self) -> None: ...

        def test_it(self) -> None: ...

    mock_dynamodb(Prepared)
    Prepared.prepare = pytest.fixture(autouse=True)(lambda _: None)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"does not reach the fixture Prepared\.prepare, .*fixture hashrange_boto3"):
        mock_dynamodb(Prepared)


def test_a_class_without_test_methods_is_refused() -> None:
    with pytest.raises(TypeError, match=r'Helper has none: no name of a method begins with "test"'):

        @mock_dynamodb
        class Helper:
            def load(self) -> None: ...


def test_what_cannot_be_decorated_is_refused() -> None:
    anything: Any = mock_dynamodb
    with pytest.raises(TypeError, match="decorates functions and classes, not 'x'"):
        anything("x")
    with server() as database:
        for given in (database, server()):
            with pytest.raises(TypeError, match=r"is given its database by name: write mock_dynamodb\(database=…\)"):
                anything(given)
