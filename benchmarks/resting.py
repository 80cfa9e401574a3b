"""`python -m benchmarks.resting`: what does an idle server with streams and items to expire cost,
and how do expiries slow reads?

A server of this checkout is measured over sockets. Idle: its CPU is compared with that of an empty one. Busy: items
expire at a fixed rate while GetItems read another table at a fixed rate; their latencies count from when they were due.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any, Literal

from benchmarks.client import Client
from benchmarks.machine import describe_hardware
from benchmarks.prepare import write_requests
from benchmarks.processes import Cores, Process, choose_cores
from benchmarks.running import running
from benchmarks.servers import BY_NAME
from benchmarks.signing import Signer
from benchmarks.steady import SteadyLoad

STREAMS = 100
ITEMS, ITEMS_HUGE = 100_000, 10_000_000
EXPIRIES_PER_SECOND = 10_000
EXPIRING_SECONDS = 8
GETS_PER_SECOND = 2_000
CONNECTIONS = 16
IDLE_SECONDS = 10.0
BATCH_ITEMS = 25
LOADS_PER_SECOND_MIN = 3_000
"""Lowest rate at which items are loaded: the first expiry is set late enough for it."""
P99_TARGETS_MS = {"memory": 3.0, "disk": 10.0}

Kind = Literal["memory", "disk"]


def make_table(client: Client, name: str, **members: Any) -> None:
    """Create an on-demand table with the key `pk`."""
    keys = {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
    types = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}
    client.call("CreateTable", {"TableName": name, "BillingMode": "PAY_PER_REQUEST", **keys, **types, **members})


def load(client: Client, name: str, count: int, expires_at: float, per_second: int) -> None:
    """Load items of some 400 bytes; from `expires_at` on, `per_second` expire each second,
    or all at once if it is 0.
    """
    for start in range(0, count, BATCH_ITEMS):
        puts = []
        for number in range(start, min(count, start + BATCH_ITEMS)):
            at = int(expires_at) + (number // per_second if per_second else 0)
            item = {"pk": {"S": f"key-{number}"}, "text": {"S": "x" * 350}, "expires": {"N": str(at)}}
            puts.append({"PutRequest": {"Item": item}})
        client.call("BatchWriteItem", {"RequestItems": {name: puts}})


def enable_expiry(client: Client, name: str) -> None:
    """Turn on time to live and wait until it is ENABLED."""
    on = {"Enabled": True, "AttributeName": "expires"}
    client.call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": on})
    while state_of(client, name) != "ENABLED":
        time.sleep(0.01)


def state_of(client: Client, name: str) -> str:
    """Return the status of the table's time to live."""
    reply = client.call("DescribeTimeToLive", {"TableName": name})
    return str(reply["TimeToLiveDescription"]["TimeToLiveStatus"])


def idle_percent(process: Process) -> float:
    """Return the CPU of an idle server, as percent of a core."""
    time.sleep(2.0)  # background work after the last requests ends
    before, began = process.cpu_seconds(), time.perf_counter()
    time.sleep(IDLE_SECONDS)
    return (process.cpu_seconds() - before) / (time.perf_counter() - began) * 100


def measure_idle(kind: Kind, items: int, cores: Cores) -> None:
    """Print the CPU of an idle server."""
    with running(BY_NAME[f"ours-{kind}"], cores) as server:
        process, client = server.process, server.client
        empty = idle_percent(process)
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
        for number in range(STREAMS):
            make_table(client, f"streamed-{number}", **stream)
        streamed = idle_percent(process)
        make_table(client, "expiring")
        enable_expiry(client, "expiring")
        load(client, "expiring", items, time.time() + 10**7, 0)
        expiring = idle_percent(process)
    print(f"| idle, {kind}: an empty server | {empty:.2f} % of a core | |")
    print(f"| idle, {kind}: {STREAMS} streams | {streamed:.2f} % | 1 % |")
    print(f"| idle, {kind}: and {items:,} items with time to live | {expiring:.2f} % | 0.1 % |", flush=True)


def steady_gets(client: Client, folder: Path, cores: Cores) -> SteadyLoad:
    """Start GetItems at a fixed rate, signed now."""
    signer = Signer(client.host)
    bodies = [json.dumps({"TableName": "read", "Key": {"pk": {"S": f"key-{place}"}}}) for place in range(1_000)]
    file = folder / "gets"
    write_requests(file, [signer.request("GetItem", body.encode()) for body in bodies])
    return SteadyLoad(client.port, GETS_PER_SECOND, CONNECTIONS, [file], cores.generator)


def measure_expiring(kind: Kind, cores: Cores) -> None:
    """Print the latencies of GetItems while items expire."""
    count = EXPIRIES_PER_SECOND * EXPIRING_SECONDS
    with running(BY_NAME[f"ours-{kind}"], cores) as server:
        process, client = server.process, server.client
        make_table(client, "read")
        load(client, "read", 1_000, 0, 0)
        alone = steady_gets(client, server.folder, cores)
        time.sleep(EXPIRING_SECONDS)
        (quiet,) = alone.end().seen
        make_table(client, "expiring")
        enable_expiry(client, "expiring")
        begins_at = int(time.time()) + 5 + count // LOADS_PER_SECOND_MIN
        load(client, "expiring", count, begins_at, EXPIRIES_PER_SECOND)
        assert time.time() < begins_at, "the items took too long to load"
        time.sleep(begins_at - time.time())
        before, steady = process.cpu_seconds(), steady_gets(client, server.folder, cores)
        time.sleep(EXPIRING_SECONDS + 1)
        seen = steady.end()
        left = client.call("DescribeTable", {"TableName": "expiring"})["Table"]["ItemCount"]
        busy = (process.cpu_seconds() - before) / (EXPIRING_SECONDS + 1) * 100
    (gets,) = seen.seen
    print(f"| GetItem at {GETS_PER_SECOND:,} a second, {kind}, nothing expires: p50 | {quiet.p50_ms:.2f} ms | |")
    print(f"| the same: p99 | {quiet.p99_ms:.2f} ms | |")
    print(f"| the same: longest | {quiet.max_ms:.1f} ms | |")
    print(
        f"| {EXPIRIES_PER_SECOND:,} expiries a second, {kind}: GetItem p50 at {GETS_PER_SECOND:,} a second |"
        f" {gets.p50_ms:.2f} ms | |"
    )
    print(f"| the same: p99 | {gets.p99_ms:.2f} ms | {P99_TARGETS_MS[kind]:.0f} ms |")
    print(f"| the same: longest | {gets.max_ms:.1f} ms | |")
    print(f"| the same: left a second after the last one's time, of {count:,} | {left:,} | 0 |")
    print(f"| the same: server | {busy:.0f} % of a core | |", flush=True)


def main() -> None:
    """Run all measurements and print their table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resting", description=__doc__)
    parser.add_argument(
        "--huge",
        action="store_true",
        help=f"{ITEMS_HUGE:,} items with time to live; loading them takes a quarter of an hour",
    )
    parser.add_argument("--items", type=int, default=ITEMS, help=f"with time to live [{ITEMS:,}]")
    chosen = parser.parse_args()
    items = ITEMS_HUGE if chosen.huge else chosen.items
    cores = choose_cores(is_pinned=True)
    print(f"{describe_hardware()}\n\n| what | figure | target |\n| --- | ---: | ---: |", flush=True)
    kinds: tuple[Kind, ...] = ("memory", "disk")
    for kind in kinds:
        measure_idle(kind, items, cores)
        measure_expiring(kind, cores)


if __name__ == "__main__":
    main()
