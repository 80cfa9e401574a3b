"""A database that lets every access key in, and clients with any key."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server

ClientFor = Callable[..., Any]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        yield database


@pytest.fixture
def client_for(database: Database) -> ClientFor:
    """client_for(service, keys): a client that signs with the keys of a reply, or with one access key."""

    def client(service: str, keys: Any = "key", region: str = "eu-west-1") -> Any:
        if isinstance(keys, str):
            keys = {"AccessKeyId": keys, "SecretAccessKey": "secret", "SessionToken": None}
        return database.client(
            service,
            region_name=region,
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
        )

    return client


@pytest.fixture
def sts(client_for: ClientFor) -> Any:
    return client_for("sts")
