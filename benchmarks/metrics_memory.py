"""How much memory does a year of metrics take? `python -m benchmarks.metrics_memory`: 100 tables,
each with 8 active series and 8 idle ones.

Of each active series there are the minutes of 15 days, the five minutes of 48 days before, and the hours of 392 days
before that, with a daily curve of up to 120 requests a minute. Three of the eight are latencies, with percentiles.
One process records the year; another one fills the engine's caches and buffers with other documents, opens the year,
and prints how much it has grown since: once the metrics are there, once a week of each table has been read,
and after another day of observations, which are saved as in a server.

Measured on a shared machine with two cores: the year of 100 tables has 329 MiB of documents and is recorded in 72 to
99 minutes; the second process grows by 5.7 MiB, 9.7 MiB and 26.2 MiB, and reads a week of hours in 20 ms.
Without latencies, the year has 37.8 MiB of documents. Blocks are on disk, and what stays in memory is what has not
been saved yet, and caches of fixed size.
"""

import argparse
import asyncio
import gc
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import number, table
from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_saving import MetricSaving
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.percentiles import Distribution, distribution_of
from hashrange.cloudwatch.statistic import StatisticSet
from hashrange.store.embedded import EmbeddedStore, open_store

ACCOUNT, REGION, NAMESPACE = "000000000000", "us-east-1", "AWS/DynamoDB"
HOUR_SECONDS, DAY_SECONDS, START_SECONDS = 3600, 86_400, 1_800_000_000
TABLES, REQUESTS_PER_MINUTE_MAX, KINDS = 100, 120, 64
SPANS = ((392 * DAY_SECONDS, HOUR_SECONDS), (48 * DAY_SECONDS, 300), (15 * DAY_SECONDS, 60))
"""How long ago observations begin, and how far they are apart: as far as what is kept of that time."""
UNITS, ITEMS, LATENCIES = ("read", "write", "index read", "index write"), ("items",), ("get", "put", "query")
IDLE_SERIES = 8
FILLING_BYTES, FILLED_BYTES = 128 * 2**20, 8 * 2**10
"""Size of all documents that fill the engine's caches, and of each."""


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--in-memory", action="store_true", help="keep the store in memory too, in one process")
    parser.add_argument("--no-latencies", action="store_true", help="leave out the metrics with percentiles")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=["fill", "measure"], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part is None and not options.in_memory:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("fill", "measure"):
                command = [
                    sys.executable,
                    "-m",
                    "benchmarks.metrics_memory",
                    *arguments,
                    "--folder",
                    folder,
                    "--part",
                    part,
                ]
                subprocess.run(command, check=True)
        return 0
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    latencies = () if options.no_latencies else LATENCIES
    loop.run_until_complete(run_part(options.part, options.folder, options.tables, latencies))
    return 0


async def run_part(part: str | None, folder: str | None, tables: int, latencies: Sequence[str]) -> None:
    """Fill a store, measure, or do both."""
    clock = MovableClock(SystemClock(), ServiceTimeState(frozen_seconds=START_SECONDS))
    if part == "measure":
        clock.advance(sum(length_seconds for length_seconds, _ in SPANS))
    store = open_store(folder, clock, asyncio.get_running_loop())
    if part == "measure":
        await fill_caches(store)
    before_mib = resident_mib()
    metrics = Metrics(store.documents, clock)
    filling = Filling(metrics, clock, tables, latencies)
    if part != "measure":
        begin = time.perf_counter()
        for length_seconds, apart_seconds in SPANS:
            await filling.run(
                length_seconds, apart_seconds, DAY_SECONDS if apart_seconds == HOUR_SECONDS else HOUR_SECONDS
            )
        print(f"{filling.records:,} observations recorded in {time.perf_counter() - begin:.0f} s")
        series_mib, blocks_mib = (size_mib(store, prefix) for prefix in ("metric-series/", "metric-block/"))
        print(f"documents: {series_mib:.1f} MiB of series, {blocks_mib:.1f} MiB of blocks")
    if part != "fill":
        await measure(store, metrics, filling, before_mib)
    await store.close()


