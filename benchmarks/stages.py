"""`python -m benchmarks.stages [--page]`: where does the time of a request go?
Writes docs/where-the-time-goes.md with --page.

In process: each stage of a request alone, over all prepared requests, CPU time of the best of several rounds. Over
sockets: user and system time of the server's loop and the time of its other threads,
compared with an empty server (floor.py).
"""

import datetime as dt
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.generator import RunningLoad
from benchmarks.inprocess import Bench, parse
from benchmarks.machine import describe_machine
from benchmarks.measure import Table, make_ready
from benchmarks.processes import TICKS_PER_SECOND, Cores, Process, choose_cores, free_port
from benchmarks.running import running, wait_until_ready
from benchmarks.servers import BY_NAME
from benchmarks.tables import table as markdown_table
from benchmarks.workloads import Plan, Workload, read_plan
from hashrange.clock import SystemClock
from hashrange.items.rows import decode_row, encode_row
from hashrange.operations.meter import Meter
from hashrange.operations.registry import OPERATIONS
from hashrange.server.connection import Connection
from hashrange.server.connections import Connections
from hashrange.server.protocols.dynamodb_json.protocol import SIGNING_NAME
from hashrange.wire.http import HttpRequest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "where-the-time-goes.md"
ITEM_BYTES, ITEMS = 400, 10_000
ROUNDS = 5
SECONDS = 3
CONNECTIONS = 16
WORKLOADS = ("get", "put", "update", "query")
OVER_SOCKETS = {
    "ours-memory": (*WORKLOADS, "put-1-index", "put-2-indexes", "query-index"),
    "ours-disk": ("put", "update", "put-1-index", "put-2-indexes"),
}
BODY_BYTES = {"get": 470, "query": 10_500, "query-index": 10_500}
"""Bytes of a workload's reply body; 2 for the other workloads."""
ENGINE_THREADS = "rocksdb:"


PAGE_TEXT = """# Where the time goes

This page shows the CPU time of each stage of a request. It was written by `python -m benchmarks.stages --page` on \
{date}. Machine: {machine}.

## In process

Each stage runs alone over the prepared requests of the benchmark; the table shows the fastest of \
several rounds. The caches
are warm with that stage, so the sum of the stages is less than their cost one after the other, which is the last line.
*Spared* is the time that a request saves if its row is in the read cache.

{stages}

## Over sockets

The load comes over {connections} connections; the server runs on one core. *The floor* is a server with the \
same loop and parser that
answers every request with as many bytes and does nothing else. The loop's user time is larger \
than in process, because the
caches are shared with the kernel, the other connections and the engine's threads.

{sockets}

## Optimizations

These decisions describe what was tried, with measurements: [turns](adr/0019-turns.md),
[held replies](adr/0017-held-replies.md), [read cache](adr/0020-read-cache.md), [group \
commit](adr/0010-group-commit.md),
[pages in slices](adr/0014-pages-are-not-snapshots.md), and the [engine's \
options](adr/0011-engine-options.md), which include
large buffers, first rows, and tables larger than the cache.
"""


class Stage(NamedTuple):
    """One line of the table of stages (in process)."""

    title: str
    us: float


class Sockets(NamedTuple):
    """One line of the table over sockets."""

    title: str
    user_us: float
    system_us: float
    """System time of the loop's thread; `user_us` is its user time."""
    sync_us: float
    """CPU time of Python's other threads."""
    engine_us: float


def best_us(function: Callable[[Any], object], arguments: Sequence[Any]) -> float:
    """Return µs of CPU per call, the quickest of several rounds over all arguments."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = time.thread_time()
        for argument in arguments:
            function(argument)
        best = min(best, time.thread_time() - before)
    return best / len(arguments) * 1e6


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that does not wait."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


class Discarding:
    """A transport whose client reads everything at once."""

    def write(self, data: bytes) -> None:
        """Discard the data."""

    def is_closing(self) -> bool:
        """Always False."""
        return False


def time_http(requests: Sequence[bytes], body: bytes) -> float:
    """Return µs of parsing a request and writing its reply, without an operation."""

    def answer(calls: Sequence[tuple[HttpRequest, Callable[..., None]]]) -> None:
        for _, respond in calls:
            respond(200, body)

    connections = Connections(answer, SystemClock())
    connection = Connection(connections)
    transport: Any = Discarding()
    connection.connection_made(transport)
    return best_us(connection.data_received, requests)


def stages_of(bench: Bench, workload: Workload) -> Iterator[Stage]:
    """Yield the stages from the socket's bytes to the engine and back."""
    requests = bench.prepare(workload).requests
    parsed = [parse(request) for request in requests]
    bench.answer(parsed)
    operation = OPERATIONS[workload.operation]
    decode = msgspec.json.Decoder(operation.request).decode
    decoded: list[Any] = [decode(request.body) for request in parsed]
    yield Stage("HTTP: parse, compose", time_http(requests, b" " * BODY_BYTES.get(workload.name, 2)))
    yield Stage("signature", best_us(lambda request: bench.access.authorize(request, SIGNING_NAME), parsed))
    yield Stage("JSON into the request's struct", best_us(lambda request: decode(request.body), parsed))
    scope = bench.scope
    yield Stage("the operation", best_us(lambda request: drive(operation.start(scope, request, Meter())), decoded))
    yield from engine_stages(bench, workload, decoded)
    yield Stage("all but HTTP, one request after the other", bench.time_dispatch(requests, 2.0) * 1e6)


