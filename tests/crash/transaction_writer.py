"""The process that is killed between transactions: each moves an amount between two tables, under a token.

Transaction `number` of a writer sets that number in a row of either table, adds a row of its own to the second,
and counts as acknowledged once it is durable.
"""

import asyncio
import json
from multiprocessing.connection import Connection

from hashrange.clock import SystemClock
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.interface import IdempotencyToken, Transacted, TransactionStep
from hashrange.tables.change import Plan
from hashrange.tables.open_table import OpenTable
from tests.support.samples import durable, row_of, table_maker

NAMES = ("one", "two")
DIGEST = b"0123456789abcdef"


def counter_key(writer: int) -> Key:
    return Key(b"%03d" % writer)


def entry_key(writer: int, number: int) -> Key:
    return Key(b"%03d/%09d" % (writer, number))


def counter_row(number: int) -> Row:
    """The row of a counter; its size changes, so that every commit also changes the statistics."""
    return row_of(1 + number % 50, b"%09d" % number)


def number_of(row: Row | None) -> int:
    return 0 if row is None else int(row[5:])


def token(writer: int, number: int) -> IdempotencyToken:
    """The token of one transaction; it never expires."""
    return IdempotencyToken(b"%03d/%09d" % (writer, number), DIGEST, 0.0, 1e9, lambda changes: b"%d" % len(changes))


async def open_tables(store: EmbeddedStore) -> list[OpenTable]:
    """Open both tables; create them if missing."""
    tables = []
    for name in NAMES:
        table = store.catalog.find("000000000000", "us-east-1", name) or await store.catalog.create(table_maker(name))
        assert table is not None
        tables.append(table)
    return tables


async def transact_one(store: EmbeddedStore, tables: list[OpenTable], writer: int, number: int) -> Transacted:
    """Run the transaction of one number."""

    def put(row: Row) -> Plan:
        return lambda _: row

    one, two = tables
    steps = [
        TransactionStep(one, counter_key(writer), put(counter_row(number))),
        TransactionStep(two, counter_key(writer), put(counter_row(number))),
        TransactionStep(two, entry_key(writer, number), put(row_of(number % 700, b"x" * (number % 700)))),
    ]
    return await store.transact(steps, token(writer, number))


def write_until_killed(folder: str, writers: int, pipe: Connection) -> None:
    """Entry of the process. Reports [writer, number] once the transaction is durable."""

    async def write(store: EmbeddedStore, tables: list[OpenTable], writer: int) -> None:
        number = number_of(await settled(store.get(tables[0].source_id, counter_key(writer), consistent=True)))
        while True:
            number += 1
            await transact_one(store, tables, writer, number)
            await durable(store)
            pipe.send_bytes(json.dumps([writer, number]).encode())

    async def run() -> None:
        store = open_store(folder, SystemClock(), asyncio.get_running_loop())
        tables = await open_tables(store)
        await durable(store)
        await asyncio.gather(*(write(store, tables, writer) for writer in range(writers)))

    asyncio.run(run())
