"""The client of one test serves the next one, unless a test has changed it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.stub import Stubber

from hashrange.testing import Database, server
from hashrange.testing.kept_client import KeptClient


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as database:
        yield database


def stub(client: Any) -> None:
    Stubber(client).activate()


def listen(client: Any) -> None:
    client.meta.events.register("before-send.dynamodb.*", lambda **_: None)


def stop_listening(client: Any) -> None:
    client.meta.events.unregister("before-parameter-build.dynamodb", lambda **_: None)


def replace_method(client: Any) -> None:
    client.list_tables = lambda: {"TableNames": ["forged"]}


def replace_private_method(client: Any) -> None:
    client._make_api_call = lambda *_: {"TableNames": ["forged"]}


class Equal:
    """What claims to be equal to everything, as `mock.ANY` does."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


def replace_member_by_an_equal_one(client: Any) -> None:
    client._endpoint.http_session = Equal()


def replace_options(client: Any) -> None:
    client.meta._client_config = Config()


def set_option(client: Any) -> None:
    client.meta.config.retries = {"total_max_attempts": 1}


def add_option(client: Any) -> None:
    client.meta.config.marker = 1


def change_option(client: Any) -> None:
    client.meta.config.retries["total_max_attempts"] = 99


CHANGES = [
    stub,
    listen,
    stop_listening,
    replace_method,
    replace_private_method,
    replace_member_by_an_equal_one,
    replace_options,
    set_option,
    add_option,
    change_option,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_client_is_not_kept(database: Database, change: Callable[[Any], None]) -> None:
    kept = KeptClient(database)
    first = kept.take()
    change(first)
    second = kept.take()
    assert second is not first
    assert second.list_tables()["TableNames"] == []
    assert kept.take() is second


def test_a_client_that_was_only_used_is_kept(database: Database) -> None:
    kept = KeptClient(database)
    client = kept.take()
    client.list_tables()
    list(client.get_paginator("list_tables").paginate())
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName="none")
    client.close()
    assert kept.take() is client
    assert client.list_tables()["TableNames"] == []
