"""Limits on how often throughput may decrease, and billing modes and classes may change."""

import pytest

from hashrange.errors import LimitExceededException
from tests.unit.tables.control_plane import ControlPlane, global_index, units

HOUR_SECONDS = 3600
MIDNIGHT = 1_800_057_600 - 1_800_000_000
"""Seconds from the virtual clock's start to the next midnight UTC."""


def decrease(plane: ControlPlane, times: int) -> None:
    """Lower the table's read units by one, `times` times."""
    for _ in range(times):
        described = plane.describe()["ProvisionedThroughput"]
        plane.update(ProvisionedThroughput=units(described["ReadCapacityUnits"] - 1, described["WriteCapacityUnits"]))


def test_increases_and_decreases_leave_their_times() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=5, write=5)
    plane.clock.advance(1)
    plane.update(ProvisionedThroughput=units(6, 4))
    plane.clock.advance(1)
    plane.update(ProvisionedThroughput=units(7, 4))
    assert plane.describe()["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": 1_800_000_002.0,
        "LastDecreaseDateTime": 1_800_000_001.0,
        "NumberOfDecreasesToday": 1,
        "ReadCapacityUnits": 7,
        "WriteCapacityUnits": 4,
    }


def test_four_decreases_then_one_an_hour_after_the_last_one() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50)
    plane.clock.advance(1_894)
    decrease(plane, 4)
    with pytest.raises(LimitExceededException) as refused:
        decrease(plane, 1)
    assert refused.value.message == (
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. "
        "After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every "
        "3600 seconds. Number of decreases today: 4. Last decrease at Friday, January 15, 2027 at 8:31:34 AM "
        "Coordinated Universal Time. Next decrease can be made at Friday, January 15, 2027 at 9:31:34 AM "
        "Coordinated Universal Time"
    )
    plane.clock.advance(HOUR_SECONDS - 1)
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)
    plane.clock.advance(1)
    decrease(plane, 1)
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)
    assert plane.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 5


def test_hours_without_a_decrease_do_not_add_up() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50)
    decrease(plane, 4)
    plane.clock.advance(6 * HOUR_SECONDS)
    decrease(plane, 1)
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)


def test_midnight_allows_four_more() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50)
    plane.clock.advance(MIDNIGHT - 60)
    decrease(plane, 4)
    with pytest.raises(
        LimitExceededException, match="Next decrease can be made at Saturday, January 16, 2027 at 12:00:00 AM"
    ):
        decrease(plane, 1)
    plane.clock.advance(60)
    decrease(plane, 4)


def test_a_refused_decrease_counts_for_nothing() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50)
    decrease(plane, 4)
    before = plane.describe()
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)
    assert plane.describe() == before


def test_twenty_seven_decreases_a_day_and_four_on_the_next() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=100)
    plane.clock.advance(MIDNIGHT)
    decrease(plane, 4)
    for _ in range(23):
        plane.clock.advance(HOUR_SECONDS)
        decrease(plane, 1)
    assert plane.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 27
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)
    plane.clock.advance(HOUR_SECONDS)
    assert plane.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    decrease(plane, 4)


def test_an_index_counts_for_itself() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50, GlobalSecondaryIndexes=[global_index(ProvisionedThroughput=units(9, 9))])
    decrease(plane, 4)
    plane.update(
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-artist", "ProvisionedThroughput": units(8, 9)}}]
    )
    (index,) = plane.describe()["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"] == {
        "LastDecreaseDateTime": 1_800_000_000.0,
        "NumberOfDecreasesToday": 1,
        **units(8, 9),
    }


def test_a_refused_index_decrease_leaves_the_table_as_it_was() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50, GlobalSecondaryIndexes=[global_index(ProvisionedThroughput=units(9, 9))])
    decrease(plane, 4)
    with pytest.raises(LimitExceededException):
        plane.update(
            ProvisionedThroughput=units(1, 1),
            GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-artist", "ProvisionedThroughput": units(8, 9)}}],
        )
    (index,) = plane.describe()["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(9, 9)}


def test_four_switches_to_on_demand_a_day() -> None:
    plane = ControlPlane()
    plane.create_provisioned()
    for _ in range(4):
        plane.update(BillingMode="PAY_PER_REQUEST")
        plane.update(BillingMode="PROVISIONED", ProvisionedThroughput=units(5, 5))
        plane.clock.advance(60)
    with pytest.raises(LimitExceededException) as refused:
        plane.update(BillingMode="PAY_PER_REQUEST")
    assert refused.value.message == (
        "Subscriber limit exceeded: Update to PayPerRequest mode are limited to 4 times in 1 day(s). "
        "Last update at Fri Jan 15 08:03:00 UTC 2027. Next update can be made at Sat Jan 16 08:00:00 UTC 2027"
    )
    plane.clock.advance(24 * HOUR_SECONDS - 240)
    plane.update(BillingMode="PAY_PER_REQUEST")


def change_class(plane: ControlPlane) -> None:
    """Give the table the class that it does not have."""
    now = plane.describe().get("TableClassSummary", {}).get("TableClass", "STANDARD")
    plane.update(TableClass="STANDARD" if now != "STANDARD" else "STANDARD_INFREQUENT_ACCESS")


def test_two_changes_of_class_in_thirty_days() -> None:
    plane = ControlPlane()
    plane.create()
    change_class(plane)
    plane.clock.advance(10 * 24 * HOUR_SECONDS)
    change_class(plane)
    plane.clock.advance(20 * 24 * HOUR_SECONDS - 1)
    with pytest.raises(LimitExceededException):
        change_class(plane)
    plane.clock.advance(1)
    change_class(plane)
    with pytest.raises(LimitExceededException):
        change_class(plane)


def test_a_new_table_of_the_name_has_its_own_counts() -> None:
    plane = ControlPlane()
    for _ in range(2):
        plane.create_provisioned(read=50)
        decrease(plane, 4)
        change_class(plane)
        change_class(plane)
        plane.call("DeleteTable", TableName="music")


def test_a_switch_sets_what_the_other_mode_has() -> None:
    plane = ControlPlane()
    plane.create(
        OnDemandThroughput={"MaxReadRequestUnits": 10},
        GlobalSecondaryIndexes=[global_index(OnDemandThroughput={"MaxWriteRequestUnits": 20})],
    )
    plane.update(
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(5, 6),
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-artist", "ProvisionedThroughput": units(7, 8)}}],
    )
    described = plane.describe()
    (index,) = described["GlobalSecondaryIndexes"]
    assert described["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(5, 6)}
    assert index["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(7, 8)}
    assert "OnDemandThroughput" not in described
    assert "OnDemandThroughput" not in index
    plane.update(BillingMode="PAY_PER_REQUEST")
    described = plane.describe()
    assert described["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(0, 0)}
    assert described["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0,
        **units(0, 0),
    }
