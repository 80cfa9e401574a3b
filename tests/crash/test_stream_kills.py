"""A store killed while its table has a stream: every record has its write, and every write has its record."""

import json
import random
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from msgspec.structs import replace

from hashrange.clock import SystemClock
from hashrange.items.rows import encode_row
from hashrange.items.types import Key, Row
from hashrange.items.values import check_item
from hashrange.limits import PARTITION_SIZE_MAX_BYTES, SHARD_SECONDS
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import StreamViewType, Table
from hashrange.tables.source_id import make_source_id
from hashrange.tables.stream_records import decode_record, keys_of
from hashrange.tables.streams import IMAGES
from tests.crash.harness import ROUNDS, heard_until_killed
from tests.support.samples import finish, table_maker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

KEYS = 150
KILLS = max(6, ROUNDS // 5)
PARTITION_BYTES = 1500
COMMIT_ITEMS = 4
VIEW_TYPE: StreamViewType = "NEW_AND_OLD_IMAGES"
PLACE = "000000000000", "us-east-1", "t"
Items = dict[bytes, Row | None]


class FastClock(SystemClock):
    """A clock ahead of the machine's by `ahead_seconds`, so that shards roll while the process lives."""

    ahead_seconds = 0.0

    def service_time(self) -> float:
        return super().service_time() + self.ahead_seconds


def open_streamed(folder: str, clock: SystemClock | None = None, size_bytes: int = PARTITION_BYTES) -> EmbeddedStore:
    return open_store(folder, clock or FastClock(), None, Options(partition_size_max_bytes=size_bytes))


def make_table(store: EmbeddedStore) -> OpenTable:
    """Create a table with a stream."""
    make = table_maker("t")

    def streamed(table_id: int) -> Table:
        return replace(make(table_id), stream_view_type=VIEW_TYPE, stream_label="2026-01-01T00:00:00.000")

    table = finish(store.catalog.create(streamed))
    assert table is not None
    return table


def item_row(table: OpenTable, number: int, value: int, size_bytes: int) -> tuple[Key, Row]:
    """Key and row of an item."""
    item = {"pk": {"S": f"i{number}"}, "sk": {"S": "s"}, "v": {"N": str(value)}, "p": {"S": "x" * size_bytes}}
    return table.item_key(item), encode_row(*check_item(item))


def write_until_killed(folder: str, seed: int, pipe: Connection) -> None:
    """Entry of the process: random writes, transactions, splits and rolls; writes are reported after their commit."""
    chance = random.Random(seed)
    clock = FastClock()
    store = open_streamed(folder, clock)
    table = store.catalog.find(*PLACE) or make_table(store)
    while True:
        rows: Items = {}
        for number in chance.sample(range(KEYS), COMMIT_ITEMS):
            key, row = item_row(table, number, chance.randrange(99), chance.randrange(200))
            rows[key] = None if chance.random() < 0.3 else row
        if chance.random() < 0.4:
            steps = [
                TransactionStep(table, Key(key), lambda _, row=row: row)  # type: ignore[misc]
                for key, row in rows.items()
            ]
            finish(store.transact(steps, None))
        else:
            written, changed = rows.popitem()
            rows = {written: changed}
            finish(store.mutate(table, Key(written), lambda _, row=changed: row))  # type: ignore[misc]
        pipe.send_bytes(json.dumps([[key.hex(), row and row.hex()] for key, row in rows.items()]).encode())
        if chance.random() < 0.1:
            finish(store.maintenance.split_partitions())
        if chance.random() < 0.05:
            clock.ahead_seconds += SHARD_SECONDS / 8
        if chance.random() < 0.1:
            finish(store.maintenance.tend_streams())


def run_and_kill(folder: Path, seed: int, messages: int) -> Items:
    """The reports of the process before it was killed."""
    told: Items = {}
    for rows in heard_until_killed(write_until_killed, (str(folder), seed), messages):
        told |= {bytes.fromhex(key): row and Row(bytes.fromhex(row)) for key, row in rows}
    return told


def replayed(store: EmbeddedStore, table: OpenTable) -> dict[bytes, bytes]:
    """The rows that follow from all records; fails unless each item's images form a chain."""
    (stream,) = store.streams.of(*PLACE[:2])
    found: dict[bytes, bytes] = {}
    last = 0
    numbers: set[int] = set()
    for shard in store.streams.shards(stream):
        page = finish(store.streams.records(shard, 0, 10**6, 10**9))
        assert page.is_end
        for sequence, content in page.records:
            assert sequence not in numbers
            assert shard.first <= sequence <= (shard.last or finish(store.streams.last_of_shard(shard)))
            numbers.add(sequence)
            record = decode_record(content, IMAGES[VIEW_TYPE], ("pk", "sk"))
            key = table.item_key(keys_of(record, ("pk", "sk")))
            assert found.get(key) == record.old, "a change without its record, or a record without its change"
            if record.new is None:
                del found[key]
            else:
                found[key] = record.new
        last = max([last, *numbers])
        assert finish(store.streams.last_of_shard(shard)) >= last
    return found


def test_records_and_writes_belong_together(tmp_path: Path) -> None:
    chance = random.Random(5)
    folder = tmp_path / "data"
    acknowledged: Items = {}
    shards = 0
    for kill in range(KILLS):
        acknowledged |= run_and_kill(folder, kill, chance.randint(20, 400))
        store = open_streamed(str(folder), size_bytes=PARTITION_SIZE_MAX_BYTES)
        table = store.catalog.find(*PLACE)
        assert table is not None
        there = {key[6:]: row for key, row in scan_prefix(store.engine, make_source_id(table.table_id))}
        assert replayed(store, table) == there
        differing = {key for key, row in acknowledged.items() if there.get(key) != row}
        assert len(differing) <= COMMIT_ITEMS, "only one commit may have come after the last that was told"
        acknowledged |= {key: Row(there[key]) if key in there else None for key in differing}
        (stream,) = store.streams.of(*PLACE[:2])
        shards = max(shards, len(store.streams.shards(stream)))
        store.close_now()
        assert check_store(str(folder)).faults == []
    assert shards > 10
