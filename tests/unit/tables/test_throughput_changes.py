"""Limits on how often throughput may decrease and billing modes may change."""

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


def test_four_decreases_then_one_each_hour() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50)
    decrease(plane, 4)
    with pytest.raises(LimitExceededException) as refused:
        decrease(plane, 1)
    assert refused.value.message == (
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the first "
        "4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. "
        "Number of decreases today: 4. Last decrease at Friday, January 15, 2027 8:00:00 AM UTC. "
        "Next decrease can be made at Friday, January 15, 2027 9:00:00 AM UTC"
    )
    plane.clock.advance(HOUR_SECONDS)
    decrease(plane, 1)
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)
    assert plane.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 5


def test_no_more_than_four_are_held() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=50)
    decrease(plane, 4)
    plane.clock.advance(6 * HOUR_SECONDS)
    decrease(plane, 4)
    with pytest.raises(LimitExceededException):
        decrease(plane, 1)


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
    with pytest.raises(LimitExceededException):
        plane.update(BillingMode="PAY_PER_REQUEST")
    plane.clock.advance(24 * HOUR_SECONDS)
    plane.update(BillingMode="PAY_PER_REQUEST")


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
