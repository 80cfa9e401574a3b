"""Table states follow service time: with a state delay, without one, and for tables already deleted."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hashrange import limits
from hashrange.errors import (
    LimitExceededException,
    Malformed,
    ResourceInUseException,
    ResourceNotFoundException,
    ThrottlingException,
)
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
    assert plane.update(TableClass="STANDARD_INFREQUENT_ACCESS")["TableStatus"] == "UPDATING"
    assert plane.describe()["TableStatus"] == "UPDATING"
    assert find_active_table(plane.scope, "music") is not None
    plane.call("TagResource", ResourceArn=f"{ARN_PREFIX}music", Tags=[{"Key": "of", "Value": "an updating table"}])
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


IN_USE = "^Attempt to change a resource which is still in use: "


@pytest.mark.parametrize(("before", "doing"), [("CreateTable", "created"), ("DeleteTable", "deleted")])
def test_a_table_in_use_is_not_changed(before: str, doing: str) -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    if before != "CreateTable":
        plane.clock.advance(10)
        plane.call("DeleteTable", TableName="music")
    for change in ({"DeletionProtectionEnabled": False}, {"BillingMode": "PAY_PER_REQUEST"}):
        with pytest.raises(ResourceInUseException, match=f"{IN_USE}Table is being {doing}: music$"):
            plane.update(**change)
    if before != "DeleteTable":
        with pytest.raises(ResourceInUseException, match=f"{IN_USE}Table is being {doing}: music$"):
            plane.call("DeleteTable", TableName="music")


def test_of_a_table_that_is_updating_the_protection_changes_but_not_much_else() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    plane.update(TableClass="STANDARD_INFREQUENT_ACCESS")
    with pytest.raises(
        ResourceInUseException, match=f"{IN_USE}Can't change stream status when a table class update is"
    ):
        plane.update(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    with pytest.raises(ResourceInUseException, match=f"{IN_USE}Table IOPS are currently being updated. Table: music$"):
        plane.update(BillingMode="PAY_PER_REQUEST")
    with pytest.raises(ResourceInUseException, match=f"{IN_USE}Table: music is in the process of being updated.$"):
        plane.call("DeleteTable", TableName="music")
    assert plane.update(DeletionProtectionEnabled=True)["TableStatus"] == "UPDATING"
    plane.clock.advance(10)
    assert plane.describe()["TableStatus"] == "ACTIVE"
    assert plane.describe()["DeletionProtectionEnabled"]


@pytest.mark.parametrize(
    "change", [{"WarmThroughput": {"ReadUnitsPerSecond": 20_000}}, {"SSESpecification": {"Enabled": True}}]
)
def test_what_a_part_of_a_table_is_updating_for_keeps_it_from_being_deleted(change: dict[str, Any]) -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    plane.update(**change)
    described = plane.describe()
    part = described["WarmThroughput"] if "WarmThroughput" in change else described["SSEDescription"]
    assert (described["TableStatus"], part["Status"]) == ("ACTIVE", "UPDATING")
    with pytest.raises(ResourceInUseException, match=f"{IN_USE}Table: music is in the process of being updated.$"):
        plane.call("DeleteTable", TableName="music")
    plane.clock.advance(10)
    described = plane.describe()
    assert all(
        described[name]["Status"] != "UPDATING" for name in ("WarmThroughput", "SSEDescription") if name in described
    )
    plane.call("DeleteTable", TableName="music")


def test_protection_changes_once_in_fifteen_seconds() -> None:
    plane = ControlPlane(delay_seconds=10)
    plane.create()
    plane.clock.advance(10)
    plane.update(DeletionProtectionEnabled=True)
    plane.clock.advance(14)
    sentence = (
        r"^Deletion protection setting for table music modified within the previous 15000 milliseconds\. "
        r"Please try again after 2027-01-15T08:00:25\.000$"
    )
    for value in (True, False):
        with pytest.raises(ThrottlingException, match=sentence):
            plane.update(DeletionProtectionEnabled=value)
    plane.clock.advance(1)
    assert plane.update(DeletionProtectionEnabled=False)["DeletionProtectionEnabled"] is False


def test_protection_changes_at_once_without_a_state_delay() -> None:
    plane = ControlPlane()
    plane.create()
    for value in (True, False, True):
        assert plane.update(DeletionProtectionEnabled=value)["DeletionProtectionEnabled"] is value


def test_encryption_changes_four_times_and_then_once_in_six_hours() -> None:
    plane = ControlPlane()
    plane.create()
    for enabled in (True, False, True, False):
        plane.update(SSESpecification={"Enabled": enabled})
    for hours in (1, 4.99):
        plane.clock.advance(hours * 3_600)
        with pytest.raises(
            LimitExceededException,
            match=r"Last change at 2027-01-15T08:00:00\.000Z\. Next .* 2027-01-15T14:00:00\.000Z",
        ):
            plane.update(SSESpecification={"Enabled": True})
    plane.clock.advance(0.01 * 3_600)
    plane.update(SSESpecification={"Enabled": True})
    with pytest.raises(LimitExceededException, match=r"Number of updates today: 5\. "):
        plane.update(SSESpecification={"Enabled": False})
    plane.clock.advance(18 * 3_600)
    for enabled in (False, True, False, True):
        plane.update(SSESpecification={"Enabled": enabled})


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
    assert find_active_table(plane.scope, "xyz") is None
    for name in ("a b", "musique/", "", "x", "xy"):
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
