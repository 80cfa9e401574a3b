"""`python -m benchmarks.copies`: how long do backups and restores of operators take, and how do they slow reads?

A server of this checkout on disk is copied over a socket, while GetItems read another table at a fixed rate. Its items
have 2,000 bytes, which compression hardly shortens; those that change between two copies are chosen at random, or have
neighbouring keys.
"""

import argparse
import os
import random
import re
import resource
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
BASE_SECONDS = 5.0
_find_added = re.compile(r"of them new, ([0-9.,]+) (MB|bytes)").search


def put_items(client: Client, numbers: list[int], rng: random.Random) -> None:
    """Put items with random text."""
    for start in range(0, len(numbers), BATCH_ITEMS):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": f"key-{n}"}, "text": {"S": rng.randbytes(ITEM_BYTES // 2).hex()}}}}
            for n in numbers[start : start + BATCH_ITEMS]
        ]
        client.call("BatchWriteItem", {"RequestItems": {"orders": puts}})


def run_command(words: list[str], cores: Cores) -> tuple[float, float, str]:
    """Run a command of this checkout; returns its seconds, those of its CPU, and what it says.

    Raises CalledProcessError.
    """
    command = [sys.executable, "-m", "hashrange", *words]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    pinned = ["taskset", "-c", cores.generator, *command] if cores.generator else command
    began, before = time.perf_counter(), children_cpu_seconds()
    ended = subprocess.run(pinned, env=environment, check=True, capture_output=True, text=True)
    return time.perf_counter() - began, children_cpu_seconds() - before, ended.stdout


def children_cpu_seconds() -> float:
    """CPU of the processes that this one has started, and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tell_copy(what: str, server: Running, words: list[str], cores: Cores, base_share: float) -> None:
    """Make a copy beside GetItems, and print its figures. `base_share`: of a core, which the GetItems take alone."""
    steady = steady_gets(server.client, server.folder, cores)
    before = server.process.cpu_seconds()
    seconds, own_cpu, said = run_command(["backup", f"http://127.0.0.1:{server.port}", *words], cores)
    cpu = server.process.cpu_seconds() - before
    (gets,) = steady.end().seen
    held_mb = server.disk_mb() or 0.0
    added = _find_added(said)
    print(f"| {what}: MB of the database a second | {held_mb / seconds:,.0f} | |")
    print(f"| the same: seconds | {seconds:.1f} | |")
    print(f"| the same: seconds of the command's CPU | {own_cpu:.1f} | |")
    print(
        f"| the same: seconds of the server's CPU without that of the GetItems | {cpu - base_share * seconds:.1f} | |"
    )
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
        steady, before = steady_gets(client, server.folder, cores), server.process.cpu_seconds()
        time.sleep(BASE_SECONDS)
        base_share = (server.process.cpu_seconds() - before) / BASE_SECONDS
        (quiet,) = steady.end().seen
        print(f"| GetItem at {GETS_PER_SECOND:,} a second, alone: p99 | {quiet.p99_ms:.2f} ms | |")
        print(f"| data folder | {server.disk_mb() or 0:,.0f} MB | |", flush=True)
        target = str(server.folder / "copies")
        tell_copy("a first copy, unchecked", server, [target, "--no-check"], cores, base_share)
        tell_copy("a copy without changes, unchecked", server, [target, "--no-check"], cores, base_share)
        tell_copy("a copy without changes, checked", server, [target], cores, base_share)
        first = rng.randrange(items - changed)
        put_items(client, list(range(first, first + changed)), rng)
        tell_copy(
            f"a copy after {CHANGED_SHARE:.0%} of changes, unchecked", server, [target, "--no-check"], cores, base_share
        )
        size = folder_mb(Path(target))
        for what, words in (("a restore, unchecked", ["--no-check"]), ("a restore, checked", [])):
            place = server.folder / what.replace(" ", "-")
            seconds, own_cpu, _ = run_command(["restore", target, str(place), *words], cores)
            held_mb = folder_mb(place)
            print(f"| {what}: MB a second, and of CPU | {held_mb / seconds:,.0f}, {held_mb / own_cpu:,.0f} | |")
        seconds, own_cpu, _ = run_command(["check", target], cores)
        print(f"| a check of the copies: MB a second, and of CPU | {size / seconds:,.0f}, {size / own_cpu:,.0f} | |")


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
