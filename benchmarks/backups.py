"""`python -m benchmarks.backups`: how long do backups and restores take, and how do they slow reads?

A server of this checkout is measured over sockets, with a table of items of some 400 bytes, while GetItems read another
table at a fixed rate. Rates of backups and restores are counted twice: by the time that passes, and by the server's
CPU without that of the GetItems, which is measured before.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

from benchmarks.client import Client
from benchmarks.machine import describe_hardware
from benchmarks.processes import Cores, Process, choose_cores
from benchmarks.resting import GETS_PER_SECOND, Kind, load, make_table, steady_gets
from benchmarks.running import running
from benchmarks.servers import BY_NAME

ITEMS, ITEMS_HUGE = 200_000, 1_000_000
CHANGED = 20_000
"""Items that change between the moment to which a table is restored and the restore."""
CREATE_MS_MAX, P99_MS_MAX, ITEMS_PER_SECOND_MIN = 100, 10, 100_000
BASE_SECONDS = 4.0
ON = {"PointInTimeRecoveryEnabled": True}


def cpu_of(process: Process, work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the server's CPU, and of time, until `work` is done."""
    before, began = process.cpu_seconds(), time.perf_counter()
    work()
    return process.cpu_seconds() - before, time.perf_counter() - began


def until(is_done: Callable[[], bool]) -> None:
    """Wait until something is done."""
    while not is_done():
        time.sleep(0.02)


def backup_status(client: Client, arn: str) -> str:
    """The state of a backup."""
    description = client.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    return str(description["BackupDetails"]["BackupStatus"])


def table_status(client: Client, name: str) -> str:
    """The state of a table."""
    return str(client.call("DescribeTable", {"TableName": name})["Table"]["TableStatus"])


def measure(kind: Kind, items: int, cores: Cores) -> None:
    """Print the figures of one kind of server."""
    with running(BY_NAME[f"ours-{kind}"], cores) as server:
        process, client = server.process, server.client
        make_table(client, "read")
        load(client, "read", 1_000, 0, 0)
        make_table(client, "orders")
        load(client, "orders", items, 0, 0)
        steady = steady_gets(client, server.folder, cores)
        base, _ = cpu_of(process, lambda: time.sleep(BASE_SECONDS))
        base_share = base / BASE_SECONDS
        (quiet,) = steady.end().seen
        print(f"| GetItem at {GETS_PER_SECOND:,} a second, {kind}, alone: p99 | {quiet.p99_ms:.2f} ms | |")

        def tell(what: str, work: Callable[[], Any]) -> None:
            steady = steady_gets(client, server.folder, cores)
            cpu, seconds = cpu_of(process, work)
            (gets,) = steady.end().seen
            own = max(cpu - base_share * seconds, 1e-6)
            print(f"| {what}, {kind}: items a second of CPU | {items / own:,.0f} | {ITEMS_PER_SECOND_MIN:,} |")
            print(f"| the same: items a second, beside the GetItems | {items / seconds:,.0f} | |")
            print(f"| the same: GetItem p99 | {gets.p99_ms:.2f} ms | {P99_MS_MAX} ms |")
            print(f"| the same: GetItem, longest | {gets.max_ms:.1f} ms | |", flush=True)

        began = time.perf_counter()
        reply = client.call("CreateBackup", {"TableName": "orders", "BackupName": "benchmark"})
        took_ms = (time.perf_counter() - began) * 1000
        print(f"| CreateBackup of {items:,} items, {kind}: reply | {took_ms:.1f} ms | {CREATE_MS_MAX} ms |")
        arn = reply["BackupDetails"]["BackupArn"]
        until(lambda: backup_status(client, arn) == "AVAILABLE")

        def back_up() -> None:
            again = client.call("CreateBackup", {"TableName": "orders", "BackupName": "benchmark"})
            until(lambda: backup_status(client, again["BackupDetails"]["BackupArn"]) == "AVAILABLE")

        def restore_backup() -> None:
            client.call("RestoreTableFromBackup", {"TargetTableName": "restored", "BackupArn": arn})
            until(lambda: table_status(client, "restored") == "ACTIVE")

        tell("a backup", back_up)
        tell("a restore of a backup", restore_backup)
        client.call("UpdateContinuousBackups", {"TableName": "orders", "PointInTimeRecoverySpecification": ON})
        moment = int(time.time()) + 2
        time.sleep(moment - time.time() + 1)
        load(client, "orders", CHANGED, 1, 1)

        def restore_moment() -> None:
            request = {"SourceTableName": "orders", "TargetTableName": "earlier", "RestoreDateTime": moment}
            client.call("RestoreTableToPointInTime", request)
            until(lambda: table_status(client, "earlier") == "ACTIVE")

        tell(f"a restore to a time before {CHANGED:,} changes", restore_moment)


def main() -> None:
    """Run all measurements and print their table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backups", description=__doc__)
    parser.add_argument("--huge", action="store_true", help=f"{ITEMS_HUGE:,} items")
    parser.add_argument("--items", type=int, default=ITEMS, help=f"items of the table [{ITEMS:,}]")
    chosen = parser.parse_args()
    cores = choose_cores(is_pinned=True)
    print(f"{describe_hardware()}\n\n| what | figure | target |\n| --- | ---: | ---: |", flush=True)
    kinds: tuple[Kind, ...] = ("memory", "disk")
    for kind in kinds:
        measure(kind, ITEMS_HUGE if chosen.huge else chosen.items, cores)


if __name__ == "__main__":
    main()
