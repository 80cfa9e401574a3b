"""An item that makes up two thirds of what its partition refuses for five minutes is isolated; others are not."""

import random

from hashrange.items.types import Key
from hashrange.limits import HOT_ITEM_PAUSE_SECONDS_MAX, HOT_ITEM_SECONDS, HOT_ITEMS_MAX
from hashrange.throughput.bucket import Bucket
from hashrange.throughput.hot_items import HotItems

HOT = Key(b"hot")


def refuse(items: HotItems, partition: Bucket, share: float, seconds: float, seed: int = 1) -> None:
    """Ten refusals a second, of which this share is about one item."""
    chosen = random.Random(seed)
    for step in range(int(seconds * 10) + 1):
        key = HOT if chosen.random() < share else Key(b"%d" % chosen.randrange(50))
        items.refused(key, partition, step / 10)


def test_only_an_item_with_most_refusals_is_isolated() -> None:
    for share, is_isolated in ((1.0, True), (0.75, True), (0.69, True), (0.645, False), (0.5, False), (0.1, False)):
        items = HotItems()
        refuse(items, Bucket(1_000, 1_000, 0.0), share, HOT_ITEM_SECONDS)
        assert (HOT in items.buckets) == is_isolated, share
        assert len(items.buckets) == is_isolated


def test_five_minutes_without_a_pause_are_needed() -> None:
    items, partition = HotItems(), Bucket(1_000, 1_000, 0.0)
    refuse(items, partition, 1.0, HOT_ITEM_SECONDS - 1)
    assert not items.buckets
    later = HOT_ITEM_SECONDS + HOT_ITEM_PAUSE_SECONDS_MAX
    items.refused(HOT, partition, later)
    assert not items.buckets
    for step in range(1, 12):
        items.refused(HOT, partition, later + step * 30)
    assert HOT in items.buckets


def test_so_many_items_are_isolated_at_most() -> None:
    items, now_seconds = HotItems(), 0.0
    partition = Bucket(1_000, 1_000, 0.0)
    for number in range(HOT_ITEMS_MAX + 5):
        for _ in range(20):
            now_seconds += 30
            items.refused(Key(b"%d" % number), partition, now_seconds)
    assert len(items.buckets) == HOT_ITEMS_MAX
