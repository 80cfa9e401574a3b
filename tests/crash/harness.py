"""How is a process killed and its store judged? Starts it, kills it, cuts its logs,
and reports what is wrong with the store.
"""

import json
import multiprocessing
import os
import random
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hashrange.clock import SystemClock
from hashrange.store.embedded import files, open_store
from hashrange.store.embedded.layout import table_range
from hashrange.store.embedded.reading import scan_range
from hashrange.store.embedded.recovery import SECTOR_BYTES
from tests.crash import writer as program
from tests.support.samples import statistics_of

WRITERS = 8
ROUNDS = int(os.environ.get("HASHRANGE_SOAK", "30"))
"""How many times each kind of crash happens; thousands in a soak test."""
ROUNDS_PER_FOLDER = 5
"""Number of successive crashes of one store."""
PATIENCE_MESSAGES = 1000

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["tests.crash.writer"])


class Outcome(NamedTuple):
    """The reports of a killed process."""

    acknowledged: dict[int, int]
    """Writer → last number known to be durable."""
    synced_bytes: dict[str, int]
    """Log file → bytes covered by the last completed sync."""


def run_and_kill(folder: Path, messages: int, *, does_sync: bool = True, logs: int = 1) -> Outcome:
    """Let the process write until it has sent `messages` reports, then kill it without warning.

    With `logs` the kill waits, for a while, until this many logs have been synced.
    """
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=program.write_until_killed, args=(str(folder), WRITERS, does_sync, there))
    process.start()
    there.close()
    acknowledged: dict[int, int] = {}
    synced_bytes: dict[str, int] = {}
    heard = log_count = 0
    try:
        while True:
            kind, *content = json.loads(here.recv_bytes())
            if kind == "A":
                acknowledged[content[0]] = content[1]
            else:
                synced_bytes.update(content[0])
                log_count = len(content[0])
            heard += 1
            if heard >= messages and (log_count >= logs or heard >= messages + PATIENCE_MESSAGES):
                assert process.pid is not None
                os.kill(process.pid, signal.SIGKILL)
    except (EOFError, OSError):
        pass
    process.join()
    assert heard >= messages, "the process ended by itself"
    return Outcome(acknowledged, synced_bytes)


def heard_until_killed(target: Callable[..., None], arguments: tuple[object, ...], messages: int) -> Iterator[Any]:
    """Yield the messages of `target(*arguments, pipe)`, run in a process that is killed after this many messages."""
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, there))
    process.start()
    there.close()
    heard = 0
    try:
        while True:
            message = json.loads(here.recv_bytes())
            heard += 1
            if heard == messages:
                assert process.pid is not None
                os.kill(process.pid, signal.SIGKILL)
            yield message
    except (EOFError, OSError):
        pass
    process.join()
    assert heard >= messages, "the process ended by itself"


def cut_power(folder: Path, synced_bytes: dict[str, int], chance: random.Random) -> None:
    """Cut each log back to its synced bytes, or to any place after them: the rest never reached the disk.

    The last log may end in zeros from there on, as a file system may leave it.
    """
    logs = files.log_files(files.engine_folder(str(folder)))
    for path in logs:
        size = os.path.getsize(path)
        safe = min(synced_bytes.get(os.path.basename(path), 0), size)
        kept = safe if chance.random() < 0.5 else chance.randint(safe, size)
        os.truncate(path, kept)
        if path == logs[-1] and size // SECTOR_BYTES * SECTOR_BYTES >= kept and chance.random() < 0.5:
            os.truncate(path, size)


def faults_of(folder: Path, acknowledged: dict[int, int]) -> list[str]:
    """Faults of the store: acknowledged numbers that are lost, halves of writes, wrong statistics."""
    store = open_store(str(folder), SystemClock(), None)
    tables = store.catalog.all_tables()
    if not tables:
        store.close_now()
        return ["the table is lost"] if acknowledged else []
    (table,) = tables
    rows = {key[6:]: row for key, row in scan_range(store.engine, *table_range(table.table_id))}
    faults = []
    sizes = sum(int.from_bytes(row[1:5], "big") for row in rows.values())
    if statistics_of(store, table.source_id) != (len(rows), sizes):
        faults.append(f"figures say {statistics_of(store, table.source_id)}, counted {len(rows)} rows of {sizes} bytes")
    numbers: dict[int, set[int]] = defaultdict(set)
    for key, row in rows.items():
        if b"/" in key:
            writer, number = int(key[:3]), int(key[4:])
            numbers[writer].add(number)
            if row != program.entry_row(writer, number):
                faults.append(f"row {key!r} is not what was written")
    for writer in range(WRITERS):
        counter = program.number_of(rows.get(program.counter_key(writer)))  # type: ignore[arg-type]
        if counter < acknowledged.get(writer, 0):
            faults.append(f"writer {writer}: {acknowledged[writer]} was acknowledged, {counter} is there")
        faults += _judge(writer, counter, numbers[writer])
    store.close_now()
    return faults


def _judge(writer: int, counter: int, there: set[int]) -> list[str]:
    """Faults of a writer's rows: all rows up to its counter must exist,
    and at most those of the next number besides.
    """
    must = {number for number in range(1, counter + 1) if not program.is_deleted_by(number, counter)}
    may = {counter + 1}
    if (counter + 1) % program.DELETE_EVERY == 0:
        may.add(counter + 1 - program.DELETE_BACK)
    faults = []
    if must - may - there:
        faults.append(f"writer {writer}: counter {counter}, rows {sorted(must - may - there)[:5]} are missing")
    if there - must - may:
        faults.append(f"writer {writer}: counter {counter}, rows {sorted(there - must - may)[:5]} should not be there")
    return faults
