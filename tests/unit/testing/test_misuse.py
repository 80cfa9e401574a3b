"""Natural mistakes with the test kit are refused at once, with a text that says what to write instead."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from hashrange.server.listener import ListenError
from hashrange.settings import Settings
from hashrange.testing import Database, Fault, mock_dynamodb, server


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as database:
        yield database


def enter(block: Any) -> None:
    with block:
        pass


untyped_mock: Any = mock_dynamodb
untyped_server: Any = server
"""As suites see them that are not checked for types."""

USES: dict[str, tuple[Any, type[Exception], str]] = {
    "a database as the mock's first argument": (
        lambda database: enter(untyped_mock(database)),
        TypeError,
        "write mock_dynamodb(database=…)",
    ),
    "a server that does not run, as the mock's database": (
        lambda _: untyped_mock(database=server()),
        TypeError,
        "Enter server() first, with `with server() as database:`",
    ),
    "a name as the mock's database": (
        lambda _: untyped_mock(database="users"),
        TypeError,
        "mock_dynamodb takes a database of server() or of the fixture hashrange, not 'users'",
    ),
    "a client of a server that does not run": (
        lambda _: server().client(),
        AttributeError,
        "server() has no client until it runs: enter it with `with server() as database:`",
    ),
    "the clock of a server that does not run": (
        lambda _: server().clock,
        AttributeError,
        "server() has no clock until it runs",
    ),
    "what servers do not have": (lambda _: server().start_up, AttributeError, "has no attribute 'start_up'"),
    "a folder as the server's settings": (
        lambda _: untyped_server("folder"),
        TypeError,
        "server takes Settings, as in server(Settings(data_dir=…)), not 'folder'",
    ),
    "a credentials file": (
        lambda _: server(Settings(data_dir=None, credentials="keys.toml")),
        ValueError,
        "Settings(credentials=…) has no effect here: a database inside a program lets every access key in",
    ),
    "a certificate": (
        lambda _: server(Settings(data_dir=None, tls_cert="a.pem", tls_key="a.key")),
        ValueError,
        "Settings(tls_cert=…) has no effect here",
    ),
    "a client of another service": (
        lambda database: database.client("s3"),
        ValueError,
        (
            "clients of dynamodb, dynamodbstreams, lambda, cloudwatch, application-autoscaling, dax, sts;"
            " make a client of s3 with boto3"
        ),
    ),
    "a restore of nothing": (
        lambda database: database.restore(None),
        TypeError,
        "restore takes what snapshot() has returned, not None",
    ),
    "a restore of a file": (
        lambda database: database.restore("base.snapshot"),
        TypeError,
        "With a file, a database begins: server(snapshot=…)",
    ),
    "an advance by a timedelta": (
        lambda database: database.clock.advance(timedelta(days=1)),
        TypeError,
        "such as advance(3600), not by datetime.timedelta(days=1). The seconds of a timedelta are its total_seconds()",
    ),
    "an advance by a text": (lambda database: database.clock.advance("5"), TypeError, "by a number of seconds"),
    "an advance by a truth": (lambda database: database.clock.advance(True), TypeError, "by a number of seconds"),
    "a fault that is a text": (
        lambda database: database.faults.use("throttle"),
        TypeError,
        'faults are given one by one, as in faults.use(Fault("throttle"))',
    ),
    "faults in a list": (
        lambda database: enter(database.faults.during([Fault("throttle")])),
        TypeError,
        "faults are given one by one",
    ),
}


@pytest.mark.parametrize("name", USES)
def test_a_mistake_is_explained(name: str, database: Database) -> None:
    use, kind, text = USES[name]
    with pytest.raises(kind, match=re.escape(text)):
        use(database)
    assert database.client().list_tables()["TableNames"] == []


def test_a_closed_database_does_not_answer_unmodified_clients() -> None:
    with server() as database:
        block = mock_dynamodb(database=database)
    with pytest.raises(RuntimeError, match="This database is closed"):
        enter(block)


def test_a_server_needs_no_parentheses() -> None:
    with server as database:
        assert database.client().list_tables()["TableNames"] == []


def test_a_port_that_is_taken_and_a_host_that_is_none(database: Database) -> None:
    port = int(database.endpoint.rpartition(":")[2])
    with server(port=port) as other:
        with pytest.raises(
            ListenError, match=rf"127\.0\.0\.1:{port}: another program.* with server\(port=…\)"
        ) as caught:
            other.endpoint  # noqa: B018 - it is a property that listens
        assert "--" not in str(caught.value)
        assert other.client().list_tables()["TableNames"] == []
    with (
        server(Settings(data_dir=None, host="a" * 64)) as other,
        pytest.raises(ListenError, match=r"no name of a host\. Mend Settings\(host=…\)"),
    ):
        other.endpoint  # noqa: B018 - it is a property that listens


def test_functions_may_be_switched_on() -> None:
    with server(Settings(data_dir=None, functions=True)) as database:
        assert database.client("lambda").list_functions()["Functions"] == []
