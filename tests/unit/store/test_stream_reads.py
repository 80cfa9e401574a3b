"""What a store says of the durability of its streams' records."""

import pytest

from hashrange.store.streams import NOTHING_HEARD, ChangedShards, NewsMark
from tests.support.held_syncs import HeldSyncs
from tests.support.samples import finish
from tests.unit.jobs.streaming import change, switch_on
from tests.unit.jobs.world import World


def test_pages_and_news_say_what_is_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(None)
    switch_on(world)
    change(world, 1, 1)
    streams = world.store.streams
    (stream,) = streams.of("0" * 12, "us-east-1")
    (shard,) = streams.shards(stream)

    def told() -> tuple[int, int]:
        """How many records there are, and how many of them are durable."""
        page = finish(streams.records(shard, 0, 100, 10**6))
        return len(page.records), len([one for one in page.records if one[0] <= page.durable])

    assert told() == (1, 1)

    def news(heard: NewsMark) -> ChangedShards:
        changed = finish(streams.changed_shards(stream, heard))
        assert changed is not None
        return changed

    heard = news(NOTHING_HEARD)
    assert (heard.shards, heard.is_all) == ([shard], True)
    syncs = HeldSyncs(world.store, monkeypatch)
    change(world, 1, 2)
    assert told() == (2, 1)
    assert news(heard.mark) == ((), heard.mark, False)
    world.store.when_durable(world.store.position(), lambda _error: None)
    change(world, 1, 3)
    assert told() == (3, 1)
    syncs.end()
    assert told() == (3, 2), "the third is of a later commit than the sync"
    later = news(heard.mark)
    assert (later.shards, later.is_all) == ([shard], False)
    assert later.mark > heard.mark
    world.store.when_durable(world.store.position(), lambda _error: None)
    syncs.end()
    last = news(later.mark)
    assert (last.shards, last.is_all) == ([shard], True), "what was told before it was durable is told again"
    assert told() == (3, 3)
    assert finish(streams.changed_shards(stream, last.mark)) is None
