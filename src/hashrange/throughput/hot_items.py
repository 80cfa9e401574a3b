"""Which items have a partition of their own?
Those that made up two thirds of what their partition refused, for minutes.

The service says that adaptive capacity may isolate an item that is read or written all the time; how it finds the item
is not published. Here only refused requests are looked at, so that others pay nothing. Of a partition that goes on
refusing requests, one item is remembered: whenever another is refused, it loses a vote, and without votes it gives way
to the other (the majority vote of Boyer and Moore). An item that makes up two thirds of the refusals keeps a third
of the votes. Source: developer guide, burst and adaptive capacity; this rule is a model of ours.
"""

from hashrange.items.types import Key
from hashrange.limits import HOT_ITEM_PAUSE_SECONDS_MAX, HOT_ITEM_SECONDS, HOT_ITEMS_MAX
from hashrange.throughput.bucket import Bucket


class _Suspect:
    """The item that most refusals of one partition are about, as far as is known."""

    __slots__ = ("key", "last_seconds", "refusals", "since_seconds", "votes")

    def __init__(self, key: Key, now_seconds: float) -> None:
        self.key, self.votes, self.refusals = key, 0, 0
        self.since_seconds = self.last_seconds = now_seconds


class HotItems:
    """The isolated items of one table or index, in one direction."""

    __slots__ = ("_suspects", "buckets")

    def __init__(self) -> None:
        self.buckets: dict[Key, Bucket] = {}
        """Key of an isolated item → its own bucket."""
        self._suspects: dict[int, _Suspect] = {}
        """By identity of the partition's bucket."""

    def refused(self, key: Key, partition: Bucket, now_seconds: float) -> None:
        """Note that a partition had no units for a request to this item, and isolate the item if it is hot."""
        suspect = self._suspects.get(id(partition))
        if suspect is None or now_seconds - suspect.last_seconds > HOT_ITEM_PAUSE_SECONDS_MAX:
            suspect = self._suspects[id(partition)] = _Suspect(key, now_seconds)
        suspect.last_seconds = now_seconds
        suspect.refusals += 1
        if suspect.key == key:
            suspect.votes += 1
        elif suspect.votes:
            suspect.votes -= 1
        else:
            suspect.key, suspect.votes = key, 1
        if now_seconds - suspect.since_seconds >= HOT_ITEM_SECONDS:
            if suspect.votes * 3 >= suspect.refusals and len(self.buckets) < HOT_ITEMS_MAX:
                self.buckets[suspect.key] = Bucket(partition.rate, partition.rate, now_seconds)
            del self._suspects[id(partition)]

    def forget_partitions(self) -> None:
        """Begin to look anew, because the partitions have changed. Isolated items stay isolated."""
        self._suspects.clear()
