"""Copies of changes of a table that is written, split and killed meanwhile: each has, for every item that has changed
in its window, the item before the first change and behind the last one.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.items.types import Key
from hashrange.tables.schema import Recovery
from tests.model.walks import PREFIXES_OF_COPIES, TableWalk, decoded_row
from tests.support.seeds import seeds
from tests.unit.jobs.world import TABLE, drive

STEPS = 220


class Walk(TableWalk):
    """A world with recovery on, and everything that its table has been."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        super().__init__(data_dir, seed)
        self.world.clock.advance(1)
        table = self.world.embedded.catalog.find(self.world.scope.account, self.world.scope.region, TABLE)
        assert table is not None
        self.table = msgspec.structs.replace(table.schema, recovery=Recovery(self.world.clock.service_time(), 35))
        assert drive(self.world.embedded.catalog.replace(table.schema, self.table))
        self.note()
        self.owners = 0
        self.copies: dict[str, tuple[float, float]] = {}
        """Owner → its window."""
        self.read: dict[str, dict[str, tuple[Any, Any]]] = {}

    def note(self) -> None:
        self.history.append((self.world.clock.service_time(), dict(self.items)))
        self.world.clock.advance(self.chance.choice((0.002, 0.5)))

    def begin(self) -> None:
        self.owners += 1
        owner = f"changes {self.owners}"
        since, until = sorted(self.chance.choice(self.history)[0] for _ in range(2))
        copies = self.world.embedded.row_copies
        assert drive(copies.begin_of_changes(owner, self.table, since, until))
        self.copies[owner], self.read[owner] = (since, until), {}

    def go_on(self) -> None:
        if not self.copies:
            return
        owner = self.chance.choice(list(self.copies))
        copies = self.world.embedded.row_copies
        begun = copies.copy_of(owner)
        assert begun is not None
        part = drive(copies.read_changes(owner, begun.passed, 150))
        for row in part.rows:
            old, new = [None if one is None else decoded_row(one) for one in (row.old, row.new)]
            if old is not None or new is not None:
                self.read[owner][(new or old or {})["id"]["S"]] = old, new
        if part.rows:
            drive(copies.passed(owner, Key(part.last_key)))
        if part.is_last:
            self.finish(owner)

    def finish(self, owner: str) -> None:
        since, until = self.copies.pop(owner)
        before = [items for at, items in self.history if at < since][-1:] or [{}]
        states = [items for at, items in self.history if since <= at < until]
        expected = {}
        for key in {key for items in [*before, *states] for key in items}:
            versions = [items.get(key) for items in [*before, *states]]
            has_changed = any(one != other for one, other in pairwise(versions))
            if has_changed and (versions[0], versions[-1]) != (None, None):
                expected[key] = versions[0], versions[-1]
        found = self.read.pop(owner)
        # What was written as it was before, or written and written back, may be told of too.
        assert {key: pair for key, pair in found.items() if key in expected} == expected, owner
        for key in found.keys() - expected.keys():
            assert found[key][0] == found[key][1], owner
        drive(self.world.embedded.row_copies.end(owner))

    def actions(self) -> Mapping[Callable[[], object], float]:
        return {
            self.write: 30,
            self.begin: 3,
            self.go_on: 30,
            self.world.split: 2,
            self.kill: 1,
        }

    def kill(self) -> None:
        self.world.kill()

    def close(self) -> None:
        while self.copies:
            self.go_on()
        self.require_no_rows(PREFIXES_OF_COPIES)
        self.world.embedded.close_now()


@pytest.mark.parametrize("seed", seeds(4, 60))
def test_copies_of_changes_have_first_and_last_states(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Walk(tmp_path / "data", seed)
    walk.walk(STEPS, monkeypatch)
    assert walk.owners > 3
