"""How fast do `hashrange scan`, `load` and `copy` move items, beside a server's bare replies, with how much CPU and
memory? `python -m benchmarks.toolkit`.

The server is a process of its own, in memory, and so is each command. A bare request is sent by as many threads as the
command has, with a signature that nobody checks, and its reply is not parsed. Items have about 400 bytes. On two cores,
the server has one and the command the other, if nothing else runs.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.client import Connection
from benchmarks.transfers import CREATION, made_words, make_item

TARGETS = """targets, with a core of its own:
  scan to DynamoDB JSON: 80 % of the bare server's Scan, 1.5 µs of CPU for an item; other forms: 15 µs
  load: 60 % of bare BatchWriteItem
  memory: 150 MB for a million items"""
TABLE, COPY = "items", "copied"
SEGMENTS = 4
BATCH_ITEMS = 25
ROUNDS = 3
LOAD_THREADS = 8
LOOK_SECONDS = 0.02


class Measured(NamedTuple):
    """A figure."""

    seconds: float
    cpu_seconds: float = 0.0
    memory_bytes: int = 0


@contextmanager
def served() -> Iterator[int]:
    """A server in memory; yields its port."""
    command = [sys.executable, "-m", "hashrange", "serve", "--in-memory", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().split("http://127.0.0.1:")[1].split(",")[0])
        finally:
            process.terminate()


class Bare:
    """Bare requests over one connection."""

    def __init__(self, port: int) -> None:
        self._connection, self._port = Connection(port), port

    def ask(self, operation: str, body: bytes) -> bytes:
        """The body of the reply."""
        date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        head = (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\nX-Amz-Date: {date}\r\n"
            f"Authorization: AWS4-HMAC-SHA256 Credential=a/{date[:8]}/us-east-1/dynamodb/aws4_request,"
            " SignedHeaders=host, Signature=a\r\n\r\n"
        )
        self._connection.send(head.encode() + body)
        status, reply = self._connection.receive()
        assert status == 200, reply
        return reply


def in_threads(work: Callable[[int], None], count: int) -> float:
    """Seconds that the work takes on so many threads, each of which gets its number."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    began = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return time.perf_counter() - began


def batches(items: int) -> list[bytes]:
    """Bodies of BatchWriteItem that put so many items."""
    chance = random.Random(1)
    words = made_words(chance)
    found = []
    for start in range(0, items, BATCH_ITEMS):
        puts = [
            {"PutRequest": {"Item": make_item(f"item-{number}", chance, words)}}
            for number in range(start, start + BATCH_ITEMS)
        ]
        found.append(msgspec.json.encode({"RequestItems": {TABLE: puts}}))
    return found


def bare_load(port: int, bodies: list[bytes]) -> Measured:
    """Put the items by bare requests."""
    left = iter(bodies)
    lock = threading.Lock()

    def work(_: int) -> None:
        bare = Bare(port)
        while True:
            with lock:
                body = next(left, None)
            if body is None:
                return
            bare.ask("BatchWriteItem", body)

    return Measured(in_threads(work, LOAD_THREADS))


def bare_scan(port: int) -> Measured:
    """Read the table by bare requests."""

    def work(number: int) -> None:
        bare, key = Bare(port), b""
        while True:
            place = b',"ExclusiveStartKey":' + key if key else b""
            reply = bare.ask(
                "Scan",
                b'{"TableName":"%b","Segment":%d,"TotalSegments":%d%b}' % (TABLE.encode(), number, SEGMENTS, place),
            )
            begin = reply.find(b'"LastEvaluatedKey":', len(reply) - 300)
            begin = begin if begin >= 0 else reply.find(b'"LastEvaluatedKey":', 0, 300)
            if begin < 0:
                return
            begin += len(b'"LastEvaluatedKey":')
            key = reply[begin : reply.find(b"}}", begin) + 2]

    return Measured(in_threads(work, SEGMENTS))


def run(port: int, *words: str) -> Measured:
    """Run a command."""
    command = [sys.executable, "-m", "hashrange", *words, "--endpoint", f"http://127.0.0.1:{port}"]
    began = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    most_bytes, ended = 0, (0, 0, None)
    while not ended[0]:
        most_bytes = max(most_bytes, memory_bytes(process.pid))
        time.sleep(LOOK_SECONDS)
        ended = os.wait4(process.pid, os.WNOHANG)  # type: ignore[assignment]
    _, status, used = ended
    assert used is not None
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return Measured(time.perf_counter() - began, used.ru_utime + used.ru_stime, most_bytes)


def memory_bytes(process_id: int) -> int:
    """The most memory that a process has had, which is not that of the one which started it; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{process_id}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def best(measure: Callable[[], Measured]) -> Measured:
    """The quickest of some rounds: other work on the machine only makes a round slower."""
    found = [measure() for _ in range(ROUNDS)]
    seconds, cpu_seconds, memories = zip(*found, strict=True)
    return Measured(min(seconds), min(cpu_seconds), max(memories))


def show(name: str, items: int, measured: Measured, start: Measured, bare: Measured | None = None) -> None:
    """Print a figure. `start`: what the command costs without items, which is left out."""
    seconds = measured.seconds - start.seconds
    if seconds < start.seconds:
        print(f"{name}: too few items for a speed by the clock")
    micros = (measured.cpu_seconds - start.cpu_seconds) * 1e6 / items
    share = f", {bare.seconds / max(seconds, 1e-3):.0%} of bare requests" if bare else ""
    memory = f", {measured.memory_bytes / 1e6:,.0f} MB" if measured.memory_bytes else ""
    print(
        f"{name}: {items / max(seconds, 1e-3):,.0f} items per second{share}, {micros:.2f} µs of CPU for an item{memory}"
    )


def main(arguments: list[str]) -> None:
    """Measure, and print the figures and the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200_000, help="items that are moved")
    items = max(parser.parse_args(arguments).items // BATCH_ITEMS, 1) * BATCH_ITEMS
    with served() as port, tempfile.TemporaryDirectory() as folder:
        setting_up = Bare(port)
        for name in (TABLE, COPY, "empty"):
            setting_up.ask("CreateTable", msgspec.json.encode({**CREATION, "TableName": name}))
        bodies = batches(items)
        loading = bare_load(port, bodies)
        print(f"bare BatchWriteItem: {items / loading.seconds:,.0f} items per second")
        scanning = best(lambda: bare_scan(port))
        print(f"bare Scan: {items / scanning.seconds:,.0f} items per second")
        segments = ["--segments", str(SEGMENTS)]
        start = best(lambda: run(port, "scan", "--table", "empty", *segments, "--output", f"{folder}/empty"))
        for form in ("dynamodb-json", "jsonl", "json", "csv"):
            words = ["scan", "--table", TABLE, *segments, "--format", form, "--output", f"{folder}/items.{form}"]
            show(f"scan to {form}", items, best(lambda words=words: run(port, *words)), start, scanning)  # type: ignore[misc]
        for form in ("dynamodb-json", "jsonl", "json", "csv"):
            words = ["load", f"{folder}/items.{form}", "--format", form, "--table", COPY]
            kinds = ["--types", "count=N,is_new=BOOL"] if form == "csv" else []
            show(f"load of {form}", items, run(port, *words, *kinds), start, loading)
        to = ["--to-table", COPY, "--to-endpoint", f"http://127.0.0.1:{port}", "--progress", f"{folder}/progress"]
        show("copy", items, run(port, "copy", "--table", TABLE, *segments, *to), start)
        print(TARGETS)


if __name__ == "__main__":
    main(sys.argv[1:])
