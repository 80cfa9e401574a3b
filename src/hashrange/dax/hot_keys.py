"""Which items are asked for most? A sample is counted, so that others pay nothing:
on the average one request of SAMPLE, at distances drawn at random.

When there are too many keys, all counts are halved, and those of keys that were seen once are dropped:
what has been hot lately is known.
"""

from collections import Counter
from random import Random

ItemKey = tuple[str, str, str, bytes]
"""Account, Region, name of the table, and key in canonical form."""
SAMPLE = 8
KEYS_MAX = 1_000
KEY_BYTES_MAX = 4_096
"""Length of a table's name and a key together; a key has up to 2,048 and 1,024 bytes, and some that say so."""


class HotKeys:
    """The keys of one node that are read most."""

    __slots__ = ("_counts", "_draw", "_left")

    def __init__(self) -> None:
        self._counts: Counter[ItemKey] = Counter()
        self._draw = Random(0).randrange  # noqa: S311 - no secret
        self._left = 1

    def see(self, key: ItemKey) -> None:
        """Note that an item is asked for. 0.05 µs."""
        self._left -= 1
        if self._left:
            return
        self._left = self._draw(1, 2 * SAMPLE)  # a fixed distance would miss keys that come in turns
        if len(key[2]) + len(key[3]) > KEY_BYTES_MAX:
            return  # no item has such a key
        self._counts[key] += 1
        if len(self._counts) > KEYS_MAX:
            self._counts = Counter({one: count // 2 for one, count in self._counts.items() if count > 1})

    def most(self, count: int) -> list[tuple[ItemKey, int]]:
        """The keys that were asked for most, and about how often, the hottest first."""
        return [(key, seen * SAMPLE) for key, seen in self._counts.most_common(count)]
