"""What do walks over a table with recovery have in common? They write it, remember what it has been, and are killed."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hashrange.items.rows import decode_row
from hashrange.items.types import Row
from hashrange.store.embedded import layout, row_copies
from hashrange.store.embedded.reading import scan_prefix
from tests.unit.jobs.world import World

KEYS = 25
Items = dict[str, dict[str, Any]]
PREFIXES_OF_COPIES = (layout.COPY_PREFIX, layout.STAGED_PREFIX)
PREFIXES_OF_RECOVERY = (*PREFIXES_OF_COPIES, layout.KEPT_PREFIX, layout.WINDOW_PREFIX, layout.LOG_PREFIX)


class TableWalk(ABC):
    """A world, and everything that its table has been."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(data_dir, partition_size_max_bytes=200)
        self.items: Items = {}
        self.history: list[tuple[float, Items]] = []
        """Since recovery was turned on: service time, and the items from then on."""

    @abstractmethod
    def actions(self) -> Mapping[Callable[[], object], float]:
        """What a step may do → its weight."""

    @abstractmethod
    def note(self) -> None:
        """Remember what the table is. The next write belongs to another millisecond."""

    @abstractmethod
    def close(self) -> None:
        """End everything, and look at what is left."""

    def write(self) -> None:
        for _ in range(self.chance.randrange(1, 4)):
            key = str(self.chance.randrange(KEYS))
            if self.chance.random() < 0.3:
                self.items.pop(key, None)
                self.world.ask("DeleteItem", Key={"id": {"S": key}})
            else:
                item = {"id": {"S": key}, "x": {"S": "x" * self.chance.randrange(1, 60)}}
                self.items[key] = item
                self.world.ask("PutItem", Item=item)
        self.note()

    def require_no_rows(self, prefixes: Iterable[bytes]) -> None:
        """Fail if the store has a row below one of these prefixes."""
        for prefix in prefixes:
            assert list(scan_prefix(self.world.embedded.engine, prefix)) == []

    def walk(self, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take random steps, while rows are moved in small slices, and close."""
        monkeypatch.setattr(row_copies, "SLICE_ROWS", 3)
        monkeypatch.setattr(row_copies, "FIRST_SLICES", 1)
        monkeypatch.setattr(row_copies, "UNDONE_TOGETHER", 4)
        actions = self.actions()
        for _ in range(steps):
            self.chance.choices(list(actions), list(actions.values()))[0]()
        self.close()


def decoded_row(row: Row) -> dict[str, Any]:
    """The item of a row."""
    item: Any = decode_row(row)
    return dict(item)
