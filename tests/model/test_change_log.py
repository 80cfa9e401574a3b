"""Random writes to two tables while followers of their change logs come, fall behind, restart and go.

Whoever reads a stream or feed, now or later, gets each item's changes in order, none twice, and none missing within 24
hours, with the images of the view type; indexes in the end agree with their tables; and once nobody follows any more,
a day later, the logs have no rows left.
"""

import asyncio
import random
from collections import defaultdict, deque
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from hashrange.items.rows import decode_row, encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.values import check_item
from hashrange.settings import Settings
from hashrange.store.embedded import layout
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import DelayOf, local_maintenance_of
from hashrange.tables.change import Origin
from hashrange.tables.stream_records import decode_record, keys_of
from hashrange.tables.streams import (
    IMAGES,
    SEQUENCE_COUNTER_BITS,
    Sequence,
    Stream,
    sequence_at,
)
from tests.unit.jobs.streaming import DAY, HOUR, switch_off, switch_on
from tests.unit.jobs.world import TABLE, World, drive
from tests.unit.store.test_feeds import ARN, conclude, enable

STEPS = 300
KEYS = 12
PARTITION_BYTES = 2_000
OTHER = "other"
VIEW_TYPES = list(IMAGES)
INDEXES = {TABLE: {"by-x": "x", "by-y": "y"}, OTHER: {"by-x": "x"}}
"""Table → name of each index that it may have, and its key attribute."""
Item = dict[str, Any]


class Expected(NamedTuple):
    """A change that a stream is to show."""

    at_ms: int
    is_by_time_to_live: bool
    old: Item | None
    new: Item | None


@dataclass
class Reader:
    """A stream, who reads it, and what is still to be read."""

    stream: Stream
    expected: defaultdict[str, deque[Expected]] = field(default_factory=lambda: defaultdict(deque))
    """Key of an item → its changes, in order."""
    positions: dict[int, Sequence] = field(default_factory=dict)
    """Number of a shard → where to read on."""
    done: set[int] = field(default_factory=set)
    """Shards that have been read to their end."""


@dataclass
class State:
    """What a restore brings back."""

    items: dict[str, dict[str, Item]] = field(default_factory=lambda: {TABLE: {}, OTHER: {}})
    indexes: dict[str, set[str]] = field(default_factory=lambda: {TABLE: set(), OTHER: set()})
    readers: dict[int, Reader] = field(default_factory=dict)
    """By the id of their stream."""
    has_feed: bool = False


