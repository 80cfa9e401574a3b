"""How long does a search of a vector index take, of how much memory, and what does the index cost a write?
`python -m benchmarks.vectors`.

Vectors of 384 dimensions from a seed, uniform and in clusters, are searched for the ten most similar ones, by vectors
like them: all, and with search conditions that so many entries pass, in memory with numpy and by the pages of the
store. Times are CPU ms of the process, without HTTP; the median, and of searches also the longest. Items have a vector
of 1,536 dimensions for the cost of a write. At the end, cells of large parts are measured (`vector_cells.py`).
"""

import argparse
import asyncio
import random
import resource
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from statistics import median
from typing import Any
from unittest.mock import patch

import msgspec

from benchmarks.vector_cells import compare_cells
from hashrange.clock import SystemClock
from hashrange.items.rows import encode_row
from hashrange.items.values import check_item
from hashrange.operations.meter import Meter
from hashrange.operations.registry import OPERATIONS
from hashrange.server.credentials import ACCOUNT
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store

REGION, TABLE = "us-east-1", "vectors"
DIMENSIONS, WRITTEN_DIMENSIONS = 384, 1_536
CLUSTERS, SPREAD = 50, 0.1
LOADED_TOGETHER = 200
SHARES = (0.5, 0.1, 0.01, 0.001)
TOP_K = 10
DISTANCES = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
Vector = list[dict[str, str]]


class VectorBench:
    """A store with one table of vectors."""

    def __init__(self, folder: str | None, dimensions: int, distance: str | None) -> None:
        """`distance`: of the vector index; None: there is no index."""
        self.loop = asyncio.new_event_loop()
        self.store = open_store(folder, SystemClock(), self.loop)
        self.scope = Service(self.store, OPERATIONS, SystemClock(), Settings(data_dir=folder)).scope(ACCOUNT, REGION)
        index = {
            "IndexName": "near",
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": dimensions,
            "DistanceFunction": distance,
            "SearchSchema": [{"AttributeName": "n", "SearchSchemaElementType": "INLINE_FILTER"}],
            "Projection": {"ProjectionType": "ALL"},
        }
        names = {"id": "S"} | ({} if distance is None else {"n": "N"})
        self.ask(
            "CreateTable",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in names.items()],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            **({} if distance is None else {"VectorIndexes": [index]}),
        )

    def ask(self, name: str, **members: Any) -> Any:
        """The reply to a request for the table."""
        return self.answer(name, self.body(**members))

    def body(self, **members: Any) -> bytes:
        """The body of a request for the table."""
        return msgspec.json.encode({"TableName": TABLE} | members)

    def answer(self, name: str, body: bytes) -> Any:
        """The reply to a body."""
        operation = OPERATIONS[name]
        request = msgspec.json.decode(body, type=operation.request)
        return self.loop.run_until_complete(self._run(operation, request))

    async def _run(self, operation: Any, request: Any) -> Any:
        return await operation.start(self.scope, request, Meter())

    def load(self, vectors: Iterator[Vector], number: int) -> None:
        """Put so many items."""
        table = self.store.catalog.find(ACCOUNT, REGION, TABLE)
        assert table is not None
        places = random.Random(4).sample(range(number), number)
        for start in range(0, number, LOADED_TOGETHER):
            rows = {}
            for place in places[start : start + LOADED_TOGETHER]:
                given = {"id": {"S": f"item-{place:010d}"}, "n": {"N": str(place)}, "v": {"L": next(vectors)}}
                item, size_bytes = check_item(given)
                rows[table.item_key(item)] = encode_row(item, size_bytes)
            self.loop.run_until_complete(self.store.row_copies.load(table, rows))

    def wanted(self, vector: Vector, below: int | None) -> bytes:
        """The body of a search for the vector, among items with `n` below this."""
        condition = {}
        if below is not None:
            values = {":n": {"N": str(below)}}
            condition = {"SearchConditionExpression": "n < :n", "ExpressionAttributeValues": values}
        return self.body(IndexName="near", SearchVector=vector, TopK=TOP_K, **condition)

    def search(self, body: bytes) -> Any:
        """The reply to a search."""
        return self.answer("SearchVectors", body)

    def close(self) -> None:
        """Close the store."""
        self.loop.run_until_complete(self.store.close())
        self.loop.close()


def made_vectors(seed: int, dimensions: int, *, is_clustered: bool) -> Iterator[Vector]:
    """Vectors without end."""
    chance = random.Random(seed)
    centers = [[chance.gauss(0, 1) for _ in range(dimensions)] for _ in range(CLUSTERS if is_clustered else 0)]
    gauss = chance.gauss
    while True:
        if is_clustered:
            numbers = [center + gauss(0, SPREAD) for center in chance.choice(centers)]
        else:
            numbers = [gauss(0, 1) for _ in range(dimensions)]
        yield [{"N": f"{number:.4f}"} for number in numbers]


