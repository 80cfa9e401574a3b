"""A table with secondary indexes as dictionaries: the entries of an index, their order, and the capacity of writes.

Values and items are those of `item_model`. This file imports nothing from hashrange.
"""

import random
from typing import Any, NamedTuple

from tests.model.item_model import Item, Native, item_bytes, order

ATTRIBUTES = ("a", "b", "c", "d")
"""Attributes that may be index keys, besides the table's own keys."""
PLAIN = ("note", "more")
"""Attributes that are no index keys."""
Key = tuple[Native, ...]


class Index(NamedTuple):
    """An index."""

    name: str
    is_global: bool
    hash_names: tuple[str, ...]
    range_names: tuple[str, ...]
    projected: frozenset[str] | None
    """Names of the projected attributes; None: all."""

    def entry(self, item: Item | None) -> Item | None:
        """The entry of an item; None for an item that lacks one of the index keys."""
        if item is None or any(name not in item for name in self.hash_names + self.range_names):
            return None
        return {name: value for name, value in item.items() if self.projected is None or name in self.projected}

    def units(self, old: Item | None, new: Item | None) -> int:
        """The capacity units of the index for replacing `old` by `new`."""
        before, after = self.entry(old), self.entry(new)
        if before == after:
            return 0
        old_units, new_units = (0 if one is None else -(-item_bytes(one) // 1024) for one in (before, after))
        if before is None or after is None:
            return old_units + new_units
        is_moved = any(before[name] != after[name] for name in self.hash_names + self.range_names)
        return old_units + new_units if is_moved else max(old_units, new_units)

    def place(self, item: Item) -> tuple[Any, ...]:
        """The entry's order among those of the same hash key; equal for ties."""
        return tuple(order(item[name]) for name in self.range_names)


class Table:
    """Items by key, and the indexes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.types = {name: chance.choice("SNB") for name in ("pk", "sk", *ATTRIBUTES)}
        self.key_names = chance.choice([("pk",), ("pk", "sk"), ("pk", "sk")])
        self.indexes = [self._some_global(number) for number in range(chance.randint(1, 4))]
        if len(self.key_names) == 2:
            self.indexes += [self._some_local(number) for number in range(chance.randint(0, 3))]
        self.items: dict[Key, Item] = {}

    def _some_global(self, number: int) -> Index:
        width = self.chance.choice([1, 1, 2, 3])
        names = self.chance.sample(
            [*self.key_names, *ATTRIBUTES], width + self.chance.randint(0, 2 if width == 3 else 3)
        )
        return self._index(f"global-{number}", True, tuple(names[:width]), tuple(names[width:]))

    def _some_local(self, number: int) -> Index:
        return self._index(f"local-{number}", False, ("pk",), (self.chance.choice(ATTRIBUTES),))

    def _index(self, name: str, is_global: bool, hashes: tuple[str, ...], ranges: tuple[str, ...]) -> Index:
        kind = self.chance.choice(["ALL", "KEYS_ONLY", "INCLUDE"])
        extra = ("note",) if kind == "INCLUDE" else ()
        projected = None if kind == "ALL" else frozenset((*self.key_names, *hashes, *ranges, *extra))
        return Index(name, is_global, hashes, ranges, projected)

    def key_of(self, item: Item) -> Key:
        return tuple(item[name] for name in self.key_names)

    def index_keys(self) -> set[str]:
        """Attributes that are a key of some index."""
        return {name for index in self.indexes for name in index.hash_names + index.range_names}

    def is_sound(self, item: Item, names: set[str]) -> bool:
        """True if those of the named attributes that are index keys have the right type and are not empty."""
        return all(
            item[name][0] == self.types[name] and item[name][1] not in ("", b"")
            for name in names & self.index_keys()
            if name in item
        )

    def put(self, key: Key, item: Item | None) -> dict[str, int]:
        """Put or delete an item; return the capacity of each index that is written."""
        old = self.items.pop(key, None)
        if item is not None:
            self.items[key] = item
        units = {index.name: index.units(old, item) for index in self.indexes}
        return {name: count for name, count in units.items() if count}

    def entries(self, index: Index) -> list[tuple[Item, Item]]:
        """(entry, its item) of all entries of an index."""
        return [(entry, item) for item in self.items.values() if (entry := index.entry(item)) is not None]
