"""One server for the whole conformance suite, and clients of it.

`--endpoint URL` runs the suite against another server instead.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config

from tests.support.raw_client import RawClient
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """URL of a running server with nothing in it."""
    from hashrange.operations.registry import OPERATIONS

    from tests.support.servers import ThreadServer
    from tests.support.stores import make_store

    server = ThreadServer(make_store, OPERATIONS)
    yield server.endpoint
    server.stop()


@pytest.fixture(scope="session")
def client(endpoint: str) -> Any:
    """A boto3 client that does not retry and checks nothing by itself: faults shall reach the server."""
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )


@pytest.fixture(scope="session")
def raw(endpoint: str) -> RawClient:
    """raw(target, body, headers) → Reply(status, headers, body), correctly signed."""
    parts = urlsplit(endpoint)
    assert parts.hostname is not None
    assert parts.port is not None
    return RawClient(parts.hostname, parts.port)
