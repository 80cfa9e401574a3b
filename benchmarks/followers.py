"""`python -m benchmarks.followers`: how much do a stream, a Kinesis destination, recovery, a backup, a delayed index
and time to live add to a write, and how much does reading a stream cost?

Measured in process: items of 400 bytes are replaced; µs of CPU of one thread, the least of many rounds, in which the
kinds of tables take turns. Sockets, signatures and the engine's threads are left out, so only the differences count.
Bytes are those that a change adds to the engine's log on disk; instructions are those of bytecode (`budget.py`).
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import msgspec

from benchmarks.machine import describe_hardware
from benchmarks.pair_served import Instructions
from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.server.credentials import ACCOUNT
from hashrange.server.protocols.dynamodb_json.writing import reply_json
from hashrange.service import collector
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store
from hashrange.store.embedded.participant import Options
from hashrange.store.interface import WholeStore

ITEMS = 100
COUNTED = 8
"""Puts whose instructions are counted."""
TEXT_BYTES = 330
KINDS = (
    "plain",
    "keys",
    "images",
    "feed",
    "images-and-feed",
    "recovery",
    "images-and-recovery",
    "copied",
    "expiry-stays",
    "expiry-moves",
)
VIEWS = {"keys": "KEYS_ONLY"} | dict.fromkeys(
    ("images", "images-and-feed", "images-and-recovery"), "NEW_AND_OLD_IMAGES"
)
"""Kind of table → view type of its stream."""
FED = ("feed", "images-and-feed")
"""Kinds of tables with a Kinesis destination."""
RECOVERABLE = ("recovery", "images-and-recovery")
"""Kinds of tables with point-in-time recovery."""
TARGETS_US = {
    "keys": (12, 16),
    "images": (16, 24),
    "feed": (16, 24),
    "images-and-feed": (17, 25),
    "recovery": (12, 18),
    "images-and-recovery": (18, 26),
    "copied": (3, 3),
    "expiry-stays": (3, 3),
    "expiry-moves": (14, 24),
}
"""Highest µs that each kind of table may add to a PutItem, in memory and on disk."""
TITLES = {
    "keys": "a stream of keys",
    "images": "a stream of both images",
    "feed": "a Kinesis destination",
    "images-and-feed": "a stream of both images and a Kinesis destination",
    "recovery": "point-in-time recovery",
    "images-and-recovery": "a stream of both images and recovery",
    "copied": "a backup that has kept the items before",
    "expiry-stays": "time to live, the value stays",
    "expiry-moves": "time to live, the value changes",
}
DATA_STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
"""Nothing is sent to it: no job runs."""
INDEXED = "indexed"
RECORD_TARGET_US = 5
APPLIED_AT_ONCE = 256
SETTINGS = Settings(kinesis_endpoint="http://127.0.0.1:9")
BEHIND_RECORDS = 50_000
BEHIND_SECONDS = 2 * 3600.0
"""How far the reader is behind; the store's clock is moved this far after the records are written."""


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of an operation that does not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the operation suspended")


def ask(scope: Scope, name: str, **members: Any) -> Any:
    """Return the reply to a request that consumes no capacity."""
    operation = OPERATIONS[name]
    return run(operation.run(scope, msgspec.convert(members, operation.request)))


def make_tables(scope: Scope) -> None:
    """Create one table of each kind."""
    for kind in KINDS:
        stream = {"StreamEnabled": True, "StreamViewType": VIEWS[kind]} if kind in VIEWS else None
        ask(
            scope,
            "CreateTable",
            TableName=kind,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            **({} if stream is None else {"StreamSpecification": stream}),
        )
        if kind.startswith("expiry"):
            on = {"Enabled": True, "AttributeName": "expires"}
            ask(scope, "UpdateTimeToLive", TableName=kind, TimeToLiveSpecification=on)
        if kind in FED:
            ask(scope, "EnableKinesisStreamingDestination", TableName=kind, StreamArn=DATA_STREAM)
        if kind in RECOVERABLE:
            on = {"PointInTimeRecoveryEnabled": True}
            ask(scope, "UpdateContinuousBackups", TableName=kind, PointInTimeRecoverySpecification=on)
    run(scope.row_copies.begin("benchmark", scope.tables["copied"].schema))


