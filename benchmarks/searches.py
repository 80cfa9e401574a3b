"""What do searches of a vector index cost, how many of the best items do they find, and what does an index add to
writes? One request after the other, over one connection.

Vectors are those of `vectors.py`, in clusters, from a seed; numpy says which are the best. CPU time of writes counts
until a search finds the last of them.
"""

import json
import time
from collections.abc import Callable, Sequence
from itertools import islice
from statistics import mean, median
from typing import Any

from benchmarks.client import Client, Connection, ReplyError
from benchmarks.generator import LoadFailed
from benchmarks.loader import ITEMS_PER_BATCH, attribute_definitions
from benchmarks.peers import NotInstallable
from benchmarks.results import SearchFigure
from benchmarks.running import Running
from benchmarks.signing import Signer
from benchmarks.workloads import Plan, SearchedVectors

INDEX = "near"
POLL_SECONDS, FOUND_SECONDS_MAX = 0.05, 60.0
Vector = list[dict[str, str]]


def measure_searches(server: Running, plan: Plan) -> SearchFigure:
    """Measure writes and searches of new tables. Raises LoadFailed, NotInstallable or ReplyError."""
    wanted = plan.searched_vectors
    vectors = drawn(1, wanted.dimensions, wanted.items + wanted.searches)
    stored, asked = vectors[: wanted.items], vectors[wanted.items :]
    create_table(server.client, "searched", wanted.dimensions)
    filled_us = written_us(server, "searched", stored, put_together)
    search_us, took_ms, found = searched(server, asked, wanted.top_k)
    best = best_of(stored, asked, wanted.top_k)
    larger = drawn(2, wanted.written_dimensions, wanted.writes)
    create_table(server.client, "plain", None)
    create_table(server.client, "indexed", wanted.written_dimensions)
    return SearchFigure(
        server=server.contender.name,
        items=wanted.items,
        search_us=search_us,
        p50_ms=median(took_ms),
        recall=mean(len(some & most) / wanted.top_k for some, most in zip(found, best, strict=True)),
        filled_us=filled_us,
        plain_put_us=written_us(server, "plain", larger, put_each, is_searched=False),
        indexed_put_us=written_us(server, "indexed", larger, put_each),
    )


def describe_vectors(wanted: SearchedVectors) -> str:
    """What is measured, in words."""
    return f"{wanted.items:,} vectors of {wanted.dimensions}"


def drawn(seed: int, dimensions: int, count: int) -> list[Vector]:
    """Vectors from a seed; raises NotInstallable without numpy."""
    try:
        from benchmarks.vectors import made_vectors
    except ImportError:
        raise NotInstallable("numpy is not installed, which says which vectors are the most similar") from None
    return list(islice(made_vectors(seed, dimensions, is_clustered=True), count))


