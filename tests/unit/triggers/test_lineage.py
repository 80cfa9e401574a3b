"""Which shards may be read, as they begin, end, are read to their end and are deleted?
The same ones as if all were looked at each time.
"""

from random import Random

import pytest

from hashrange.tables.partitions import WHOLE
from hashrange.tables.streams import Shard, sequence_at
from hashrange.triggers.lineage import Lineage, shards_to_read


class Life:
    """Shards whose life a seed decides, and the lineage that hears of it."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.first = sequence_at(random.randrange(30))
        self.present = {1: Shard(1, 1, 0, 1, WHOLE, 1)}
        self.changed = {1}
        self.drained: set[int] = set()
        self.readable: set[int] = set()
        self.seconds = self.number = 1
        self.lineage = Lineage(self.first)

    def replace(self) -> None:
        """Let some open shards end, with one or two children each; those that were open for long in any case."""
        self.seconds += 1
        for parent in [one for one in self.present.values() if one.last is None]:
            if self.random.random() < 0.3 or parent.first < sequence_at(self.seconds - 4):
                self.present[parent.number] = parent._replace(last=sequence_at(self.seconds))
                self.changed.add(parent.number)
                for _ in range(self.random.choice((1, 1, 1, 2))):
                    self.number += 1
                    first = sequence_at(self.seconds) + 1
                    self.present[self.number] = Shard(1, self.number, parent.number, 1, WHOLE, first)
                    self.changed.add(self.number)

    def delete(self) -> None:
        """Delete the shards that ended long ago."""
        for one in list(self.present.values()):
            if one.last is not None and one.last < sequence_at(self.seconds - 8):
                del self.present[one.number]
                self.changed.discard(one.number)

    def drain(self) -> None:
        """Let a readable shard that has ended be read to its end."""
        ended = [one for one in sorted(self.readable) if self.present[one].last is not None]
        if ended:
            number = self.random.choice(ended)
            self.drained.add(number)
            self._read(self.lineage.drain(self.present[number]))

    def look(self) -> None:
        """Let the lineage hear of what has changed, in any order."""
        changed = sorted(self.changed)
        self.random.shuffle(changed)
        self.changed.clear()
        self._read(self.lineage.see([self.present[one] for one in changed]))
        deleted, children = self.lineage.drop_deleted(lambda number: number in self.present)
        assert self.present.keys().isdisjoint(deleted)
        self._read(children)
        expected, done = shards_to_read([*self.present.values()], self.first, self.drained)
        self.readable = {one for one in self.readable if one in self.present and one not in done}
        assert self.readable == {one.number for one in expected}

    def _read(self, shards: list[Shard]) -> None:
        self.readable |= {one.number for one in shards}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_new_is_enough(seed: int) -> None:
    life = Life(seed)
    looks = life.random.choice((0.1, 0.5, 0.9))
    for _ in range(80):
        life.random.choice((life.replace, life.delete, life.drain))()
        if life.random.random() < looks:
            life.look()
        else:
            life.readable &= life.present.keys()
    life.look()


def test_a_shard_that_has_ended_and_been_deleted_unseen_holds_nothing_back() -> None:
    lineage = Lineage(0)
    lineage.see([Shard(1, 1, 0, 1, WHOLE, 1)])
    child = Shard(1, 2, 1, 1, WHOLE, 100)
    lineage.see([child])
    assert lineage.drop_deleted(lambda number: number == 2) == ([1], [child])
