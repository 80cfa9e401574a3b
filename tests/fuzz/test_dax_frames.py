"""Spoiled frames for a DAX node: an answer or a closed connection, never anything else,
and other clients do not notice.

`HASHRANGE_FUZZ_REQUESTS` sets the number of connections per method, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import logging
import os
import random
import socket
from collections.abc import Iterator
from typing import Any

import cbor2
import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import HANDSHAKE, DaxClient, authorization, expression, path, request_bytes, value

CONNECTIONS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125")) // 5
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
TABLE = b"films"
ATTRIBUTES = cbor2.dumps(1)
EQUAL = expression([0, path("name"), value(0)], "a")
FRAMES: dict[str, bytes] = {
    "authorizeConnection": authorization(),
    "endpoints": request_bytes("endpoints"),
    "defineAttributeList": request_bytes("defineAttributeList", 2),
    "defineAttributeListId": request_bytes("defineAttributeListId", ["a", "b"]),
    "defineKeySchema": request_bytes("defineKeySchema", TABLE),
    "getItem": request_bytes("getItem", TABLE, b"a", {3: 1, 2: True, 0: expression([path("x")])}),
    "putItem": request_bytes("putItem", TABLE, b"a", ATTRIBUTES, {6: EQUAL, 1: 2}),
    "updateItem": request_bytes("updateItem", TABLE, b"a", {6: EQUAL}),
    "deleteItem": request_bytes("deleteItem", TABLE, b"a", {6: EQUAL}),
    "query": request_bytes("query", TABLE, EQUAL, {9: 5}),
    "scan": request_bytes("scan", TABLE, {9: 5, 12: 2, 13: 0}),
    "batchGetItem": request_bytes("batchGetItem", {TABLE: [False, None, b"a"]}, None),
    "batchWriteItem": request_bytes("batchWriteItem", {TABLE: [b"a", ATTRIBUTES]}, None),
    "transactGetItems": request_bytes("transactGetItems", [TABLE], [b"a"], [None], None),
    "transactWriteItems": request_bytes(
        "transactWriteItems", [1], [TABLE], [b"a"], [ATTRIBUTES], [None], [None], [None], None, None
    ),
}
ODD = [
    *map(
        cbor2.dumps,
        (None, -1, 2**64, -(2**70), 1.5, "x" * 300, b"", [], {}, [[[]]], {1: {2: []}}, cbor2.CBORTag(3324, 1)),
    ),
    b"\xff",
    b"\x9f",
    b"\xbf",
    b"\x5f",
    b"\x7f",
    b"\x1b" + b"\xff" * 8,
    b"\x9b" + b"\xff" * 8,
    b"\xbb" + b"\x7f" * 8,
    b"\x5b" + b"\xff" * 8,
    b"\xc2\x5a\x7f\xff\xff\xff",
    b"\x81" * 400,
    b"\xa1\x01" * 200,
    b"\xc1" * 300,
]
"""Values and heads that a frame does not have at that place."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, dax_port=0)) as database:
        database.client(region_name="eu-west-1").create_table(
            TableName="films",
            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield database


@pytest.fixture(scope="module")
def bystander(database: Database) -> Iterator[DaxClient]:
    """A client that has been there all the time."""
    with DaxClient(str(database.dax_endpoint)) as client:
        client.call("putItem", TABLE, b"bystander", ATTRIBUTES, None)
        yield client


def spoiled_frame(frame: bytes, rng: random.Random) -> bytes:
    """A frame with a few bytes or values changed, left out, repeated or put in."""
    out = bytearray(frame)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            out[at : at + 1] = rng.randbytes(1)
        elif kind == 1:
            out[at : at + rng.randint(1, 8)] = b""
        elif kind == 2:
            out[at:at] = rng.choice(ODD)
        elif kind == 3:
            out[at : at + 1] = rng.choice(ODD)
        else:
            out[at:at] = out[at : at + rng.randint(1, 8)]
    return bytes(out)


@pytest.mark.parametrize("method", FRAMES)
def test_frames(database: Database, bystander: DaxClient, method: str, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(f"{SEED} {method}")
    host, port = str(database.dax_endpoint).partition("//")[2].rsplit(":", 1)
    for _ in range(CONNECTIONS):
        frames = b"".join(spoiled_frame(FRAMES[method], rng) for _ in range(rng.randint(1, 5)))
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(HANDSHAKE + authorization() + frames)
            connection.shutdown(socket.SHUT_WR)
            read_to_the_end(connection)
        reply: Any = bystander.call("getItem", TABLE, b"bystander", None)
        assert reply == {0: ATTRIBUTES}, frames
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def read_to_the_end(connection: socket.socket) -> None:
    """Read until the node has closed the connection, which it must."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
