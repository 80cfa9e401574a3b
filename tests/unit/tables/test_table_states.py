"""Table states follow service time: with a state delay, without one, and for tables already deleted."""

import asyncio
from pathlib import Path

import pytest

from hashrange import limits
from hashrange.errors import LimitExceededException, Malformed, ResourceInUseException, ResourceNotFoundException
from hashrange.operations.lookup import find_active_table
from hashrange.server.app import serve
from hashrange.settings import Settings
from tests.support.clocks import SetClock
from tests.unit.jobs.world import World
from tests.unit.tables.control_plane import ARN_PREFIX, ControlPlane


def test_without_delay_the_reply_says_creating_and_the_next_call_active() -> None:
    plane = ControlPlane()
    assert plane.create()["TableStatus"] == "CREATING"
    assert plane.describe()["TableStatus"] == "ACTIVE"


def test_without_delay_a_deleted_table_is_gone_in_the_next_call() -> None:
    plane = ControlPlane()
    plane.create()
    assert plane.call("DeleteTable", TableName="music")["TableDescription"]["TableStatus"] == "DELETING"
    with pytest.raises(ResourceNotFoundException, match=r"^Requested resource not found: Table: music not found$"):
        plane.describe()


def test_creating_ends_at_its_deadline() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(9.5)
    assert plane.describe()["TableStatus"] == "CREATING"
    assert find_active_table(plane.scope, "music") is None
    plane.clock.advance(0.5)
    assert plane.describe()["TableStatus"] == "ACTIVE"
    assert find_active_table(plane.scope, "music") is not None


def test_a_table_that_was_active_stays_so_when_the_clock_is_set_back(tmp_path: Path) -> None:
    clock = SetClock()
    world = World(None, delay_seconds=10, clock=clock)
    for seconds in (-5, -3600, -1e8):
        clock.set_by(seconds)
        assert world.described()["TableStatus"] == "ACTIVE"
        assert find_active_table(world.scope, "orders") is not None
    world.close()


def test_a_wait_ends_after_its_delay_when_the_clock_is_set_back() -> None:
    clock = SetClock()
    world = World(None, delay_seconds=10, clock=clock)
    world.create()
    clock.set_by(-3600)
    assert world.described()["TableStatus"] == "UPDATING"
    clock.advance(10)
    assert world.described()["TableStatus"] == "ACTIVE"
    world.finish()
    world.ask("DeleteTable")
    clock.set_by(-3600)
    clock.advance(10)
    assert world.refusal("DescribeTable")[0] == "ResourceNotFoundException"
    world.close()


@pytest.mark.parametrize("delay_seconds", [0.0, 10.0])
def test_a_server_that_starts_before_its_tables_were_made_serves_them(tmp_path: Path, delay_seconds: float) -> None:
    now_seconds = 1_800_000_000.0
    world = World(tmp_path / "data", delay_seconds=delay_seconds, clock=SetClock(now_seconds + 7200))
    world.create()
    world.put(1)
    world.close()

    class Stop(Exception):
        """Raised to end the server as soon as it has started."""

    def stop(_endpoint: str, _dax_endpoint: str | None) -> None:
        raise Stop

    clock = SetClock(now_seconds)
    settings = Settings(port=0, data_dir=world.data_dir, table_state_delay_seconds=delay_seconds)
    with pytest.raises(Stop):
        asyncio.run(serve(settings, stop, clock=clock))
    world.clock = clock
    world.open()
    assert find_active_table(world.scope, "orders") is not None
    assert world.described()["TableStatus"] == "ACTIVE"
    world.finish()
    assert world.index()["IndexStatus"] == "ACTIVE"
    assert world.close() == []


def test_updating_serves_items_and_ends_at_its_deadline() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    assert plane.update(DeletionProtectionEnabled=True)["TableStatus"] == "UPDATING"
    assert plane.describe()["TableStatus"] == "UPDATING"
    assert find_active_table(plane.scope, "music") is not None
    plane.clock.advance(10)
    assert plane.describe()["TableStatus"] == "ACTIVE"


