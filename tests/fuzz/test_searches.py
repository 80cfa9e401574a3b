"""Spoiled searches of a vector index: what is served is what the strict decoder reads, and all else is refused."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.errors import SerializationException
from hashrange.operations.registry import OPERATIONS
from hashrange.wire.shape import structure_of
from hashrange.wire.strict_json import require_strictly
from tests.fuzz.mutations import spoiled
from tests.fuzz.test_bodies import SEED, FuzzClient
from tests.support.bodies import BODIES, TABLE
from tests.support.explaining import explain
from tests.support.seeds import seeds
from tests.support.servers import ThreadServer
from tests.support.stores import make_store

OPERATION = OPERATIONS["SearchVectors"]
TYPES = {"tenant": "S", "number": "N", "kind": "S"}


def vector_index(name: str, *schema: tuple[str, str]) -> dict[str, Any]:
    index: dict[str, Any] = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "embedding"},
        "Dimensions": 2,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "ALL"},
    }
    elements = [{"AttributeName": one, "SearchSchemaElementType": kind} for one, kind in schema]
    return index | ({"SearchSchema": elements} if elements else {})


@pytest.fixture(scope="module")
def send() -> Iterator[FuzzClient]:
    """A client of a server whose table has the vector index `vectors`."""
    server = ThreadServer(make_store, OPERATIONS)
    client = FuzzClient(server.endpoint)
    schema = [("tenant", "HASH"), ("number", "INLINE_FILTER"), ("kind", "INLINE_FILTER")]
    table = {
        "TableName": TABLE,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in ({"pk": "S"} | TYPES).items()
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": [vector_index("vectors", *schema), vector_index("others")],
    }
    assert client("CreateTable", json.dumps(table).encode())[0] == 200
    for place in range(20):
        item = {
            "pk": {"S": str(place)},
            "tenant": {"S": "é"},
            "number": {"N": str(place % 4)},
            "kind": {"S": "aé"[place % 2] * 3},
            "embedding": {"L": [{"N": str(place)}, {"N": "1"}]},
        }
        assert client("PutItem", json.dumps({"TableName": TABLE, "Item": item}).encode())[0] == 200
    yield client
    client.connection.close()
    server.stop()


def test_the_bodies_that_are_spoiled_are_sound(send: FuzzClient) -> None:
    for body, count in zip(BODIES["SearchVectors"], (3, 20), strict=True):
        status, reply = send("SearchVectors", json.dumps(body).encode())
        assert status == 200, reply
        assert len(json.loads(reply)["SearchResults"]) == count


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_a_spoiled_search_is_served_or_refused(send: FuzzClient, seed: int) -> None:
    generator = random.Random(SEED * 2**32 + seed)
    shape = structure_of(OPERATION.request)
    statuses = set()
    for _ in range(100):
        body = spoiled(generator.choice(BODIES["SearchVectors"]), generator)
        status, reply = send("SearchVectors", body)
        statuses.add(status)
        assert status in (200, 400), (status, reply, body)
        if status == 200:
            require_strictly(body, shape)
        elif json.loads(reply).keys() == {"__type"}:
            with pytest.raises(SerializationException) as caught:
                explain(OPERATION.request, "SearchVectors", body)
            assert caught.value.message is None
    assert statuses == {200, 400}
