"""Which shards of a stream may be read now? Those whose parent has been read to its end; so each item's changes come in order.

A shard that has been deleted, a day after its end, no longer holds its children back.
"""

from collections.abc import Collection, Sequence

from hashrange.items.steps import walk
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard


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
