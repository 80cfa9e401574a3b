"""Copies of a table that is written meanwhile, of now and of moments in the past, with splits, kills and deletions:
each has the rows of its moment, and what has ended leaves nothing behind.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.items.types import Key, Row
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Recovery, RestoredFrom
from hashrange.tables.source_id import SourceId
from tests.model.walks import KEYS, PREFIXES_OF_RECOVERY, Items, TableWalk, decoded_row
from tests.support.kills import copy_as_killed
from tests.support.seeds import seeds
from tests.unit.backups.world import large_copies
from tests.unit.jobs.world import TABLE, drive

STEPS = 250
SLICES_COUNTED_MAX = KEYS


class Copy:
    """A copy in progress, and what it must have in the end."""

    def __init__(self, owner: str, expected: Items, target: str) -> None:
        self.owner, self.expected, self.target = owner, expected, target
        self.found: Items = {}
        self.read_up_to = Key(b"")


class Walk(TableWalk):
    """A world with recovery on, and everything that the table has been."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        super().__init__(data_dir, seed)
        self.owners = 0
        self.copies: list[Copy] = []
        self.checked = 0
        self.uncounted: dict[str, int] = {}
        """Owner → further slices for which statistics may lack rows that were moved before a kill."""
        self.switch_on()

    # --- the table ---------------------------------------------------------------------------------

    @property
    def table(self) -> OpenTable:
        return self.named(TABLE)

    def named(self, name: str) -> OpenTable:
        found = self.world.embedded.catalog.find(self.world.scope.account, self.world.scope.region, name)
        assert found is not None
        return found

    def switch_on(self) -> None:
        self.advance()
        recovery = Recovery(self.world.clock.service_time(), 35)
        changed = msgspec.structs.replace(self.table.schema, recovery=recovery)
        assert drive(self.world.embedded.catalog.replace(self.table.schema, changed))
        self.history = []
        self.note()

    def note(self) -> None:
        self.history.append((self.world.clock.service_time(), dict(self.items)))
        self.world.clock.advance(0.002)

    def advance(self) -> None:
        self.world.clock.advance(self.chance.choice((0.002, 0.5, 7.0)))

    def transfer(self) -> None:
        keys = self.chance.sample(range(KEYS), 3)
        items = {str(key): {"id": {"S": str(key)}, "n": {"N": str(self.chance.randrange(9))}} for key in keys}
        steps = [{"Put": {"TableName": TABLE, "Item": item}} for item in items.values()]
        self.world.request("TransactWriteItems", TransactItems=steps)
        self.items |= items
        self.note()

    def replace_table(self) -> None:
        """Delete the table in the store, which leaves no backup, and make another one of the same name."""
        assert drive(self.world.embedded.catalog.delete(self.table.schema))
        self.world.create_table()
        self.items = {}
        self.switch_on()

    # --- copies ------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.owners += 1
        owner = f"copy {self.owners}"
        moment, expected = self.chance.choice(self.history) if self.chance.random() < 0.6 else (None, self.items)
        if moment is not None:
            expected = [items for at, items in self.history if at <= moment][-1]
        target = self.chance.choice(("kept", "table", "indexed table", "reader"))
        assert drive(self.world.embedded.row_copies.begin(owner, self.table.schema, moment))
        if target == "kept":
            drive(self.world.embedded.row_copies.keep(f"rows of {owner}", None))
        elif target != "reader":
            self.make_target(owner.replace(" ", "-"), is_indexed=target == "indexed table")
        self.copies.append(Copy(owner, dict(expected), target))

    def make_target(self, name: str, *, is_indexed: bool) -> None:
        by_x = [
            {
                "IndexName": "by-x",
                "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
        self.world.request(
            "CreateTable",
            TableName=name,
            AttributeDefinitions=[
                {"AttributeName": one, "AttributeType": "S"} for one in (("id", "x") if is_indexed else ("id",))
            ],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            **({"GlobalSecondaryIndexes": by_x} if is_indexed else {}),
        )
        table = self.named(name).schema
        restored_from = RestoredFrom(table.arn, 0.0)
        assert drive(
            self.world.embedded.catalog.replace(table, msgspec.structs.replace(table, restored_from=restored_from))
        )

    def go_on(self) -> None:
        if not self.copies:
            return
        copy = self.chance.choice(self.copies)
        copies = self.world.embedded.row_copies
        if copy.target == "reader":
            part = drive(copies.read(copy.owner, copy.read_up_to, 150))
            copy.found |= dict(map(decoded, part.rows))
            copy.read_up_to = part.last_key
            if self.chance.random() < 0.5 and part.rows:
                drive(copies.passed(copy.owner, part.last_key))
            is_last = part.is_last
        else:
            target = (
                copies.kept()[f"rows of {copy.owner}"]
                if copy.target == "kept"
                else self.named(copy.owner.replace(" ", "-"))
            )
            is_last = drive(copies.move(copy.owner, target)).is_last
            self.require_counted(copy.owner, target.source_id if isinstance(target, OpenTable) else target)
        if is_last:
            self.copies.remove(copy)
            self.finish(copy)

    def require_counted(self, owner: str, source_id: SourceId) -> None:
        """Statistics are exact behind each slice; after a kill, once the rows are counted that were moved before."""
        counted = self.world.embedded.row_copies.kept_statistics(source_id).item_count
        rows = len(self.rows_of(source_id))
        assert counted == rows or (counted < rows and self.uncounted.get(owner, 0) > 0), owner
        self.uncounted[owner] = self.uncounted.get(owner, 0) - 1

    def give_up(self) -> None:
        """End a copy before its end, and then delete its target."""
        moved = [one for one in self.copies if one.target != "reader"]
        if not moved:
            return
        copy = self.chance.choice(moved)
        self.copies.remove(copy)
        copies, name = self.world.embedded.row_copies, copy.owner.replace(" ", "-")
        if copy.target == "kept":
            source_id = copies.kept()[f"rows of {copy.owner}"]
            drive(copies.end(copy.owner))
            assert copies.kept_statistics(source_id).item_count == len(self.rows_of(source_id))
            self.check_as_killed()
            drive(copies.drop(f"rows of {copy.owner}"))
        elif self.chance.random() < 0.5:
            source_id = self.named(name).source_id
            drive(copies.end(copy.owner))
            assert copies.kept_statistics(source_id).item_count == len(self.rows_of(source_id))
            assert drive(self.world.embedded.catalog.delete(self.named(name).schema))
        else:
            source_id = self.named(name).source_id
            assert drive(self.world.embedded.catalog.delete(self.named(name).schema))
            self.check_as_killed()
            drive(copies.end(copy.owner))
        assert self.rows_of(source_id) == {}
        self.checked += 1

    def finish(self, copy: Copy) -> None:
        copies = self.world.embedded.row_copies
        if copy.target == "kept":
            source_id = copies.kept()[f"rows of {copy.owner}"]
            copy.found = self.rows_of(source_id)
            assert copy.found == copy.expected, copy.owner
            assert copies.kept_statistics(source_id).item_count == len(copy.expected)
            drive(copies.drop(f"rows of {copy.owner}"))
        elif copy.target != "reader":
            name = copy.owner.replace(" ", "-")
            table = self.named(name)
            served = msgspec.structs.replace(table.schema, restored_from=None)
            assert drive(self.world.embedded.catalog.replace(table.schema, served))
            copy.found = {one["id"]["S"]: one for one in self.world.request("Scan", TableName=name)["Items"]}
            if copy.target == "indexed table":
                entries = self.world.request("Scan", TableName=name, IndexName="by-x")["Items"]
                assert sorted(one["id"]["S"] for one in entries) == sorted(
                    k for k, one in copy.expected.items() if "x" in one
                )
            self.world.request("DeleteTable", TableName=name)
        assert copy.found == copy.expected, copy.owner
        drive(copies.end(copy.owner))
        self.checked += 1

    def rows_of(self, source_id: bytes) -> Items:
        rows = scan_prefix(self.world.embedded.engine, source_id)
        return dict(decoded((Key(key[6:]), Row(row))) for key, row in rows)

    # --- the end ------------------------------------------------------------------------------------

    def kill(self) -> None:
        for copy in self.copies:
            if copy.target == "reader":  # what was read is gone with the reader; what was passed is with it
                begun = self.world.embedded.row_copies.copy_of(copy.owner)
                assert begun is not None
                passed = begun.passed
                copy.read_up_to = passed
            self.uncounted[copy.owner] = SLICES_COUNTED_MAX
        self.check_as_killed()
        self.world.kill()

    def check_as_killed(self) -> None:
        """A folder as a kill leaves it now is sound."""
        assert self.world.data_dir is not None
        folder = Path(self.world.data_dir).with_name("as-killed")
        copy_as_killed(Path(self.world.data_dir), folder)
        assert check_store(str(folder), clock=self.world.clock).faults == []
        shutil.rmtree(folder)

    def actions(self) -> Mapping[Callable[[], object], float]:
        return {
            self.write: 20,
            self.transfer: 5,
            self.advance: 10,
            self.begin: 3,
            self.go_on: 30,
            self.world.split: 2,
            self.tend: 3,
            self.kill: 1,
            self.give_up: 0.5,
            self.replace_table: 0.5,
        }

    def tend(self) -> None:
        drive(self.world.recovery_job.run_slice())

    def close(self) -> None:
        while self.copies:
            self.go_on()
        changed = msgspec.structs.replace(self.table.schema, recovery=None)
        assert drive(self.world.embedded.catalog.replace(self.table.schema, changed))
        while drive(self.world.recovery_job.run_slice()) is not None:
            pass
        self.require_no_rows(PREFIXES_OF_RECOVERY)
        assert self.rows_of(self.table.source_id) == self.items
        assert self.world.close() == []


def decoded(row: tuple[Key, Row]) -> tuple[str, dict[str, Any]]:
    item = decoded_row(row[1])
    return item["id"]["S"], item


@pytest.mark.parametrize("seed", seeds(4, 60))
@pytest.mark.parametrize("is_large", [False, True])
def test_copies_have_the_rows_of_their_moment(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    if is_large:
        large_copies(monkeypatch)
    walk = Walk(tmp_path / "data", seed)
    walk.walk(STEPS, monkeypatch)
    assert walk.checked > 3
