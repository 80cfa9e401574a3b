"""`python -m benchmarks.followers`: how much do a stream and time to live add to a write,
and how much does reading a stream cost?

Measured in process: items of 400 bytes are replaced; µs of CPU of one thread, the least of many rounds, in which the
kinds of tables take turns. Sockets, signatures and the engine's threads are left out, so only the differences count.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any

import msgspec

from benchmarks.machine import describe_hardware
from hashrange.clock import SystemClock, VirtualClock
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.server.credentials import ACCOUNT
from hashrange.server.protocols.dynamodb_json.writing import reply_json
from hashrange.service import collector
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store

ITEMS = 100
TEXT_BYTES = 330
KINDS = ("plain", "keys", "images", "expiry-stays", "expiry-moves")
TARGETS_US = {
    "keys": (12, 16),
    "images": (16, 24),
    "expiry-stays": (3, 3),
    "expiry-moves": (14, 24),
}
"""Highest µs that each kind of table may add to a PutItem, in memory and on disk."""
TITLES = {
    "keys": "a stream of keys",
    "images": "a stream of both images",
    "expiry-stays": "time to live, the value stays",
    "expiry-moves": "time to live, the value changes",
}
RECORD_TARGET_US = 5
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
        views = {"keys": "KEYS_ONLY", "images": "NEW_AND_OLD_IMAGES"}
        stream = {"StreamEnabled": True, "StreamViewType": views[kind]} if kind in views else None
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
    clock = VirtualClock(time.time())
    store = open_store(place, clock, asyncio.get_running_loop())
    scope = Service(store, OPERATIONS, clock, Settings()).scope(ACCOUNT, "us-east-1")
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
        f" not beside one of what is new | {behind:.1f} | {behind - new:+.1f} | 0 |"
    )
    await store.close()


async def measure(place: str | None, rounds: int, tell: Callable[[str], None]) -> None:
    """Measure one mode and print its table."""
    clock = SystemClock()
    store = open_store(place, clock, asyncio.get_running_loop())
    scope = Service(store, OPERATIONS, clock, Settings()).scope(ACCOUNT, "us-east-1")
    make_tables(scope)
    collector.settle()
    mode = 0 if place is None else 1
    found = least(rounds, scope)
    tell(f"| PutItem of 400 B, replacing, {('memory', 'disk')[mode]} | {found['plain']:.1f} | | |")
    for kind, title in TITLES.items():
        tell(
            f"| the same with {title} | {found[kind]:.1f} | {found[kind] - found['plain']:+.1f} |"
            f" {TARGETS_US[kind][mode]} |"
        )
    tell(
        "| GetRecords, a record with both images of a page of them |"
        f" {reading_us(scope, 20):.1f} | | {RECORD_TARGET_US} |"
    )
    await store.close()


def main() -> None:
    """Measure all modes and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.followers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="of 100 puts for each kind of table [60]")
    rounds = parser.parse_args().rounds
    print(f"{describe_hardware()}\n\n| what | µs | added | target |\n| --- | ---: | ---: | ---: |")
    for is_on_disk in (False, True):
        with tempfile.TemporaryDirectory() if is_on_disk else nullcontext(None) as folder:
            asyncio.run(measure(folder, rounds, print))
        with tempfile.TemporaryDirectory() if is_on_disk else nullcontext(None) as folder:
            asyncio.run(measure_behind(folder, rounds, print))


if __name__ == "__main__":
    main()