def engine_stages(bench: Bench, workload: Workload, decoded: list[Any]) -> Iterator[Stage]:
    """Yield the stages of the operation that belong to the store and the rows."""
    table = bench.store.catalog.find(bench.scope.account, bench.scope.region, bench.plan.table)
    assert table is not None
    get = bench.store.engine.get
    if workload.name in ("get", "update"):
        keys = [table.source_id + table.lookup_key(request.Key) for request in decoded]
        rows = [get(key) for key in keys]
        yield Stage("· spared: the engine's get", best_us(get, keys))
        if workload.name == "update":
            yield Stage("· in it: JSON of the row into an item", best_us(decode_row, rows))
            items = [decode_row(row) for row in rows]
            yield Stage("· in it: item into a row", best_us(lambda item: encode_row(item, 400), items))


def time_sockets(title: str, process: Process, port: int, file: Path, cores: Cores) -> Sockets:
    """Replay a file of requests and return CPU time per request of the server's own process, by its threads."""
    RunningLoad(port, file, CONNECTIONS, 1, cores.generator).wait()
    before = ticks_of(process)
    load = RunningLoad(port, file, CONNECTIONS, SECONDS, cores.generator).wait()
    spent = [after - early for after, early in zip(ticks_of(process), before, strict=True)]
    return Sockets(title, *(share / TICKS_PER_SECOND / load.requests * 1e6 for share in spent))


def ticks_of(process: Process) -> tuple[int, int, int, int]:
    """Return CPU ticks so far: the loop's user and system time, Python's other threads, the engine's threads.

    The loop's thread is the process's first thread.
    """
    pid = process.family()[0]
    user = system = sync = engine = 0
    for folder in Path(f"/proc/{pid}/task").iterdir():
        head, _, rest = (folder / "stat").read_text().rpartition(")")
        own_user, own_system = map(int, rest.split()[11:13])
        if folder.name == str(pid):
            user, system = own_user, own_system
        elif ENGINE_THREADS in head:
            engine += own_user + own_system
        else:
            sync += own_user + own_system
    return user, system, sync, engine


def time_floor(workload: Workload, file: Path, cores: Cores) -> Sockets:
    """Return the CPU of a server that only parses the same requests and answers with as many bytes."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.floor", str(port), str(BODY_BYTES.get(workload.name, 2))]
    with tempfile.TemporaryDirectory() as folder:
        process = Process(command, Path(folder), cores.server, {"PYTHONPATH": str(ROOT)})
        try:
            wait_until_ready(process, port)
            return time_sockets("· the floor", process, port, file, cores)
        finally:
            process.stop()


def sockets_table(plan: Plan, cores: Cores) -> Iterator[Sockets]:
    """Return the lines of every workload, in memory and on disk where they differ, each followed by its floor."""
    for name, workloads in OVER_SOCKETS.items():
        with running(BY_NAME[name], cores) as server:
            table = Table(server.fill(plan, ITEM_BYTES, ITEMS), ITEM_BYTES, ITEMS)
            for workload in map(plan.named, workloads):
                ready = make_ready(server, plan, workload, table)
                title = f"{workload.title}; {server.contender.title.partition(', ')[2]}"
                yield time_sockets(title, server.process, server.port, ready.file, cores)
                if name == "ours-memory" and not workload.indexes:
                    yield time_floor(workload, ready.file, cores)


def page(plan: Plan, stages: dict[str, list[Stage]], sockets: list[Sockets], cores: Cores) -> str:
    """Return both tables as Markdown."""
    titles = [stage.title for stage in max(stages.values(), key=len)]
    by_title = {name: dict(found) for name, found in stages.items()}
    in_process = [
        [title, *(f"{by_title[name][title]:.1f}" if title in by_title[name] else "" for name in WORKLOADS)]
        for title in titles
    ]
    measured = [[one.title, *(f"{us:.1f}" for us in (*one[1:], sum(one[1:])))] for one in sockets]
    return PAGE_TEXT.format(
        date=dt.datetime.now(tz=dt.UTC).date(),
        machine=describe_machine(cores),
        stages=markdown_table(
            ["µs of CPU per request", *(plan.named(name).operation for name in WORKLOADS)], in_process
        ),
        sockets=markdown_table(
            ["µs of CPU per request", "loop: user", "loop: system", "sync", "engine's threads", "together"], measured
        ),
        connections=CONNECTIONS,
    )


def main() -> None:
    """Measure, print, and write the page with --page."""
    plan = read_plan()
    bench = Bench(plan, ITEM_BYTES, ITEMS)
    try:
        stages = {name: list(stages_of(bench, plan.named(name))) for name in WORKLOADS}
    finally:
        bench.close()
    cores = choose_cores(is_pinned=True)
    text = page(plan, stages, list(sockets_table(plan, cores)), cores)
    print(text)
    if "--page" in sys.argv[1:]:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