async def fill_caches(store: EmbeddedStore) -> None:
    """Write and read other documents than metrics, so that the engine's caches and buffers have the size that
    they have in a server with items.
    """
    chance = random.Random(2)
    names = [f"filling/{number:06}" for number in range(FILLING_BYTES // FILLED_BYTES)]
    for begin in range(0, len(names), 100):
        changes: dict[str, bytes | None] = {name: chance.randbytes(FILLED_BYTES) for name in names[begin : begin + 100]}
        await store.documents.write(changes, store.documents.generation)
    for name in names:
        store.documents.get(name)


async def measure(store: EmbeddedStore, metrics: Metrics, filling: "Filling", before_mib: float) -> None:
    """Print how much the process has grown, and how much of that are caches and buffers of the engine,
    which whatever is stored fills.
    """

    def row(moment: str) -> list[str]:
        grown_mib = resident_mib() - before_mib
        return [moment, number(grown_mib), number(engine_mib(store))]

    rows = [row("opened")]
    now_seconds = filling.now_seconds()
    begin = time.perf_counter()
    for place in filling.tables:
        points = metrics.points(metric_of(place, "read"), now_seconds - 7 * DAY_SECONDS, now_seconds, HOUR_SECONDS)
        assert len(points) == 168
    read_ms = (time.perf_counter() - begin) * 1000 / len(filling.tables)
    rows.append(row("a week of each table read"))
    await filling.run(DAY_SECONDS, 60, 60)
    rows.append(row("another day recorded"))
    print(table(["", "growth of the process, MiB", "caches and buffers of the engine, MiB"], rows))
    print(f"a week by hours is read in {read_ms:.0f} ms")


class Filling:
    """Records a year."""

    def __init__(self, metrics: Metrics, clock: MovableClock, tables: int, latencies: Sequence[str]) -> None:
        self._metrics = metrics
        self._saving = MetricSaving(metrics, clock)
        self._clock = clock
        self.tables = range(tables)
        self._latencies = latencies
        self._chance = random.Random(1)
        self.records = 0
        self._samples: dict[int, list[tuple[StatisticSet, Distribution]]] = {}
        """Latencies by the logarithm of the number of requests: making each one anew would take an hour."""

    def now_seconds(self) -> float:
        """Service time."""
        return self._clock.service_time()

    async def run(self, length_seconds: int, apart_seconds: int, save_seconds: int) -> None:
        """Record observations that are so far apart, and let the job run every `save_seconds`."""
        end_seconds = self._clock.service_time() + length_seconds
        while self._clock.service_time() < end_seconds:
            begin_seconds = self._clock.service_time()
            self._clock.advance(apart_seconds)
            self._record(begin_seconds, apart_seconds)
            if self._clock.service_time() % save_seconds < apart_seconds:
                while (await self._saving.run_slice()) == 0:
                    pass
        await self._metrics.save()

    def _record(self, at_seconds: float, apart_seconds: int) -> None:
        curve = 0.55 + 0.45 * math.sin(2 * math.pi * at_seconds / DAY_SECONDS)
        mean = REQUESTS_PER_MINUTE_MAX * curve * apart_seconds / 60
        for place in self.tables:
            for kind in (*UNITS, *ITEMS, *self._latencies):
                requests = max(0, round(self._chance.gauss(mean, math.sqrt(mean))))
                if requests:
                    observed, distribution = self._observation(kind, requests)
                    unit = "Milliseconds" if kind in LATENCIES else "Count"
                    self._metrics.record(metric_of(place, kind), unit, at_seconds, observed, distribution)
                    self.records += 1
            if at_seconds % HOUR_SECONDS == 0:
                for idle in range(IDLE_SERIES):
                    metric, end_seconds = metric_of(place, f"idle {idle}"), self._clock.service_time()
                    zero = StatisticSet(1.0, 0.0, 0.0, 0.0)
                    self._metrics.record_steadily(metric, "Count", at_seconds, end_seconds, 60, zero)

    def _observation(self, kind: str, requests: int) -> tuple[StatisticSet, Distribution | None]:
        """Observations of this many requests: capacity units, counts of items, or latencies."""
        if kind in UNITS:
            unit = 0.5 if "read" in kind else 1.0
            return StatisticSet(requests, requests * unit, unit, unit), None
        if kind in ITEMS:
            most = self._chance.randrange(5, 25)
            total = round(self._chance.gauss(requests * most / 3, math.sqrt(requests) * 3))
            return StatisticSet(requests, max(total, 1), 0, most), None
        return self._latency(requests)

    def _latency(self, requests: int) -> tuple[StatisticSet, Distribution | None]:
        """One of some observations of about as many requests; the sum is another one each time."""
        samples = self._samples.setdefault(round(math.log(requests) * 8), [])
        if len(samples) < KINDS:
            values = [round(self._chance.lognormvariate(0.7, 0.4), 3) for _ in range(requests)]
            distribution = distribution_of((value, 1.0) for value in values)
            samples.append((StatisticSet(requests, sum(values), min(values), max(values)), distribution))
        observed, distribution = self._chance.choice(samples)
        shifted = round(observed.sum + self._chance.randrange(1000) / 1000, 3)
        return observed._replace(sum=shifted), distribution


def metric_of(place: int, kind: str) -> MetricId:
    """One metric of one table."""
    return MetricId(ACCOUNT, REGION, NAMESPACE, kind, (("TableName", f"orders-{place}"),))


def size_mib(store: EmbeddedStore, prefix: str) -> float:
    """MiB of the documents below a prefix."""
    return sum(len(value) for _, value in store.documents.below(prefix)) / 2**20


def engine_mib(store: EmbeddedStore) -> float:
    """MiB that the engine's block cache and write buffers hold."""
    names = ("rocksdb.block-cache-usage", "rocksdb.cur-size-all-mem-tables")
    return sum(store.engine.property_int_value(name) or 0 for name in names) / 2**20


def resident_mib() -> float:
    """The process's memory."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the system does not tell the process's memory")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
