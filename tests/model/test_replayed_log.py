"""The rows of a table's change log alone give its rows, its index entries and its stream."""

from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from hashrange.items.rows import decode_row
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.entries import derive_entry_writes
from hashrange.tables.open_table import OpenTable
from hashrange.tables.stream_records import plain_record, split_record
from hashrange.tables.streams import Sequence, sequence_text
from tests.model.test_delayed_indexes import INDEXES, PROJECTIONS, Items
from tests.model.test_delayed_indexes import Walk as DelayedWalk
from tests.unit.jobs.streaming import Record, all_records, switch_on

STEPS = 200
EVENTS = ("INSERT", "MODIFY", "REMOVE")


class Walk(DelayedWalk):
    """Random writes with delayed entries, to a table that has a stream of both images before its first item."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        super().__init__(data_dir, seed, is_suspending=False)
        self.world.partition_size_max_bytes = 40
        self.world.restart()
        self.arn = switch_on(self.world)

    def step(self) -> None:
        if self.chance.random() < 0.1:
            self.world.split()
        super().step()

    def look(self) -> None:
        """Partitions have no common order while entries wait; what they come to is seen in the end."""

    @property
    def table(self) -> OpenTable:
        found = self.world.embedded.catalog.find(self.world.scope.account, self.world.scope.region, "orders")
        assert found is not None
        return found

    def raw_log(self) -> list[tuple[Sequence, bytes]]:
        """The rows of the log in the order of their sequence numbers."""
        rows = scan_prefix(self.world.embedded.engine, layout.LOG_PREFIX)
        return sorted([(layout.record_sequence(key), plain_record(row)) for key, row in rows])


class Replay:
    """What follows from the rows of a log."""

    def __init__(self, table: OpenTable, log: list[tuple[Sequence, bytes]]) -> None:
        self.rows: dict[Key, Row] = {}
        self.entries: dict[bytes, dict[Key, Row]] = {one.source_id: {} for one in table.indexes}
        self.records: defaultdict[str, list[Record]] = defaultdict(list)
        """Key of an item → the records that GetRecords shows of it, as far as the log has them."""
        for sequence, row in log:
            record = split_record(row)
            items = [None if one is None else decode_row(one) for one in (record.old, record.new)]
            key = table.item_key(items[1] or items[0] or {})
            assert self.rows.get(key) == record.old
            put_or_delete(self.rows, key, record.new)
            for source, old, new in derive_entry_writes(table, key, record.old, record.new, *items):
                entries = self.entries[source.source_id]
                if old is not None:
                    assert entries.pop(old.key) == old.row
                if new is not None:
                    entries[new.key] = new.row
            keys = msgspec.json.decode(record.keys_json)
            told = {"Keys": keys, "SequenceNumber": sequence_text(sequence), "SizeBytes": record.size_bytes}
            images = dict(zip(("OldImage", "NewImage"), items, strict=True))
            told |= {name: item for name, item in images.items() if item is not None}
            self.records[keys["id"]["S"]].append({"eventName": EVENTS[record.event], "dynamodb": told})


def put_or_delete(rows: dict[Key, Row], key: Key, row: Row | None) -> None:
    if row is None:
        del rows[key]
    else:
        rows[key] = row


@pytest.mark.parametrize("seed", range(3))
def test_the_log_gives_the_table_its_indexes_and_its_stream(tmp_path: Path, seed: int) -> None:
    walk = Walk(tmp_path / "data", seed)
    for _ in range(STEPS):
        walk.step()
    walk.drain()
    log = walk.raw_log()
    assert len({sequence for sequence, _ in log}) == len(log) > STEPS
    table, engine = walk.table, walk.world.embedded.engine
    assert len(table.partitions[table.source_id]) > 1
    replay = Replay(table, log)
    sources = {table.source_id: replay.rows} | replay.entries
    for source_id, rows in sources.items():
        assert {key[len(source_id) :]: row for key, row in scan_prefix(engine, source_id)} == rows
    assert shown_records(walk) == replay.records
    expected: Items = {decode_row(row)["id"]["S"]: decode_row(row) for row in replay.rows.values()}
    assert expected == walk.items
    assert len(replay.entries) == len(INDEXES) == len(PROJECTIONS)
    assert walk.world.close() == []


def shown_records(walk: Walk) -> dict[str, list[Record]]:
    """Key of an item → what GetRecords shows of its changes, without what is the same for all or a time."""
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for one in all_records(walk.world, walk.arn, 7):
        told = {
            name: value
            for name, value in one["dynamodb"].items()
            if name not in {"ApproximateCreationDateTime", "StreamViewType"}
        }
        found[told["Keys"]["id"]["S"]].append({"eventName": one["eventName"], "dynamodb": told})
    return dict(found)
