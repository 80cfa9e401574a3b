"""How long does the first search of a vector index take after a start, with the files of the server before and without
them, and what does it cost to write these? `python -m benchmarks.vector_starts`.

Vectors of 384 dimensions in clusters, in a folder on disk, are searched and divided into cells; then the store is
closed and opened again. Times are CPU ms of the process, and of writing the files also seconds; the longest turn is the
longest time for which the event loop did nothing else.
"""

import argparse
import asyncio
import gc
import shutil
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.vectors import DIMENSIONS, DISTANCES, LOADED_TOGETHER, VectorBench, cpu_ms, made_vectors
from hashrange.clock import SystemClock
from hashrange.operations.registry import OPERATIONS
from hashrange.server.credentials import ACCOUNT
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store


class StartedAgain(VectorBench):
    """The store of a folder that was filled before."""

    def __init__(self, folder: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.store = open_store(folder, SystemClock(), self.loop)
        service = Service(self.store, OPERATIONS, SystemClock(), Settings(data_dir=folder))
        self.scope = service.scope(ACCOUNT, "us-east-1")


def divide(bench: VectorBench) -> None:
    """Do all there is to do for cells."""

    async def tend() -> None:
        while await bench.store.maintenance.tend_vectors() is not None:
            pass

    bench.loop.run_until_complete(tend())


def longest_turns_ms(bench: VectorBench, body: bytes) -> tuple[float, float]:
    """Search, and return for how long the event loop did nothing else at most: by the clock, and in CPU ms."""
    gc.collect()
    gc.freeze()  # as a server does
    turns = [(time.perf_counter(), time.thread_time())]

    def turn() -> None:
        turns.append((time.perf_counter(), time.thread_time()))
        bench.loop.call_soon(turn)

    bench.loop.call_soon(turn)
    bench.search(body)
    seconds, cpu_seconds = zip(*turns, strict=True)
    return tuple(1000 * max(after - before for before, after in pairwise(times)) for times in (seconds, cpu_seconds))


def compare_starts(number: int, distance: str, folder: str) -> None:
    """Print how long the first searches take."""
    bench = VectorBench(folder, DIMENSIONS, distance)
    vectors = made_vectors(1, DIMENSIONS, is_clustered=True)
    bench.load(vectors, number)
    body = bench.wanted(next(vectors), None)
    print(f"{number:,} vectors of {DIMENSIONS} dimensions, {distance}")
    before: Any = None

    def show(name: str) -> None:
        nonlocal before
        first_ms, dividing_ms = cpu_ms(lambda: bench.search(body)), cpu_ms(lambda: divide(bench))
        before = before or bench.search(body)
        assert bench.search(body) == before
        print(f"  {name:32}{first_ms:8.0f} ms, and for cells {dividing_ms:8.0f} ms")

    show("first search, from the items")
    began = time.perf_counter()
    closing_ms = cpu_ms(bench.close)
    seconds = time.perf_counter() - began
    size_bytes = sum(file.stat().st_size for file in Path(folder, "vectors").iterdir())
    print(f"  {'end, which writes files':32}{closing_ms:8.0f} ms, in {seconds:.1f} s, {size_bytes:,} bytes")
    bench = StartedAgain(folder)
    show("first search, from files")
    bench.close()
    bench = StartedAgain(folder)
    clock_ms, turn_ms = longest_turns_ms(bench, body)
    print(f"  {'longest turn, from files':32}{turn_ms:8.1f} ms, by the clock {clock_ms:.1f} ms")
    bench.close()
    shutil.rmtree(Path(folder, "vectors"))
    bench = StartedAgain(folder)
    show("first search, without files")
    bench.close()


def main(arguments: list[str]) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=100_000, help="vectors of the index")
    parser.add_argument("--distance", choices=DISTANCES, default=DISTANCES[0], help="how vectors are compared")
    given = parser.parse_args(arguments)
    number = given.vectors // LOADED_TOGETHER * LOADED_TOGETHER
    with tempfile.TemporaryDirectory() as folder:
        compare_starts(number, given.distance, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
