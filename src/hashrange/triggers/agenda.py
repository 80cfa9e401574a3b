"""Which lanes have something to do now, and when is the next one due?
Marked lanes in the order in which they were marked, and times.
"""

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

from hashrange.items.steps import walk
from hashrange.triggers.consumers import ConsumedShard, Consumer
from hashrange.triggers.lanes import Lane

STALE_ENTRIES_MAX = 64
"""Entries of the queue of times that may be out of date, besides one for each lane."""


class Agenda:
    """Lanes to look at, now or later. Times are service time."""

    def __init__(self) -> None:
        self._marked: OrderedDict[Lane, ConsumedShard] = OrderedDict()
        self._times: dict[Lane, tuple[float, ConsumedShard]] = {}
        self._queue: list[tuple[float, int, Lane]] = []
        """(time, a number that decides between equal times, lane);
        entries that `_times` does not confirm are out of date."""
        self._numbers = count()

    def clear(self) -> None:
        """Forget everything."""
        self._marked, self._times, self._queue = OrderedDict(), {}, []

    def forget(self, consumer: Consumer) -> None:
        """Look at none of the consumer's lanes."""
        for shard in walk(consumer.shards.values()):
            for lane in shard.lanes:
                self._marked.pop(lane, None)
                self._times.pop(lane, None)

    @property
    def has_marked(self) -> bool:
        """True if a lane is marked."""
        return bool(self._marked)

    def mark(self, shard: ConsumedShard, lane: Lane) -> None:
        """Look at the lane now."""
        self._marked.setdefault(lane, shard)

    def take(self) -> tuple[ConsumedShard, Lane]:
        """The lane that was marked first; it is no longer marked."""
        lane, shard = self._marked.popitem(last=False)
        return shard, lane

    def set_time(self, shard: ConsumedShard, lane: Lane, due_seconds: float | None) -> None:
        """Look at the lane at this time, instead of the one set before; None: at no time."""
        if due_seconds is None:
            self._times.pop(lane, None)
            return
        before = self._times.get(lane)
        if before is None or before[0] != due_seconds:
            self._times[lane] = (due_seconds, shard)
            heappush(self._queue, (due_seconds, next(self._numbers), lane))
            if len(self._queue) > 2 * len(self._times) + STALE_ENTRIES_MAX:
                self._queue = [(seconds, next(self._numbers), one) for one, (seconds, _) in self._times.items()]
                heapify(self._queue)

    def mark_due(self, now_seconds: float) -> None:
        """Mark the lanes whose time has come."""
        while self.next_due_seconds() <= now_seconds:
            lane = heappop(self._queue)[2]
            self.mark(self._times.pop(lane)[1], lane)

    def next_due_seconds(self) -> float:
        """The first time at which a lane is to be looked at; infinite if there is none."""
        while self._queue:
            due_seconds, _, lane = self._queue[0]
            confirmed = self._times.get(lane)
            if confirmed is not None and confirmed[0] == due_seconds:
                return due_seconds
            heappop(self._queue)
        return inf