def test_deleting_is_described_until_its_deadline_and_serves_nothing() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    plane.call("DeleteTable", TableName="music")
    assert plane.describe()["TableStatus"] == "DELETING"
    assert find_active_table(plane.scope, "music") is None
    assert plane.call("ListTables") == {"TableNames": ["music"]}
    plane.clock.advance(10)
    assert find_active_table(plane.scope, "music") is None
    assert plane.call("ListTables") == {"TableNames": []}
    assert plane.store.catalog.stored == {}


def test_deleting_again_is_answered_and_does_not_postpone_the_end() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    plane.call("DeleteTable", TableName="music")
    plane.clock.advance(6)
    assert plane.call("DeleteTable", TableName="music")["TableDescription"]["TableStatus"] == "DELETING"
    plane.clock.advance(4)
    with pytest.raises(ResourceNotFoundException):
        plane.describe()


def test_the_name_is_free_again_only_after_the_deadline() -> None:
    plane = ControlPlane(delay_seconds=10)
    first = plane.create()
    plane.clock.advance(10)
    plane.call("DeleteTable", TableName="music")
    with pytest.raises(ResourceInUseException, match=r"^Table already exists: music$"):
        plane.create()
    plane.clock.advance(10)
    assert plane.create()["TableId"] != first["TableId"]


@pytest.mark.parametrize(
    ("before", "doing"),
    [("CreateTable", "created"), ("UpdateTable", "updated"), ("DeleteTable", "deleted")],
)
def test_a_table_in_use_is_not_changed(before: str, doing: str) -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    if before != "CreateTable":
        plane.clock.advance(10)
    if before == "UpdateTable":
        plane.update(DeletionProtectionEnabled=True)
    if before == "DeleteTable":
        plane.call("DeleteTable", TableName="music")
    sentence = f"^Attempt to change a resource which is still in use: Table is being {doing}: music$"
    with pytest.raises(ResourceInUseException, match=sentence):
        plane.update(DeletionProtectionEnabled=False)
    if before != "DeleteTable":
        with pytest.raises(ResourceInUseException, match=sentence):
            plane.call("DeleteTable", TableName="music")


def test_tables_are_found_by_the_arn_of_their_own_place_only() -> None:
    plane = ControlPlane()
    plane.create()
    assert find_active_table(plane.scope, ARN_PREFIX + "music") is find_active_table(plane.scope, "music")
    assert plane.describe(ARN_PREFIX + "music")["TableName"] == "music"
    for elsewhere in (
        "arn:aws:dynamodb:eu-west-1:000000000000:table/",
        "arn:aws:dynamodb:us-east-1:111111111111:table/",
    ):
        assert find_active_table(plane.scope, elsewhere + "music") is None
    assert find_active_table(plane.scope, "arn:of:something else") is None


def test_impossible_names_are_left_to_the_slow_path() -> None:
    plane = ControlPlane()
    assert find_active_table(plane.scope, "x") is None
    for name in ("a b", "musique/", ""):
        with pytest.raises(Malformed):
            find_active_table(plane.scope, name)
    for name in ("x", "x" * 256, "a b c"):
        with pytest.raises(Malformed):
            plane.describe(name)


def test_a_change_that_loses_a_race_is_planned_again() -> None:
    plane = ControlPlane()
    plane.create()
    plane.store.catalog.races = 2
    plane.update(DeletionProtectionEnabled=True)
    table = plane.store.catalog.stored["music"].schema
    assert table.is_deletion_protected
    assert set(table.tags) == {"race0", "race1"}


def test_the_quota_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLES_MAX", 2)
    plane = ControlPlane()
    plane.create("one")
    plane.create("two")
    sentence = "^Subscriber limit exceeded: There is a limit of 2 tables per subscriber$"
    with pytest.raises(LimitExceededException, match=sentence):
        plane.create("three")
    with pytest.raises(ResourceInUseException):
        plane.create("two")
    plane.call("DeleteTable", TableName="one")
    plane.create("three")