def create_table(client: Client, table: str, dimensions: int | None) -> None:
    """Create a table, with a vector index unless `dimensions` is None, and wait until both are ACTIVE."""
    arguments: dict[str, Any] = {
        "TableName": table,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": attribute_definitions("pk"),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if dimensions is not None:
        index = {
            "IndexName": INDEX,
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": dimensions,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        arguments["VectorIndexes"] = [index]
    client.call("CreateTable", arguments)
    deadline = time.perf_counter() + FOUND_SECONDS_MAX
    while time.perf_counter() < deadline:
        shown = client.call("DescribeTable", {"TableName": table})["Table"]
        states = [one["IndexStatus"] for one in shown.get("VectorIndexes", [])]
        if dimensions is not None and not states:
            raise LoadFailed("it creates no vector index")
        if {shown["TableStatus"], *states} == {"ACTIVE"}:
            return
        time.sleep(POLL_SECONDS)
    raise LoadFailed(f"the table was not ACTIVE within {FOUND_SECONDS_MAX:.0f} s")


# --- writes ---------------------------------------------------------------------------------------


def item(number: int, vector: Vector) -> dict[str, Any]:
    """An item with this vector."""
    return {"pk": {"S": str(number)}, "v": {"L": vector}}


def put_together(client: Client, table: str, items: Sequence[dict[str, Any]]) -> None:
    """Write items in batches."""
    for start in range(0, len(items), ITEMS_PER_BATCH):
        left = {table: [{"PutRequest": {"Item": one}} for one in items[start : start + ITEMS_PER_BATCH]]}
        while left:
            left = client.call("BatchWriteItem", {"RequestItems": left}).get("UnprocessedItems", {})


def put_each(client: Client, table: str, items: Sequence[dict[str, Any]]) -> None:
    """Write items one by one."""
    for one in items:
        client.call("PutItem", {"TableName": table, "Item": one})


def written_us(
    server: Running,
    table: str,
    vectors: Sequence[Vector],
    put: Callable[[Client, str, Sequence[dict[str, Any]]], None],
    *,
    is_searched: bool = True,
) -> float:
    """The server's CPU µs for each write of these vectors, until a search finds the last one, if there is an index."""
    before = server.process.cpu_seconds()
    put(server.client, table, [item(number, vector) for number, vector in enumerate(vectors)])
    if is_searched:
        wait_until_found(server.client, table, vectors[-1], str(len(vectors) - 1))
    return (server.process.cpu_seconds() - before) * 1e6 / len(vectors)


def wait_until_found(client: Client, table: str, vector: Vector, key: str) -> None:
    """Search until the item of this key is found; raises LoadFailed on a time-out."""
    wanted = search_arguments(table, vector, 1)
    deadline = time.perf_counter() + FOUND_SECONDS_MAX
    while time.perf_counter() < deadline:
        if keys_of(client.call("SearchVectors", wanted)) == {key}:
            return
        time.sleep(POLL_SECONDS)
    raise LoadFailed(f"a written vector was not found within {FOUND_SECONDS_MAX:.0f} s")


# --- searches -------------------------------------------------------------------------------------


def search_arguments(table: str, vector: Vector, top_k: int) -> dict[str, Any]:
    """SearchVectors' arguments."""
    return {"TableName": table, "IndexName": INDEX, "SearchVector": vector, "TopK": top_k}


def keys_of(reply: dict[str, Any]) -> set[str]:
    """The keys of the items that were found."""
    return {one["Item"]["pk"]["S"] for one in reply["SearchResults"]}


def searched(server: Running, vectors: Sequence[Vector], top_k: int) -> tuple[float, list[float], list[set[str]]]:
    """Search for each vector; returns CPU µs of each search, its milliseconds, and the keys that it found."""
    signer = Signer(server.client.host)
    bodies = [json.dumps(search_arguments("searched", vector, top_k)).encode() for vector in vectors]
    requests = [signer.request("SearchVectors", body) for body in bodies]
    connection = Connection(server.port)
    took_ms, replies = [], []
    before = server.process.cpu_seconds()
    for request in requests:
        began = time.perf_counter()
        connection.send(request)
        replies.append(connection.receive())
        took_ms.append((time.perf_counter() - began) * 1000)
    cpu_us = (server.process.cpu_seconds() - before) * 1e6 / len(requests)
    connection.close()
    for status, body in replies:
        if status != 200:
            raise ReplyError(f"SearchVectors: {status} {body[:500].decode(errors='replace')}")
    return cpu_us, took_ms, [keys_of(json.loads(body)) for _, body in replies]


def best_of(stored: Sequence[Vector], asked: Sequence[Vector], top_k: int) -> list[set[str]]:
    """The keys of the most similar items, by comparing each vector with all, as COSINE does."""
    import numpy as np

    def directions(vectors: Sequence[Vector]) -> Any:
        made = np.array([[float(one["N"]) for one in vector] for vector in vectors], np.float32).astype(np.float64)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    nearest = np.argsort(-(directions(asked) @ directions(stored).T), axis=1)[:, :top_k]
    return [{str(number) for number in row} for row in nearest.tolist()]
