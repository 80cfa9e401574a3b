"""The process that is killed: concurrent writers over one store, which report only durable writes.

Each writer counts up. For a number it inserts a row, sometimes deletes an older one, and then writes the number into
its counter row; it reports the number once all of this is durable. So a surviving store can be judged: the counter
says which rows must be there.
"""

import asyncio
import contextlib
import json
import os
import resource
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import rocksdict

from hashrange.clock import SystemClock
from hashrange.errors import StorageError
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, engine, files, open_store
from hashrange.tables.open_table import OpenTable
from tests.support.samples import durable, row_of, table_maker

TABLE_NAME = "numbers"
WRITE_BUFFER_BYTES = 64 * 1024
FLUSH_BYTES_PER_SECOND = 2_000_000
"""Small buffers and slow flushes, so that a crash often leaves several logs, and write stalls occur too."""
DELETE_EVERY, DELETE_BACK = 5, 2


def counter_key(writer: int) -> Key:
    """Key of a writer's counter."""
    return Key(b"%03d" % writer)


def entry_key(writer: int, number: int) -> Key:
    """Key of the row of one number."""
    return Key(b"%03d/%09d" % (writer, number))


def counter_row(number: int) -> Row:
    """The row of a counter; its size changes, so that every commit also changes the statistics."""
    return row_of(1 + number % 50, b"%09d" % number)


def entry_row(writer: int, number: int) -> Row:
    """A row whose bytes all follow from its key."""
    pattern = b"%03d/%09d;" % (writer, number)
    return row_of(100 + number % 1000, pattern * (1 + number % 40))


def number_of(row: Row | None) -> int:
    """The number in a counter row."""
    return 0 if row is None else int(row[5:])


def is_deleted_by(number: int, counter: int) -> bool:
    """True if a writer whose counter is `counter` has deleted the row of `number`."""
    return (number + DELETE_BACK) % DELETE_EVERY == 0 and number + DELETE_BACK <= counter


async def write_one(store: EmbeddedStore, table: OpenTable, writer: int, number: int) -> None:
    """Commit everything that belongs to one number."""
    await settled(store.mutate(table, entry_key(writer, number), lambda _: entry_row(writer, number)))
    if number % DELETE_EVERY == 0:
        await settled(store.mutate(table, entry_key(writer, number - DELETE_BACK), lambda _: None))
    await settled(store.mutate(table, counter_key(writer), lambda _: counter_row(number)))


Send = Callable[[object], None]


async def writer_loop(store: EmbeddedStore, table: OpenTable, writer: int, send: Send) -> None:
    """Write without end, reporting ["A", writer, number] for durable numbers."""
    number = number_of(await settled(store.get(table.source_id, counter_key(writer), consistent=True)))
    while True:
        number += 1
        await write_one(store, table, writer, number)
        await durable(store)
        send(["A", writer, number])


async def open_table(store: EmbeddedStore) -> OpenTable:
    """Open the table; create it if missing."""
    table = store.catalog.find("000000000000", "us-east-1", TABLE_NAME)
    if table is None:
        table = await store.catalog.create(table_maker(TABLE_NAME))
    assert table is not None
    return table


def write_until_killed(folder: str, writers: int, does_sync: bool, pipe: Connection) -> None:
    """Entry of the process. Reports ["S", {log: synced bytes}] after each sync; false reports without `does_sync`."""

    lock = threading.Lock()
    engine_folder = files.engine_folder(folder)

    def send(message: object) -> None:
        with lock:
            pipe.send_bytes(json.dumps(message).encode())

    async def run() -> None:
        store = open_store(folder, SystemClock(), asyncio.get_running_loop())

        def sync() -> None:
            sizes = log_sizes(engine_folder)
            if does_sync:
                store.engine.flush_wal(True)
            send(["S", sizes if does_sync else {}])

        store._barrier._sync = sync
        table = await open_table(store)
        await durable(store)
        await asyncio.gather(*(writer_loop(store, table, writer, send) for writer in range(writers)))

    _slow_down_flushes()
    asyncio.run(run())


def log_sizes(folder: str) -> dict[str, int]:
    """Bytes of each log that is not empty; logs may appear and disappear meanwhile."""
    sizes = {}
    for entry in Path(folder).glob("*.log"):
        with contextlib.suppress(FileNotFoundError):
            sizes[entry.name] = entry.stat().st_size
    return {name: size for name, size in sizes.items() if size}


def _slow_down_flushes() -> None:
    make_options = engine._options

    def make_slow_options(memory: engine.Memory | None) -> rocksdict.Options:
        options = make_options(memory)
        options.set_ratelimiter(FLUSH_BYTES_PER_SECOND, 10_000, 10)
        return options

    engine.WRITE_BUFFER_BYTES = WRITE_BUFFER_BYTES
    engine._options = make_slow_options


def write_into_a_full_disk(folder: str, limit_bytes: int, pipe: Connection) -> None:
    """Entry of the process: no file may grow over `limit_bytes`, until the limit is lifted. Reports each step."""

    async def run() -> None:
        store = open_store(folder, SystemClock(), asyncio.get_running_loop())
        table = await open_table(store)
        number = 0
        try:
            while True:
                await write_one(store, table, 0, number + 1)
                await durable(store)
                number += 1
        except StorageError as error:
            pipe.send(("failed", number, type(error).__name__))
        row = await settled(store.get(table.source_id, counter_key(0), consistent=True))
        await durable(store)
        pipe.send(("reads", number_of(row), ""))
        try:
            await write_one(store, table, 0, number + 1)
        except StorageError as error:
            pipe.send(("still refuses", number_of(row), type(error).__name__))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        while True:
            try:
                row = await settled(store.get(table.source_id, counter_key(0), consistent=True))
                await write_one(store, table, 0, number_of(row) + 1)
                break
            except StorageError:
                await asyncio.sleep(0.02)
        pipe.send(("healed", number_of(row), ""))
        for number in range(number_of(row) + 2, number_of(row) + 30):
            await write_one(store, table, 0, number)
        await durable(store)
        pipe.send(("went on", number, ""))
        os._exit(0)

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
    asyncio.run(run())
