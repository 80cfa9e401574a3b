"""`python -m benchmarks.followers`: what do a stream and time to live add to a write, and what does reading a stream cost?

In process, µs of CPU of one thread, the least of many rounds, in which the kinds of tables take turns: items of 400 bytes that are replaced. Without
sockets, signatures and the engine's own threads, so it is the addition that counts, not the sum.
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
from hashrange.clock import SystemClock
from hashrange.operations.items.put_item import PutItemRequest, put_item
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.server.process import settle_collector
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
"""Added to a PutItem, in memory and on disk."""
TITLES = {
    "keys": "a stream of keys",
    "images": "a stream of both images",
    "expiry-stays": "time to live, the value stays",
    "expiry-moves": "time to live, the value changes",
}
RECORDS = 1_000
RECORD_TARGET_US = 5


def run(coroutine: Coroutine[Any, Any, bytes]) -> bytes:
    """Of an operation that does not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return bytes(stop.value)
    raise AssertionError("the operation suspended")


def ask(scope: Scope, name: str, **members: Any) -> Any:
    """The reply to a request."""
    operation = OPERATIONS[name]
    return msgspec.json.decode(run(operation.run(scope, msgspec.convert(members, operation.request))))


def make_tables(scope: Scope) -> None:
    """One of each kind."""
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
    """Puts that replace all items of a table; whatever its kind, each changes one number of ten digits."""
    soon = int(time.time()) + 10**6
    made = []
    for place in range(ITEMS):
        changing = {"N": str(soon + number * ITEMS + place)}
        fixed = {"N": str(soon + place)}
        names = {"expires": changing, "n": fixed} if kind == "expiry-moves" else {"expires": fixed, "n": changing}
        item = {"pk": {"S": f"key-{place}"}, "text": {"S": "x" * TEXT_BYTES}, **names}
        made.append(msgspec.convert({"TableName": kind, "Item": item}, PutItemRequest))
    return made


def least(rounds: int, scope: Scope) -> dict[str, float]:
    """µs of each PutItem, by kind of table."""
    found = dict.fromkeys(KINDS, float("inf"))
    for number in range(rounds):
        for kind in KINDS:
            wanted = requests(kind, number)
            began = time.thread_time()
            for request in wanted:
                run(put_item(scope, request))
            found[kind] = min(found[kind], (time.thread_time() - began) / ITEMS * 1e6)
    return found


def reading_us(scope: Scope, rounds: int) -> float:
    """Of a page of 1,000 records with both images, µs for each."""
    arn = next(one.arn for one in scope.store.streams.of(scope.account, scope.region) if one.table_name == "images")
    shard = ask(scope, "DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    start = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = ask(scope, "GetShardIterator", **start)["ShardIterator"]
    operation = OPERATIONS["GetRecords"]
    request = msgspec.convert({"ShardIterator": iterator}, operation.request)
    best, count = float("inf"), 1
    for _ in range(rounds):
        began = time.thread_time()
        body = run(operation.run(scope, request))
        best = min(best, time.thread_time() - began)
        count = len(msgspec.json.decode(body)["Records"])
    return best / count * 1e6


async def measure(place: str | None, rounds: int, tell: Callable[[str], None]) -> None:
    """Print the table of one mode."""
    clock = SystemClock()
    store = open_store(place, clock, asyncio.get_running_loop())
    scope = Scope("000000000000", "us-east-1", store, clock, Settings())
    make_tables(scope)
    settle_collector()
    mode = 0 if place is None else 1
    found = least(rounds, scope)
    tell(f"| PutItem of 400 B, replacing, {('memory', 'disk')[mode]} | {found['plain']:.1f} | | |")
    for kind, title in TITLES.items():
        tell(
            f"| the same with {title} | {found[kind]:.1f} | {found[kind] - found['plain']:+.1f} | {TARGETS_US[kind][mode]} |"
        )
    tell(
        f"| GetRecords, a record with both images of a page of them | {reading_us(scope, 20):.1f} | | {RECORD_TARGET_US} |"
    )
    await store.close()


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.followers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="of 100 puts for each kind of table [60]")
    rounds = parser.parse_args().rounds
    print(f"{describe_hardware()}\n\n| what | µs | added | target |\n| --- | ---: | ---: | ---: |")
    for is_on_disk in (False, True):
        with tempfile.TemporaryDirectory() if is_on_disk else nullcontext(None) as folder:
            asyncio.run(measure(folder, rounds, print))


if __name__ == "__main__":
    main()
