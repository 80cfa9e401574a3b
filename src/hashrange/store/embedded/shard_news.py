"""Which shards of a stream have changed last? So whoever follows a stream of thousands of shards looks only at those with something new."""

from collections import OrderedDict
from collections.abc import Iterable

from hashrange.store.embedded import layout
from hashrange.tables.streams import Sequence, Shard


class ShardNews:
    """For each shard of a stream, the sequence number of its last change: a record, its begin or its end."""

    __slots__ = ("_numbers", "last")

    def __init__(self) -> None:
        self.last: OrderedDict[bytes, Sequence] = OrderedDict()
        """Prefix of the engine keys of a shard's records → no later change than this; the shard that changed last is the last one."""
        self._numbers: dict[bytes, int] = {}
        """Prefix → number of the shard."""

    def note(self, shards: Iterable[Shard], sequence: Sequence) -> None:
        """Note that the shards have begun or ended with the commit of this sequence number, after all changes noted before. 1 µs each."""
        for one in shards:
            prefix = layout.shard_records_prefix(one.stream_id, one.number)
            self._numbers[prefix] = one.number
            self.last[prefix] = sequence
            self.last.move_to_end(prefix)

    def forget(self, shards: Iterable[Shard]) -> None:
        """Forget deleted shards."""
        for one in shards:
            prefix = layout.shard_records_prefix(one.stream_id, one.number)
            self._numbers.pop(prefix, None)
            self.last.pop(prefix, None)

    def last_of(self, shard: Shard) -> Sequence:
        """The sequence number of the shard's last change; 0 if it has been deleted."""
        return self.last.get(layout.shard_records_prefix(shard.stream_id, shard.number), 0)

    def since(self, sequence: Sequence) -> list[int]:
        """Numbers of the shards that have changed behind this sequence number, in the order of their last changes. 0.1 µs each."""
        found: list[int] = []
        for prefix, last in reversed(self.last.items()):
            if last <= sequence:
                break
            found.append(self._numbers[prefix])
        found.reverse()
        return found
