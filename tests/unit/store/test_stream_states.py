"""Which shards of a stream are open, and which are due."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.limits import SHARD_SECONDS
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import close_engine, new_batch, open_engine
from hashrange.store.embedded.stream_states import StreamState
from hashrange.store.embedded.streams import delete_rows
from hashrange.tables.partitions import HashRange, first_partitions
from hashrange.tables.schema import KeySchema
from hashrange.tables.source_id import make_source_id
from hashrange.tables.streams import FOLLOWERS, Shard, Stream, sequence_at, sequence_seconds, shard_of

STREAM = Stream(1, 1, "0" * 12, "us-east-1", "t", "label", KeySchema(("pk",), ("S",), (), ()), "KEYS_ONLY", 0.0)


def successors(shard: Shard, number: int, hour: int, *, is_split: bool) -> list[Shard]:
    """The shard, closed at this hour, and its one or two children."""
    last = sequence_at(hour * 3600.0)
    first, end = shard.hashes
    middle = (first + end) // 2
    ranges = [HashRange(first, middle), HashRange(middle + 1, end)] if is_split else [shard.hashes]
    children = [
        Shard(1, number + place, shard.number, number + place, one, last + 1) for place, one in enumerate(ranges)
    ]
    return [shard._replace(last=last), *children]


def due_seconds(shard: Shard) -> float:
    """When the shard is to be replaced or deleted."""
    if shard.last is None:
        return sequence_seconds(shard.first) + SHARD_SECONDS
    return sequence_seconds(shard.last) + FOLLOWERS["readers"].kept_seconds


@pytest.mark.parametrize("seed", range(5))
def test_shards_that_come_and_go_are_open_and_due(seed: int) -> None:
    chance = random.Random(seed)
    partitions = first_partitions(make_source_id(1), 20)
    state = StreamState(STREAM)
    changed = [shard_of(1, number, one, sequence_at(0.0) + 1) for number, one in enumerate(partitions, 1)]
    expected: dict[int, Shard] = {}
    for hour in range(1, 12):
        state.set(changed)
        expected.update([(one.number, one) for one in changed])
        assert list(state.shards.items()) == list(expected.items())
        assert state.open == [one for one in expected.values() if one.last is None]
        assert state.due_seconds == min(map(due_seconds, expected.values()))
        for now_seconds in (hour * 3600.0, 1e6):
            due = sorted((due_seconds(one), one.number) for one in expected.values() if due_seconds(one) <= now_seconds)
            assert state.due(now_seconds, 1000) == [expected[number] for _, number in due]
        chosen = chance.sample(state.open, chance.randrange(1, len(state.open)))
        changed = []
        for one in chosen:
            changed += successors(one, max(expected) + 1 + len(changed), hour, is_split=chance.random() < 0.3)


def test_deleted_ranges_of_a_log_lie_beside_each_other() -> None:
    """They lay in each other, and each of 1,500 made all readers sort all of them anew, for up to 0.7 s."""
    engine = open_engine(None)
    for number in range(1, 10):
        engine.put(b"log%d" % number, b"record")
    deleted: list[tuple[bytes, bytes]] = []
    for end in (b"log4", b"log4", b"log8"):
        batch: Any = SimpleNamespace(delete_range=lambda first, upper: deleted.append((first, upper)))
        delete_rows(Draft(engine, 1, 0.0, batch=batch), b"log", end)
        if deleted:
            written = new_batch()
            written.delete_range(*deleted[-1])
            engine.write(written)
    assert deleted == [(b"log1", b"log4"), (b"log4", b"log8")]
    close_engine(engine, "memory", may_fail=True)
