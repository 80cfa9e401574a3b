"""The shards of a stream are arranged in the same way whether few or many of them change together."""

import random

import pytest

from hashrange.store.embedded import stream_states
from hashrange.store.embedded.stream_states import StreamState
from hashrange.tables.partitions import HashRange, first_partitions
from hashrange.tables.schema import KeySchema
from hashrange.tables.source_id import make_source_id
from hashrange.tables.streams import Shard, Stream, sequence_at, shard_of

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


@pytest.mark.parametrize("seed", range(5))
def test_few_and_many_changes_end_in_the_same_arrangement(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    partitions = first_partitions(make_source_id(1), 20)
    shards = [shard_of(1, number, one, sequence_at(0.0) + 1) for number, one in enumerate(partitions, 1)]
    few, many = StreamState(STREAM), StreamState(STREAM)
    changed = shards
    for hour in range(1, 12):
        for state, part in ((few, 0.0001), (many, 10**9)):
            monkeypatch.setattr(stream_states, "MANY_PART", part)
            state.set(changed)
        assert list(few.shards.items()) == list(many.shards.items())
        assert (few.open, few.places, few.record_prefixes) == (many.open, many.places, many.record_prefixes)
        assert few.open == sorted([one for one in few.shards.values() if one.last is None], key=lambda one: one.hashes)
        for now_seconds in (hour * 3600.0, 1e6):
            assert few.due(now_seconds, 1000) == many.due(now_seconds, 1000)
        chosen = chance.sample(few.open, chance.randrange(1, len(few.open)))
        changed = []
        for one in chosen:
            changed += successors(one, max(few.shards) + 1 + len(changed), hour, is_split=chance.random() < 0.3)