class Walk:
    """A world, and what its followers are to get."""

    def __init__(self, data_dir: Path, seed: int, *, is_suspending: bool) -> None:
        self.chance = random.Random(seed)
        self.most_seconds = 0.0
        self.world = World(
            data_dir, is_suspending=is_suspending, index_delay=self.delay, partition_size_max_bytes=PARTITION_BYTES
        )
        self.state = State()
        self.numbers = self.records = self.lost = self.most_waiting = self.most_views = 0
        self.kept: tuple[Any, State] | None = None
        self.allow()
        self.world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
        self.world.finish()
        self.create_other()

    def delay(self) -> float:
        return self.chance.uniform(0, self.most_seconds)

    def allow(self) -> None:
        self.world.scope.settings = msgspec.structs.replace(
            Settings(ttl_cooldown_seconds=0.0), kinesis_endpoint="http://127.0.0.1:1"
        )

    def step(self) -> None:
        actions = {self.put: 24, self.update: 10, self.delete: 8, self.transact: 12, self.batch: 6, self.load: 4}
        actions |= {self.expire: 4, self.turn: 5, self.turn_feed: 3, self.vary_delay: 4, self.index: 4}
        actions |= {self.split: 4, self.recreate: 1, self.restart: 2, self.kill: 2, self.keep: 2, self.bring_back: 2}
        actions |= {self.read: 12, self.apply: 6, self.pass_time: 6}
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.follow()
        self.most_waiting = max(self.most_waiting, len(self.rows(layout.WAITING_PREFIX)))
        self.world.clock.advance(self.chance.choice((0.002, 0.01, 1.0)))

    # --- writes -----------------------------------------------------------------------------------

    def some_table(self) -> str:
        return self.chance.choice((TABLE, TABLE, OTHER))

    def some_key(self) -> str:
        return f"i{self.chance.randrange(KEYS)}"

    def some_item(self, key: str) -> Item:
        self.numbers += 1
        chance = self.chance
        soon = int(self.world.clock.service_time()) + chance.choice((1, 5, 10**8))
        attributes = {
            "x": {"S": chance.choice("abc")},
            "y": {"S": chance.choice("abc")},
            "pad": {"S": "p" * chance.choice((1, 400))},
            "expires": {"N": str(soon)},
        }
        names = [name for name in attributes if chance.random() < 0.6]
        return {"id": {"S": key}, "n": {"N": str(self.numbers)}} | {name: attributes[name] for name in names}

    def written(self, table: str, key: str, new: Item | None, origin: Origin = "client") -> None:
        """Note a change that was committed at this time."""
        items = self.state.items[table]
        old = items.pop(key, None)
        if new is not None:
            items[key] = new
        if old == new or origin == "import":
            return
        at_ms = sequence_at(self.world.clock.service_time()) >> SEQUENCE_COUNTER_BITS
        for reader in self.state.readers.values():
            if reader.stream.is_on and reader.stream.table_name == table:
                reader.expected[key].append(Expected(at_ms, origin == "ttl", old, new))

    def put(self) -> None:
        table, key = self.some_table(), self.some_key()
        item = self.some_item(key)
        self.world.ask("PutItem", TableName=table, Item=item)
        self.written(table, key, item)

    def update(self) -> None:
        table, key, value = self.some_table(), self.some_key(), {"S": self.chance.choice("abc")}
        self.world.ask(
            "UpdateItem",
            TableName=table,
            Key={"id": {"S": key}},
            UpdateExpression="SET x = :x",
            ExpressionAttributeValues={":x": value},
        )
        self.written(table, key, self.state.items[table].get(key, {"id": {"S": key}}) | {"x": value})

    def delete(self) -> None:
        table, key = self.some_table(), self.some_key()
        self.world.ask("DeleteItem", TableName=table, Key={"id": {"S": key}})
        self.written(table, key, None)

    def transact(self) -> None:
        actions: list[Item] = []
        changes: list[tuple[str, str, Item | None]] = []
        for table in (TABLE, OTHER):
            for number in self.chance.sample(range(KEYS), self.chance.randint(1, 3)):
                key = f"i{number}"
                new = self.some_item(key) if self.chance.random() < 0.7 else None
                own = {"TableName": table}
                actions.append(
                    {"Delete": own | {"Key": {"id": {"S": key}}}} if new is None else {"Put": own | {"Item": new}}
                )
                changes.append((table, key, new))
        self.world.request("TransactWriteItems", TransactItems=actions)
        for one in changes:
            self.written(*one)

    def batch(self) -> None:
        requests: dict[str, list[Item]] = {TABLE: [], OTHER: []}
        for table, inside in requests.items():
            for number in self.chance.sample(range(KEYS), 3):
                item = self.some_item(f"i{number}")
                inside.append({"PutRequest": {"Item": item}})
                self.written(table, f"i{number}", item)
        assert self.world.request("BatchWriteItem", RequestItems=requests)["UnprocessedItems"] == {}

    def load(self) -> None:
        """Write as an import does, which no stream records; it writes to tables without streams."""
        name, key = self.some_table(), self.some_key()
        if any(one.is_on and one.table_name == name for one in self.streams()):
            return
        table = self.world.embedded.catalog.find(self.world.scope.account, self.world.scope.region, name)
        assert table is not None
        item = self.some_item(key)
        row = encode_row(*check_item(item))
        drive(self.world.embedded.mutate(table, table.item_key(item), lambda _: row, origin="import"))
        self.written(name, key, item, "import")

    def expire(self) -> None:
        self.world.clock.advance(self.chance.choice((0, 2, 6)))
        self.world.expire()
        stored = self.scan(TABLE)
        for key in self.state.items[TABLE].keys() - stored.keys():
            self.written(TABLE, key, None, "ttl")

    # --- followers --------------------------------------------------------------------------------

    def streams(self) -> list[Stream]:
        of = self.world.store.streams
        return [*of.of(self.world.scope.account, self.world.scope.region), *of.feeds()]

    def follow(self) -> None:
        """Begin to read new streams; of those that are gone, nothing is missing."""
        found = {one.stream_id: one for one in self.streams()}
        for stream_id, stream in found.items():
            self.state.readers.setdefault(stream_id, Reader(stream)).stream = stream
        for stream_id in self.state.readers.keys() - found.keys():
            self.require_old(self.state.readers.pop(stream_id))
        views = [one.table_name for one in found.values() if one.is_on]
        self.most_views = max(self.most_views, *map(views.count, (TABLE, OTHER)))

    def turn(self) -> None:
        table = self.some_table()
        self.world.finish()
        if "StreamSpecification" in self.world.ask("DescribeTable", TableName=table)["Table"]:
            switch_off(self.world, TableName=table)
        else:
            switch_on(self.world, self.chance.choice(VIEW_TYPES), TableName=table)

    def turn_feed(self) -> None:
        self.state.has_feed = not self.state.has_feed
        if self.state.has_feed:
            enable(self.world)
            conclude(self.world, "ACTIVE")
        else:
            self.world.ask("DisableKinesisStreamingDestination", StreamArn=ARN)

    def read(self) -> None:
        prompt = [one for one in self.state.readers.values() if one.stream.stream_id % 3 or self.chance.random() < 0.1]
        for reader in self.chance.sample(prompt, min(2, len(prompt))):
            self.read_some(reader, self.chance.randint(1, 8), self.chance.choice((1, 3, 100)))

    def read_some(self, reader: Reader, pages: int, limit: int) -> None:
        """Read up to so many pages of a stream: parents to their end before their children."""
        streams = self.world.store.streams
        there = {one.number: one for one in streams.shards(reader.stream)}
        for number, shard in there.items():
            is_ready = shard.parent not in there or shard.parent in reader.done
            while number not in reader.done and is_ready and pages:
                pages -= 1
                start = reader.positions.get(number, 0)
                page = drive(streams.records(shard, start, limit, self.chance.choice((100, 10**6))))
                for sequence, row in page.records:
                    assert sequence >= max(start, shard.first)
                    self.judge(reader, sequence, row)
                    reader.positions[number] = sequence + 1
                if page.is_end:
                    if shard.last is not None:
                        reader.done.add(number)
                    break

    def judge(self, reader: Reader, sequence: Sequence, row: bytes) -> None:
        images = IMAGES[reader.stream.view_type]
        record = decode_record(row, images, ("id",))
        keys = keys_of(record, ("id",))
        waiting = reader.expected[keys["id"]["S"]]
        now_ms = self.world.clock.service_time() * 1000
        while waiting and waiting[0].at_ms < sequence >> SEQUENCE_COUNTER_BITS:
            assert waiting.popleft().at_ms + DAY * 1000 <= now_ms, "a change is missing"
            self.lost += 1
        assert waiting, "a record of no change, or a second one"
        told = waiting.popleft()
        assert told.at_ms == sequence >> SEQUENCE_COUNTER_BITS
        old, new = [one if is_there else None for one, is_there in zip((told.old, told.new), images, strict=True)]
        assert [None if one is None else decode_row(one) for one in (record.old, record.new)] == [old, new]
        assert record.event == (0 if told.old is None else 1 if told.new is not None else 2)
        assert record.is_by_time_to_live == told.is_by_time_to_live
        assert record.size_bytes == sum([item_size_bytes(one) for one in (keys, old, new) if one is not None])
        self.records += 1

    def require_old(self, reader: Reader) -> None:
        """Nothing is left to be read but what is older than a day."""
        left = [one for waiting in reader.expected.values() for one in waiting]
        assert all(one.at_ms + DAY * 1000 <= self.world.clock.service_time() * 1000 for one in left)
        self.lost += len(left)

    def read_all(self) -> None:
        for reader in self.state.readers.values():
            self.read_some(reader, 10**6, 100)
            self.require_old(reader)

    # --- indexes and tables -----------------------------------------------------------------------

    def vary_delay(self) -> None:
        self.most_seconds = self.chance.choice((0.0, 1.0, 30.0, 2 * HOUR, 30 * HOUR))
        draw = None if self.chance.random() < 0.3 else lambda changes, meter: self.delay()
        self.set_delay(draw, self.most_seconds)

    def set_delay(self, draw: DelayOf | None, most_seconds: float) -> None:
        maintenance = local_maintenance_of(self.world.store)
        with maintenance.ready_for_delay(is_wanted=draw is not None):
            maintenance.delay_index_entries(draw, most_seconds)

    def index(self) -> None:
        """Delete an index, or create one, whose backfill may take place while further changes come."""
        self.world.finish()
        name = self.chance.choice(list(INDEXES[TABLE]))
        if name in self.state.indexes[TABLE]:
            self.world.delete(name)
            self.state.indexes[TABLE].remove(name)
        else:
            self.world.create(name, INDEXES[TABLE][name])
            self.state.indexes[TABLE].add(name)
        if self.chance.random() < 0.5:
            self.world.finish()

    def create_other(self) -> None:
        self.world.request(
            "CreateTable",
            TableName=OTHER,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "x")],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-x",
                    "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        self.state.items[OTHER], self.state.indexes[OTHER] = {}, {"by-x"}

    def recreate(self) -> None:
        self.world.ask("DeleteTable", TableName=OTHER)
        self.follow()
        if self.chance.random() < 0.5:
            self.pass_time()
        self.create_other()

    def split(self) -> None:
        self.world.split()

    def apply(self) -> None:
        for _ in range(self.chance.choice((1, 2, 100))):
            drive(self.world.delay_job.run_slice())

    def scan(self, table: str, **members: Any) -> dict[str, Item]:
        found = self.world.ask("Scan", TableName=table, **members)["Items"]
        items = {one["id"]["S"]: one for one in found}
        assert len(items) == len(found)
        return items

    def look(self) -> None:
        """Once nothing waits any more, the indexes agree with their tables."""
        self.world.finish()
        self.set_delay(None, 0.0)
        assert self.world.apply() is None
        for table, items in self.state.items.items():
            assert self.scan(table, ConsistentRead=True) == items
            for name in self.state.indexes[table]:
                assert self.scan(table, IndexName=name) == {
                    key: item for key, item in items.items() if INDEXES[table][name] in item
                }

    # --- time and restarts ------------------------------------------------------------------------

    def pass_time(self) -> None:
        self.world.clock.advance(self.chance.choice((HOUR, 5 * HOUR, 5 * HOUR, 25 * HOUR)))
        jobs = [self.world.tend, self.world.apply]
        self.chance.shuffle(jobs)
        for job in jobs[: self.chance.randint(0, 2)]:
            job()

    def restart(self) -> None:
        self.drop_kept()
        faults = self.world.close()
        assert faults == []
        self.world.open()
        self.allow()

    def kill(self) -> None:
        self.drop_kept()
        self.world.kill()
        self.allow()

    def keep(self) -> None:
        """Make a checkpoint of everything, and of how far readers are."""
        self.drop_kept()
        self.kept = asyncio.run(self.world.embedded.copying.checkpoint()), deepcopy(self.state)

    def bring_back(self) -> None:
        if self.kept is not None:
            checkpoint, state = self.kept
            self.world.embedded.copying.restore(checkpoint)
            self.state = deepcopy(state)
            self.world.clock.advance(0.002)

    def drop_kept(self) -> None:
        if self.kept is not None:
            self.kept[0].release()
            self.kept = None

    # --- the end ----------------------------------------------------------------------------------

    def rows(self, prefix: bytes) -> list[bytes]:
        return [key for key, _ in scan_prefix(self.world.embedded.engine, prefix)]

    def end(self) -> None:
        self.read_all()
        self.look()
        for table in (TABLE, OTHER):
            if "StreamSpecification" in self.world.ask("DescribeTable", TableName=table)["Table"]:
                switch_off(self.world, TableName=table)
        if self.state.has_feed:
            self.turn_feed()
        self.world.clock.advance(25 * HOUR)
        self.world.tend()
        prefixes = layout.LOG_PREFIX, layout.WAITING_PREFIX, layout.SHARD_PREFIX, layout.STREAM_PREFIX
        assert [self.rows(one) for one in prefixes] == [[], [], [], []]


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", range(4))
def test_followers_get_every_change_once_and_in_order(tmp_path: Path, seed: int, *, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for number in range(STEPS):
        walk.step()
        if number % 100 == 99:
            walk.look()
    walk.end()
    assert walk.records > 50
    assert walk.lost > 0, "no reader ever fell behind for a day"
    assert walk.most_waiting > 1, "changes never waited in several partitions"
    assert walk.most_views == 2, "no table ever had a stream and a feed"
    walk.drop_kept()
    assert walk.world.close() == []
