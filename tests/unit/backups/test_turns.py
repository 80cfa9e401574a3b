"""Does each copy in progress get its turn, in a fair order, and in a time that does not depend on their number?"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hashrange.backups.turns import Turns
from hashrange.jobs.job import AT_ONCE
from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, RESTORE_PREFIX
from hashrange.store.row_copies import row_copies_of
from tests.support.seeds import seeds
from tests.support.working import lines_of
from tests.unit.backups.world import OFF, ON, backup_of, small_slices
from tests.unit.jobs.world import World, drive

FEW, MANY = 4, 60


@pytest.fixture
def make_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], World]]:
    """Makes stores in memory with a table of 40 items, of which a slice moves three."""
    small_slices(monkeypatch)
    made: list[World] = []

    def make() -> World:
        world = World(None)
        made.append(world)
        world.put(40)
        return world

    yield make
    for world in made:
        assert world.close() == []


def create(world: World) -> str:
    return str(world.ask("CreateBackup", BackupName="many")["BackupDetails"]["BackupArn"])


def lines_of_slice(world: World) -> int:
    """Lines of the next slice of the job, which moves rows or finds nothing to do."""
    return lines_of(lambda: drive(world.copying.run_slice()))


def test_a_slice_is_as_short_for_many_backups_in_progress_as_for_few(make_world: Callable[[], World]) -> None:
    """A slice took 41 ms with 40,000 backups in progress, so that they were hardly ever completed."""
    lines = []
    for count in (FEW, MANY):
        world = make_world()
        for _ in range(count):
            create(world)
        assert drive(world.copying.run_slice()) == AT_ONCE
        lines.append(lines_of_slice(world))
        assert len(row_copies_of(world.store).owners()) == count
    assert lines[0] == lines[1]


def test_a_slice_is_as_short_for_many_backups_that_wait_as_for_few(make_world: Callable[[], World]) -> None:
    """They wait until as much time has passed as the service takes for a backup."""
    lines = []
    for count in (FEW, MANY):
        world = make_world()
        for _ in range(count):
            create(world)
        assert drive(world.copying.run_slice()) == AT_ONCE
        owners = sorted(row_copies_of(world.store).owners())
        for owner in owners[1:]:
            world.copying._turns.wait(owner, world.clock.service_time() + 60)
        lines.append(lines_of_slice(world))
        assert len(row_copies_of(world.store).owners()) == count
    assert lines[0] == lines[1]


def test_the_job_looks_at_no_backups_that_are_complete(make_world: Callable[[], World]) -> None:
    """It runs after each CreateBackup, and a table may have any number of backups."""
    lines = []
    for count in (FEW, MANY):
        world = make_world()
        for _ in range(count):
            backup_of(world)
        create(world)
        while drive(world.copying.run_slice()) == AT_ONCE:
            pass
        lines.append(lines_of_slice(world))
    assert lines[0] == lines[1]


@pytest.mark.parametrize("count", [FEW, MANY])
def test_requests_look_at_no_other_backups(make_world: Callable[[], World], count: int) -> None:
    worlds = [make_world() for _ in range(2)]
    for _ in range(count):
        create(worlds[1])
    backups = [backup_of(world) for world in worlds]
    lines = [
        lines_of(partial(world.request, "DeleteBackup", BackupArn=arn))
        for world, arn in zip(worlds, backups, strict=True)
    ]
    assert lines[0] == lines[1]


def test_the_backup_of_a_table_that_is_being_deleted_is_found_by_its_rows() -> None:
    lines = []
    for count in (FEW, MANY):
        world = World(None, delay_seconds=5)
        world.clock.advance(5)
        for _ in range(count):
            backup_of(world)
        world.ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
        world.clock.advance(1)
        world.ask("DeleteTable")
        assert len(row_copies_of(world.store).kept()) == count + 1
        give_up = partial(world.ask, "UpdateContinuousBackups", PointInTimeRecoverySpecification=OFF)
        lines.append(lines_of(give_up))
        assert len(row_copies_of(world.store).kept()) == count
        assert world.close() == []
    assert lines[0] == lines[1]


def test_numbers_of_copies_are_not_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job tells by the number which copies it has not seen."""
    small_slices(monkeypatch)
    world = World(tmp_path / "data")
    world.put(40)
    for _ in range(2):
        create(world)
    copies = row_copies_of(world.store)
    (_, first), (highest, last) = copies.begun_after(0)
    drive(copies.end(last))
    create(world)
    ((number, _),) = copies.begun_after(highest)
    assert next(one for _, one in copies.begun_after(0)) == first
    world.copy()
    create(world)
    assert [one > number for one, _ in copies.begun_after(0)] == [True]
    world.copy()
    assert world.close() == []


# --- random histories -----------------------------------------------------------------------------


class Copies:
    """Copies in progress, in memory."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.attended: set[str] = set()
        self.count = 0

    def begin(self, owner: str) -> None:
        """Begin a copy, as the store does."""
        if owner not in self.numbers:
            self.count += 1
            self.numbers[owner] = self.count

    def copy_of(self, owner: str) -> int | None:
        """As `RowCopies.copy_of`."""
        return self.numbers.get(owner)

    def begun_after(self, number: int) -> list[tuple[int, str]]:
        """As `RowCopies.begun_after`."""
        return sorted((one, owner) for owner, one in self.numbers.items() if one > number)


@pytest.mark.parametrize("seed", seeds(10, 300))
def test_random_copies_take_turns_in_order(seed: int) -> None:
    """Compared with a list of all that is sorted anew for each turn."""
    chance, copies, now_seconds, last = random.Random(seed), Copies(), 0.0, ""
    turns, waiting = Turns(copies), dict[str, float]()  # type: ignore[arg-type]
    for _ in range(400):
        now_seconds += chance.choice([0.0, 1.0])
        name = chance.choice([BACKUP_PREFIX, RESTORE_PREFIX, "export/"]) + str(chance.randrange(12))
        match chance.randrange(5):
            case 0 | 1:
                copies.begin(name)
            case 2:
                copies.numbers.pop(name, None)
                waiting.pop(name, None)
            case 3:
                copies.attended = {name, *chance.sample(sorted(copies.numbers), min(2, len(copies.numbers)))}
            case _:
                waiting = {one: due for one, due in waiting.items() if due > now_seconds}
                able = {one for one in copies.numbers if not one.startswith("export/")} - copies.attended
                owners = sorted(able - waiting.keys())
                wanted = next((one for one in owners if one > last), owners[0] if owners else None)
                owner: Any = turns.next_owner(now_seconds)
                assert owner == wanted
                last = owner or last
                if owner is not None and chance.randrange(3) == 0:
                    waiting[owner] = now_seconds + chance.randrange(1, 5)
                    turns.wait(owner, waiting[owner])