def make_index(scope: Scope) -> None:
    """Create the table `indexed`, whose index projects whole items."""
    ask(
        scope,
        "CreateTable",
        TableName=INDEXED,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "text")],
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-text",
                "KeySchema": [{"AttributeName": "text", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )


def requests(kind: str, number: int) -> list[Any]:
    """Return puts that replace all items of a table; each put changes one number of ten digits,
    in any kind of table.
    """
    soon = int(time.time()) + 10**6
    made = []
    for place in range(ITEMS):
        changing = {"N": str(soon + number * ITEMS + place)}
        fixed = {"N": str(soon + place)}
        names = {"expires": changing, "n": fixed} if kind == "expiry-moves" else {"expires": fixed, "n": changing}
        item = {"pk": {"S": f"key-{place}"}, "text": {"S": "x" * TEXT_BYTES}, **names}
        made.append(msgspec.convert({"TableName": kind, "Item": item}, OPERATIONS["PutItem"].request))
    return made


def log_bytes(place: str) -> int:
    """Bytes in the engine's logs of the data folder `place`."""
    return sum(path.stat().st_size for path in (Path(place) / "engine").glob("*.log"))


async def durable(store: WholeStore) -> None:
    """Wait until the logs hold all commits."""
    done = asyncio.get_running_loop().create_future()
    store.when_durable(store.position(), lambda _: done.set_result(None))
    await done


def whole_store(scope: Scope) -> WholeStore:
    """The store that the scope's operations use."""
    return cast(WholeStore, scope.store)


async def bytes_per_change(scope: Scope, place: str, kind: str) -> float:
    """Bytes that a PutItem into the table `kind` adds to the engine's log."""
    await durable(whole_store(scope))
    before = log_bytes(place)
    puts_us(scope, requests(kind, 0))
    await durable(whole_store(scope))
    return (log_bytes(place) - before) / ITEMS


def instructions(scope: Scope, kind: str) -> int:
    """Return how many instructions of bytecode a PutItem into the table `kind` executes, of some the least."""
    put, counter, found = OPERATIONS["PutItem"], Instructions(), []
    for request in requests(kind, 1)[:COUNTED]:
        counter.count = 0
        counter.is_on = True
        sys.settrace(counter.trace)
        run(put.start(scope, request, Meter()))
        sys.settrace(None)
        found.append(counter.count)
    return min(found)


def least(rounds: int, scope: Scope) -> dict[str, float]:
    """Return the least µs per PutItem of all rounds, by kind of table."""
    found = dict.fromkeys(KINDS, float("inf"))
    for number in range(rounds):
        for kind in KINDS:
            found[kind] = min(found[kind], puts_us(scope, requests(kind, number)))
    return found


def puts_us(scope: Scope, wanted: list[Any]) -> float:
    """Return the mean µs of these PutItem requests."""
    put = OPERATIONS["PutItem"]
    began = time.thread_time()
    for request in wanted:
        run(put.start(scope, request, Meter()))
    return (time.thread_time() - began) / len(wanted) * 1e6


class Reader:
    """Reads the stream with both images from its beginning, or from a time, a page at a time."""

    def __init__(self, scope: Scope, since_seconds: float | None = None) -> None:
        self._scope = scope
        arn = next(one.arn for one in scope.store.streams.of(scope.account, scope.region) if one.table_name == "images")
        shard = ask(scope, "DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        start: dict[str, Any] = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        if since_seconds is not None:
            start |= {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": since_seconds}
        self._begin = self._next = ask(scope, "GetShardIterator", **start)["ShardIterator"]

    def page(self) -> tuple[float, int]:
        """Seconds and number of records of the next page; after the last record, reading restarts at the beginning."""
        operation = OPERATIONS["GetRecords"]
        request = msgspec.convert({"ShardIterator": self._next}, operation.request)
        began = time.thread_time()
        reply = run(operation.run(self._scope, request))
        reply_json(reply)
        took = time.thread_time() - began
        self._next = reply["NextShardIterator"] if reply["Records"] else self._begin
        return took, len(reply["Records"])


def reading_us(scope: Scope, rounds: int) -> float:
    """Return µs per record of reading a page of 1,000 records with both images."""
    best = float("inf")
    for _ in range(rounds):
        took, count = Reader(scope).page()
        best = min(best, took / count * 1e6)
    return best


async def measure_behind(place: str | None, rounds: int, tell: Callable[[str], None]) -> None:
    """Print how much a reader two hours behind adds to a write, compared with a reader of new records.

    Each reader reads a page of 1,000 records before every 1,000 puts.
    """
    clock = MovableClock(SystemClock(), ServiceTimeState(frozen_seconds=time.time()))
    store = open_store(place, clock, asyncio.get_running_loop())
    scope = Service(store, OPERATIONS, clock, SETTINGS).scope(ACCOUNT, "us-east-1")
    make_tables(scope)
    for number in range(BEHIND_RECORDS // ITEMS):
        puts_us(scope, requests("images", number))
    clock.advance(BEHIND_SECONDS)
    for number in range(1_000 // ITEMS):
        puts_us(scope, requests("images", number))
    collector.settle()
    readers = Reader(scope, clock.service_time()), Reader(scope)
    found = [float("inf")] * 2
    for number in range(2 * rounds):
        place_of = number % 2
        readers[place_of].page()
        wanted = [one for step in range(1_000 // ITEMS) for one in requests("images", number * 10 + step)]
        found[place_of] = min(found[place_of], puts_us(scope, wanted))
    new, behind = found
    mode = "memory" if place is None else "disk"
    tell(
        f"| PutItem with a stream of both images, {mode}, beside a reader {BEHIND_SECONDS / 3600:.0f} h behind, and"
        f" not beside one of what is new | {behind:.1f} | {behind - new:+.1f} | 0 | | |"
    )
    await store.close()


async def measure_delayed(place: str | None, rounds: int, tell: Callable[[str], None]) -> None:
    """Print what an index adds to a write, and what it adds when its entries are delayed, with their later writing."""
    mode = "memory" if place is None else "disk"
    found_us, written_bytes = dict.fromkeys((False, True), float("inf")), dict.fromkeys((False, True), 0.0)
    clock = SystemClock()
    scopes = {}
    for is_delayed in found_us:
        options = Options(index_delay=(lambda: 0.0) if is_delayed else None)
        folder = place and f"{place}/{is_delayed}"
        store = open_store(folder, clock, asyncio.get_running_loop(), options)
        scopes[is_delayed] = Service(store, OPERATIONS, clock, Settings()).scope(ACCOUNT, "us-east-1")
        make_index(scopes[is_delayed])
    collector.settle()
    for number in range(rounds):
        for is_delayed, scope in scopes.items():
            took_us = puts_us(scope, requests(INDEXED, number))
            if is_delayed:
                took_us += await applying_us(scope)
            found_us[is_delayed] = min(found_us[is_delayed], took_us)
    for is_delayed, scope in scopes.items():
        if place is not None:
            written_bytes[is_delayed] = await bytes_per_change(scope, f"{place}/{is_delayed}", INDEXED)
            await durable(whole_store(scope))
            before = log_bytes(f"{place}/{is_delayed}")
            await applying_us(scope)
            await durable(whole_store(scope))
            written_bytes[is_delayed] += (log_bytes(f"{place}/{is_delayed}") - before) / ITEMS
    for is_delayed, title in ((False, "one global index"), (True, "one delayed index, entries included")):
        told_bytes = f"{written_bytes[is_delayed]:.0f}" if place else ""
        added_us = found_us[is_delayed] - found_us[False]
        tell(
            f"| PutItem of 400 B with {title}, {mode} | {found_us[is_delayed]:.1f} | {added_us:+.1f} | |"
            f" {told_bytes} | |"
        )
    for scope in scopes.values():
        await whole_store(scope).close()


async def applying_us(scope: Scope) -> float:
    """µs per item of ITEMS of writing the delayed entries of all items."""
    began = time.thread_time()
    while await scope.maintenance.apply_delayed(APPLIED_AT_ONCE) is not None:
        pass
    return (time.thread_time() - began) / ITEMS * 1e6


async def measure(place: str | None, rounds: int, tell: Callable[[str], None]) -> None:
    """Measure one mode and print its table."""
    clock = SystemClock()
    store = open_store(place, clock, asyncio.get_running_loop())
    scope = Service(store, OPERATIONS, clock, SETTINGS).scope(ACCOUNT, "us-east-1")
    make_tables(scope)
    collector.settle()
    mode = 0 if place is None else 1
    found = least(rounds, scope)
    counted = {kind: instructions(scope, kind) for kind in KINDS}
    told_bytes = dict.fromkeys(KINDS, "")
    if place is not None:
        told_bytes = {kind: f"{await bytes_per_change(scope, place, kind):.0f}" for kind in KINDS}
    tell(
        f"| PutItem of 400 B, replacing, {('memory', 'disk')[mode]} | {found['plain']:.1f} | | |"
        f" {told_bytes['plain']} | {counted['plain']:,} |"
    )
    for kind, title in TITLES.items():
        tell(
            f"| the same with {title} | {found[kind]:.1f} | {found[kind] - found['plain']:+.1f} |"
            f" {TARGETS_US[kind][mode]} | {told_bytes[kind]} | {counted[kind] - counted['plain']:+,} |"
        )
    tell(
        "| GetRecords, a record with both images of a page of them |"
        f" {reading_us(scope, 20):.1f} | | {RECORD_TARGET_US} | | |"
    )
    await store.close()


def main() -> None:
    """Measure all modes and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.followers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="of 100 puts for each kind of table [60]")
    rounds = parser.parse_args().rounds
    print(f"{describe_hardware()}\n\n| what | µs | added | target | bytes | instructions |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for is_on_disk in (False, True):
        with tempfile.TemporaryDirectory() if is_on_disk else nullcontext(None) as folder:
            asyncio.run(measure(folder, rounds, print))
        with tempfile.TemporaryDirectory() if is_on_disk else nullcontext(None) as folder:
            asyncio.run(measure_delayed(folder, rounds, print))
        with tempfile.TemporaryDirectory() if is_on_disk else nullcontext(None) as folder:
            asyncio.run(measure_behind(folder, rounds, print))


if __name__ == "__main__":
    main()
