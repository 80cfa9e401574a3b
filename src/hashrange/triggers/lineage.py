"""Which shards of a stream may be read now? Those whose parent has been read to its end;
so each item's changes come in order.

A shard that has been deleted, a day after its end, no longer holds its children back.
"""

from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush

from hashrange.items.steps import walk
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, sequence_seconds


def shards_to_read(
    shards: Sequence[Shard], first: SequenceNumber, drained: Collection[int]
) -> tuple[list[Shard], set[int]]:
    """The shards to read, oldest first, and the numbers of all shards of which nothing is left to be read.

    `first`: no record with a smaller sequence number is wanted, so shards that ended before it count as drained.
    `drained`: numbers of shards that have been read to their end.
    """
    done = {one.number for one in walk(shards) if one.number in drained or (one.last is not None and one.last < first)}
    waiting = {one.number for one in shards} - done
    return [one for one in shards if one.number in waiting and one.parent not in waiting], done


class Lineage:
    """The shards of one stream, as they begin, end, are read to their end and are deleted.
    Each call takes time for what is new alone.
    """

    def __init__(self, first: SequenceNumber) -> None:
        """`first`: no record with a smaller sequence number is wanted,
        so shards that ended before it count as drained.
        """
        self._first = first
        self._waiting: dict[int, Shard] = {}
        """Number → shard of which something is left to be read, or may come."""
        self._held: dict[int, list[int]] = {}
        """Number of a waiting shard → numbers of the children that it holds back."""
        self._drained: set[int] = set()
        """Numbers of shards of which nothing is left, until they are deleted."""
        self._ended: list[tuple[float, int]] = []
        """(time of its end, number) of the shards that have ended and are not known to be deleted, as a heap: the store
        deletes them in this order. A shard may be in it twice.
        """
        self._open: list[tuple[SequenceNumber, int]] = []
        """(first sequence number, number) of the shards that were open when they were seen first, as a heap."""

    # C901: one pass over shards, in each state that they may have
    def see(self, changed: Sequence[Shard]) -> list[Shard]:  # noqa: C901
        """Take in shards that are new, or have changed; returns those of them that may be read now,
        and children that no longer wait.
        """
        over: list[int] = []
        for shard in walk(changed):
            if shard.number in self._drained:
                continue
            if shard.last is not None:
                self._await_deletion(shard)
            if shard.last is not None and shard.last < self._first:
                over.append(shard.number)
            else:
                if shard.last is None and shard.number not in self._waiting:
                    heappush(self._open, (shard.first, shard.number))
                self._waiting[shard.number] = shard
        readable: list[Shard] = []
        for number in over:
            readable += self._end(number)
        for shard in walk(changed):
            if shard.number not in self._waiting:
                continue
            if shard.parent not in self._waiting:
                readable.append(shard)
            elif shard.number not in (held := self._held.setdefault(shard.parent, [])):
                held.append(shard.number)
        return readable

    def drain(self, shard: Shard) -> list[Shard]:
        """Note that nothing of a shard, which has ended, is left to be read;
        returns its children that may be read now.
        """
        self._await_deletion(shard)
        return self._end(shard.number)

    def drop_deleted(self, is_there: Callable[[int], bool]) -> tuple[list[int], list[Shard]]:
        """Forget deleted shards; returns their numbers, and their children that may be read now.
        `is_there`: False for a deleted shard.

        An open shard may have ended and been deleted since the last look;
        so had all that began before it, and are no longer open.
        """
        numbers: list[int] = []
        while self._ended and not is_there(self._ended[0][1]):
            numbers.append(heappop(self._ended)[1])
        while self._open and not (self._is_open(self._open[0][1]) and is_there(self._open[0][1])):
            number = heappop(self._open)[1]
            if self._is_open(number):
                numbers.append(number)
        readable: list[Shard] = []
        for number in numbers:
            readable += self._end(number)
            self._drained.discard(number)
        return numbers, readable

    def _is_open(self, number: int) -> bool:
        """True if the shard was open when it was seen last."""
        shard = self._waiting.get(number)
        return shard is not None and shard.last is None

    def _await_deletion(self, shard: Shard) -> None:
        assert shard.last is not None
        heappush(self._ended, (sequence_seconds(shard.last), shard.number))

    def _end(self, number: int) -> list[Shard]:
        self._waiting.pop(number, None)
        self._drained.add(number)
        return [self._waiting[one] for one in self._held.pop(number, ()) if one in self._waiting]
