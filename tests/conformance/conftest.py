"""One server for the whole conformance suite, and clients of it.

`pytest tests/conformance --endpoint URL` runs the suite against another server instead; the environment's AWS credentials
and Region are then used when they are set.
"""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config

from tests.support.raw_client import RawClient
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--endpoint", help="URL of a running server to test instead of our own")


@pytest.fixture(scope="session")
def endpoint(pytestconfig: pytest.Config) -> Iterator[str]:
    """URL of a running server with nothing in it."""
    given = pytestconfig.getoption("--endpoint", default=None)
    if given is not None:
        yield str(given)
        return
    from hashrange.operations.registry import OPERATIONS
    from tests.support.servers import ThreadServer
    from tests.support.stores import make_store

    server = ThreadServer(make_store, OPERATIONS)
    yield server.endpoint
    server.stop()


@pytest.fixture(scope="session")
def client(endpoint: str) -> Iterator[Any]:
    """A boto3 client that does not retry and checks nothing by itself: faults shall reach the server."""
    made = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=os.environ.get("AWS_REGION", REGION),
        aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )
    yield made
    made.close()


@pytest.fixture(scope="session")
def raw(endpoint: str) -> RawClient:
    """raw(target, body, headers) → Reply(status, headers, body), correctly signed."""
    parts = urlsplit(endpoint)
    assert parts.hostname is not None
    assert parts.port is not None
    return RawClient(parts.hostname, parts.port, os.environ.get("AWS_REGION", REGION))
