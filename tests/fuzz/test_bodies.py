"""Spoiled bodies for every operation: the reply is a success or an API error, never anything else.

`HASHRANGE_FUZZ_REQUESTS` sets the number of requests per operation, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import http.client
import json
import os
import random
import time
import zlib
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from hashrange.errors import ApiError, SerializationException
from hashrange.operations.registry import OPERATIONS
from tests.fuzz.mutations import spoiled
from tests.support.bodies import BODIES, NEW_TABLE, TABLE
from tests.support.explaining import explain
from tests.support.servers import ThreadServer
from tests.support.signing import sign
from tests.support.stores import make_store

REQUESTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125"))
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))


class FuzzClient:
    """A keep-alive connection, which is opened again when the server has closed it."""

    def __init__(self, endpoint: str) -> None:
        self.netloc = urlsplit(endpoint).netloc
        self.connection = http.client.HTTPConnection(self.netloc, timeout=30)

    def __call__(self, operation_name: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the reply."""
        headers = {
            "Host": self.netloc,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"{OPERATIONS[operation_name].wire.service}.{operation_name}",
        }
        self.connection.request("POST", "/", body, sign(headers, body, seconds=time.time()))
        reply = self.connection.getresponse()
        return reply.status, reply.read()


@pytest.fixture(scope="module")
def send() -> Iterator[FuzzClient]:
    server = ThreadServer(make_store, OPERATIONS)
    client = FuzzClient(server.endpoint)
    yield client
    client.connection.close()
    server.stop()


def generator_of(operation_name: str) -> random.Random:
    """A generator for the operation: the same numbers for the same seed."""
    return random.Random(SEED * 2**32 + zlib.crc32(operation_name.encode()))


def test_every_operation_is_fuzzed() -> None:
    assert BODIES.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("operation_name", sorted(BODIES))
def test_a_spoiled_body_is_answered_or_refused(send: FuzzClient, operation_name: str) -> None:
    generator = generator_of(operation_name)
    table = NEW_TABLE | {
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "LocalSecondaryIndexes": None,
        "GlobalSecondaryIndexes": None,
        "StreamSpecification": None,
        "SSESpecification": None,
    }
    status, reply = send("CreateTable", json.dumps(table).encode())
    assert status == 200 or b"ResourceInUse" in reply, reply
    statuses = set()
    for _ in range(REQUESTS):
        body = spoiled(generator.choice(BODIES[operation_name]), generator)
        status, reply = send(operation_name, body)
        statuses.add(status)
        assert status in (200, 400), (status, reply, body)
        answer = json.loads(reply) if reply else {}
        assert status == 200 or "#" in answer["__type"], (status, reply, body)
        if status == 400 and answer.keys() == {"__type"}:
            with pytest.raises(SerializationException) as caught:  # no JSON object, or a list for a truth value
                explain(OPERATIONS[operation_name].request, operation_name, body)
            assert caught.value.message is None, body
    assert 400 in statuses, "no body was spoiled"


@pytest.mark.parametrize("operation_name", sorted(BODIES))
def test_the_slow_path_takes_or_refuses_any_body(operation_name: str) -> None:
    generator = generator_of(operation_name)
    for body in BODIES[operation_name]:
        assert isinstance(
            explain(OPERATIONS[operation_name].request, operation_name, json.dumps(body).encode()),
            OPERATIONS[operation_name].request,
        )
    for _ in range(REQUESTS):
        body_bytes = spoiled(generator.choice(BODIES[operation_name]), generator)
        try:
            explain(OPERATIONS[operation_name].request, operation_name, body_bytes)
        except ApiError as error:
            assert error.http_status == 400, body_bytes