def cpu_ms(work: Callable[[], Any]) -> float:
    """CPU time of the process for this work."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def shown(times_ms: Sequence[float]) -> str:
    return f"{median(times_ms):8.2f} ms, at most {max(times_ms):8.2f}"


def compare_searches(number: int, searches: int, distance: str, folder: str | None, *, is_clustered: bool) -> None:
    """Print how long searches of so many vectors take."""
    bench = VectorBench(folder, DIMENSIONS, distance)
    vectors = made_vectors(1, DIMENSIONS, is_clustered=is_clustered)
    bench.load(vectors, number)
    form = "in clusters" if is_clustered else "uniform"
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first = bench.wanted(next(vectors), None)
    loading_ms = cpu_ms(lambda: bench.search(first))
    after_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{number:,} vectors, {form}, {distance}")
    print(f"  {'first search, which loads them':32}{loading_ms:8.0f} ms, {after_kb - before_kb:,} KB more memory")
    for below in (None, *[max(1, round(number * share)) for share in SHARES]):
        name = "all" if below is None else f"{below / number:.1%} pass"
        wanted = [bench.wanted(next(vectors), below) for _ in range(searches)]
        times_ms = [cpu_ms(lambda: bench.search(body)) for body in wanted]  # noqa: B023 - called at once
        bench.store.vector_searches.may_load = False
        with patch.object(bench.store.site.vector_parts, "find", return_value=None):
            paged_ms = [cpu_ms(lambda: bench.search(body)) for body in wanted[:3]]  # noqa: B023 - as above
        bench.store.vector_searches.may_load = True
        print(f"  {name:32}{shown(times_ms)}; by pages {shown(paged_ms)}")
    bench.close()


def compare_writes(writes: int) -> None:
    """Print what a write costs with and without an index, whose entries are in memory or not."""
    times_ms: dict[str, list[float]] = {}
    for name, distance in (
        ("without an index", None),
        ("with an index", "COSINE"),
        ("with a part in memory", "COSINE"),
    ):
        bench = VectorBench(None, WRITTEN_DIMENSIONS, distance)
        vectors = made_vectors(2, WRITTEN_DIMENSIONS, is_clustered=False)
        if name == "with a part in memory":
            bench.load(vectors, 2 * LOADED_TOGETHER)
            bench.search(bench.wanted(next(vectors), None))
        bodies = [
            bench.body(Item={"id": {"S": f"new-{place}"}, "n": {"N": str(place)}, "v": {"L": vector}})
            for place, vector in zip(range(writes), vectors, strict=False)
        ]
        times_ms[name] = [cpu_ms(lambda: bench.answer("PutItem", body)) for body in bodies]  # noqa: B023 - as above
        bench.close()
    print(f"PutItem of a vector of {WRITTEN_DIMENSIONS:,} dimensions, with its JSON")
    for name, times in times_ms.items():
        print(f"  {name:32}{shown(times)}")


def compare_memory(number: int) -> None:
    """Print the memory of a process with a part of so many vectors."""
    from hashrange.vectors.loaded_part import LoadedPart

    chance = random.Random(3)
    part = LoadedPart("COSINE", DIMENSIONS)
    vector = struct.pack(f"<{DIMENSIONS}f", *[chance.gauss(0, 1) for _ in range(DIMENSIONS)])
    for place in count():
        if place == number:
            break
        part.put(b"%08d\x00\x0fitem-%010d" % (place, place), vector, 1_600)
    most_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{part.count:,} vectors in memory: counted {part.memory_bytes:,} bytes, the process at most {most_kb:,} KB")


def main(arguments: list[str]) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=10_000, help="vectors that are searched")
    parser.add_argument("--searches", type=int, default=30, help="searches of each kind")
    parser.add_argument("--writes", type=int, default=100, help="writes of each kind; 0: none")
    parser.add_argument("--distance", choices=DISTANCES, default=DISTANCES[0], help="how vectors are compared")
    parser.add_argument("--disk", action="store_true", help="keep the table on disk")
    parser.add_argument("--held", type=int, default=0, help="measure the memory of so many vectors, and nothing else")
    parser.add_argument("--cells", type=int, default=100_000, help="vectors of a part that is divided; 0: none")
    given = parser.parse_args(arguments)
    if given.held:
        compare_memory(given.held)
        return
    number = given.vectors // LOADED_TOGETHER * LOADED_TOGETHER
    for is_clustered in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            place = folder if given.disk else None
            compare_searches(number, given.searches, given.distance, place, is_clustered=is_clustered)
    if given.writes:
        compare_writes(given.writes)
    if given.cells:
        compare_cells(given.cells, given.searches, given.distance)


if __name__ == "__main__":
    main(sys.argv[1:])
