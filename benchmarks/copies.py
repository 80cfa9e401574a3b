"""`python -m benchmarks.copies`: how long do backups and restores of operators take, and how do they slow reads?

A server of this checkout on disk is copied over a socket, while GetItems read another table at a fixed rate. Its items
have 2,000 bytes, which compression hardly shortens; those that change between two copies are chosen at random, or have
neighbouring keys.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.client import Client
from benchmarks.machine import describe_hardware
from benchmarks.processes import Cores, choose_cores, folder_mb
from benchmarks.resting import BATCH_ITEMS, GETS_PER_SECOND, load, make_table, steady_gets
from benchmarks.running import Running, running
from benchmarks.servers import BY_NAME, SOURCES

MB = 1_000
ITEM_BYTES = 2_000
CHANGED_SHARE = 0.01
P99_MS_MAX = 10
_find_added = re.compile(r"of them new, ([0-9.,]+) (MB|bytes)").search


def put_items(client: Client, numbers: list[int], rng: random.Random) -> None:
    """Put items with random text."""
    for start in range(0, len(numbers), BATCH_ITEMS):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": f"key-{n}"}, "text": {"S": rng.randbytes(ITEM_BYTES // 2).hex()}}}}
            for n in numbers[start : start + BATCH_ITEMS]
        ]
        client.call("BatchWriteItem", {"RequestItems": {"orders": puts}})


def run_command(words: list[str], cores: Cores) -> tuple[float, str]:
    """Run a command of this checkout; returns its seconds, and what it says. Raises CalledProcessError."""
    command = [sys.executable, "-m", "hashrange", *words]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    pinned = ["taskset", "-c", cores.generator, *command] if cores.generator else command
    began = time.perf_counter()
    ended = subprocess.run(pinned, env=environment, check=True, capture_output=True, text=True)
    return time.perf_counter() - began, ended.stdout


def tell_copy(what: str, server: Running, words: list[str], cores: Cores) -> None:
    """Make a copy beside GetItems, and print its figures."""
    steady = steady_gets(server.client, server.folder, cores)
    before = server.process.cpu_seconds()
    seconds, said = run_command(["backup", f"http://127.0.0.1:{server.port}", *words], cores)
    cpu = server.process.cpu_seconds() - before
    (gets,) = steady.end().seen
    held_mb = server.disk_mb() or 0.0
    added = _find_added(said)
    print(f"| {what}: MB of the database a second | {held_mb / seconds:,.0f} | |")
    print(f"| the same: seconds, and of the server's CPU with the GetItems | {seconds:.1f}, {cpu:.1f} | |")
    print(f"| the same: new | {' '.join(added.groups()) if added else said} | |")
    print(f"| the same: GetItem p99 | {gets.p99_ms:.2f} ms | {P99_MS_MAX} ms |")
    print(f"| the same: GetItem, longest | {gets.max_ms:.1f} ms | |", flush=True)


def measure(size_mb: int, cores: Cores) -> None:
    """Print all figures."""
    rng = random.Random(1)
    items = size_mb * 1_000_000 // ITEM_BYTES
    changed = int(items * CHANGED_SHARE)
    with running(BY_NAME["ours-disk"], cores, {"HASHRANGE_ADMIN": "true"}) as server:
        client = server.client
        make_table(client, "read")
        load(client, "read", 1_000, 0, 0)
        make_table(client, "orders")
        put_items(client, list(range(items)), rng)
        steady = steady_gets(client, server.folder, cores)
        time.sleep(5)
        (quiet,) = steady.end().seen
        print(f"| GetItem at {GETS_PER_SECOND:,} a second, alone: p99 | {quiet.p99_ms:.2f} ms | |")
        print(f"| data folder | {server.disk_mb() or 0:,.0f} MB | |", flush=True)
        target = str(server.folder / "copies")
        tell_copy("a first copy, unchecked", server, [target, "--no-check"], cores)
        tell_copy("a copy without changes, unchecked", server, [target, "--no-check"], cores)
        tell_copy("a copy without changes, checked", server, [target], cores)
        first = rng.randrange(items - changed)
        put_items(client, list(range(first, first + changed)), rng)
        tell_copy(f"a copy after {CHANGED_SHARE:.0%} of changes, unchecked", server, [target, "--no-check"], cores)
        size = folder_mb(Path(target))
        for what, words in (("a restore, unchecked", ["--no-check"]), ("a restore, checked", [])):
            place = server.folder / what.replace(" ", "-")
            seconds, _ = run_command(["restore", target, str(place), *words], cores)
            print(f"| {what}: MB a second | {folder_mb(place) / seconds:,.0f} | |", flush=True)
        seconds, _ = run_command(["check", target], cores)
        print(f"| a check of the folder of copies: MB a second | {size / seconds:,.0f} | |")


def main() -> None:
    """Run all measurements and print their table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.copies", description=__doc__)
    parser.add_argument("--mb", type=int, default=MB, help=f"size of the table's items [{MB:,}]")
    chosen = parser.parse_args()
    cores = choose_cores(is_pinned=True)
    print(f"{describe_hardware()}\n\n| what | figure | target |\n| --- | ---: | ---: |", flush=True)
    measure(chosen.mb, cores)


if __name__ == "__main__":
    main()
