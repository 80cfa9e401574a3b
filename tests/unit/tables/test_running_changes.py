"""What may be changed while a table is UPDATING, what is refused, and with which words. Source:
service behaviour, captures of October 2026.
"""

from typing import Any

import pytest

from hashrange.errors import ApiError, LimitExceededException, ResourceInUseException, ValidationException
from tests.unit.tables.control_plane import ControlPlane, units

DELAY_SECONDS = 60
IN_USE = "Attempt to change a resource which is still in use: "
UNITS: dict[str, Any] = {"ProvisionedThroughput": units(7, 7)}
TO_PROVISIONED: dict[str, Any] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)}
TO_ON_DEMAND: dict[str, Any] = {"BillingMode": "PAY_PER_REQUEST"}
MAXIMUM: dict[str, Any] = {"OnDemandThroughput": {"MaxReadRequestUnits": 5}}
WARM: dict[str, Any] = {"WarmThroughput": {"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 5_000}}
ENCRYPTION: dict[str, Any] = {"SSESpecification": {"Enabled": True, "SSEType": "KMS"}}
CLASS: dict[str, Any] = {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
STREAM: dict[str, Any] = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
INDEX: dict[str, Any] = {
    "IndexName": "by-genre",
    "KeySchema": [{"AttributeName": "genre", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
NEW_INDEX: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "genre", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [{"Create": INDEX}],
}
CLASS_IN_PROGRESS = "TableClassUpdateInProgress: STANDARD_INFREQUENT_ACCESS"
WITH_INDEX: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "genre")],
    "GlobalSecondaryIndexes": [INDEX],
}
RUNNING_CLASS = f"Table: music {CLASS_IN_PROGRESS}"
RUNNING_STREAM = "Table: music Stream: 2027-01-15T08:01:00.000 Operation: ENABLE"


def updating(change: dict[str, Any], *, is_provisioned: bool) -> ControlPlane:
    """A table that is UPDATING for a change."""
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    if is_provisioned:
        plane.create_provisioned()
    else:
        plane.create()
    plane.clock.advance(DELAY_SECONDS)
    plane.update(**change)
    assert plane.describe()["TableStatus"] == "UPDATING"
    return plane


def refusal(plane: ControlPlane, change: dict[str, Any]) -> str:
    before = plane.describe()
    with pytest.raises(ApiError) as refused:
        plane.update(**change)
    assert plane.describe() == before
    assert isinstance(refused.value, ResourceInUseException)
    assert refused.value.message is not None
    return refused.value.message.removeprefix(IN_USE)


def test_a_switch_back_to_on_demand_is_accepted_and_dropped() -> None:
    plane = updating(TO_PROVISIONED, is_provisioned=False)
    before = plane.describe()
    replied = plane.update(**TO_ON_DEMAND)
    assert (replied["TableStatus"], replied["BillingModeSummary"]["BillingMode"]) == ("UPDATING", "PAY_PER_REQUEST")
    assert replied["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(0, 0)}
    assert plane.describe() == before
    plane.clock.advance(DELAY_SECONDS)
    assert plane.describe()["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    plane.update(**TO_ON_DEMAND)
    plane.clock.advance(DELAY_SECONDS)
    assert plane.describe()["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("change", [UNITS, TO_PROVISIONED, TO_ON_DEMAND])
def test_a_switch_back_to_provisioned_is_refused(change: dict[str, Any]) -> None:
    plane = updating(TO_ON_DEMAND, is_provisioned=True)
    assert refusal(plane, change) == "Table IOPS are currently being updated. Table: music"


@pytest.mark.parametrize("running", [UNITS, TO_ON_DEMAND, TO_PROVISIONED, CLASS, STREAM])
@pytest.mark.parametrize("change", [WARM, ENCRYPTION, {"DeletionProtectionEnabled": True}])
def test_some_changes_run_beside_others(running: dict[str, Any], change: dict[str, Any]) -> None:
    plane = updating(running, is_provisioned=running is not TO_PROVISIONED)
    replied = plane.update(**change)
    assert replied["TableStatus"] == ("ACTIVE" if change is ENCRYPTION else "UPDATING")
    assert plane.describe()["TableStatus"] == "UPDATING"
    plane.clock.advance(DELAY_SECONDS)
    shown = plane.describe()
    assert shown["TableStatus"] == "ACTIVE"
    assert shown["DeletionProtectionEnabled"] is ("DeletionProtectionEnabled" in change)
    assert ("SSEDescription" in shown) is (change is ENCRYPTION)
    assert (shown["WarmThroughput"]["ReadUnitsPerSecond"] == 13_000) is (change is WARM)


@pytest.mark.parametrize(
    ("running", "change", "words"),
    [
        (TO_PROVISIONED, UNITS, "Table IOPS are currently being updated. Table: music"),
        (TO_PROVISIONED, MAXIMUM, "OnDemandThroughput cannot be updated while BillingMode update is in progress"),
        (TO_PROVISIONED, STREAM, "Can't enable or disable stream while table IOPS are being updated. Table: music"),
        (TO_PROVISIONED, CLASS, "Table is being updated: music"),
        (CLASS, CLASS, f"Can't update table class when a table class update is in progress. {RUNNING_CLASS}"),
        (CLASS, STREAM, f"Can't change stream status when a table class update is in progress. {RUNNING_CLASS}"),
        (
            CLASS,
            MAXIMUM,
            f"OnDemandThroughput cannot be updated while TableClass update is in progress. {CLASS_IN_PROGRESS}",
        ),
        (CLASS, TO_PROVISIONED, "Table IOPS are currently being updated. Table: music"),
        (STREAM, TO_PROVISIONED, f"Can't change table IOPS when stream status is being updated. {RUNNING_STREAM}"),
        (STREAM, CLASS, f"Can't update table class when stream status is being updated. {RUNNING_STREAM}"),
        (STREAM, STREAM, f"A stream status change is currently in progress. {RUNNING_STREAM}"),
        (
            NEW_INDEX,
            TO_PROVISIONED,
            "Can't change table IOPS when an index is being created. Table: music Indexes: [by-genre]",
        ),
        (
            NEW_INDEX,
            MAXIMUM,
            "OnDemandThroughput cannot be updated while index creation is in progress for indexes: [by-genre]",
        ),
        (NEW_INDEX, WARM, "Table is being updated: music"),
        (
            NEW_INDEX,
            STREAM,
            "Can't change stream status when an index is being created. Table: music Indexes: [by-genre]",
        ),
        (TO_PROVISIONED, NEW_INDEX, "Can't create or delete indexes while table IOPS are being updated. Table: music"),
        (
            CLASS,
            NEW_INDEX,
            f"Can't create or delete an index when a table class update is in progress. {RUNNING_CLASS}",
        ),
        (STREAM, NEW_INDEX, f"Can't create or delete an index when stream status is being updated. {RUNNING_STREAM}"),
    ],
)
def test_the_error_names_the_change_that_runs(running: dict[str, Any], change: dict[str, Any], words: str) -> None:
    assert refusal(updating(running, is_provisioned=False), change) == words


def test_an_index_that_is_deleted_is_named() -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create(**WITH_INDEX)
    plane.clock.advance(DELAY_SECONDS)
    plane.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-genre"}}])
    words = "Can't change table IOPS when an index is being deleted. Table: music Indexes: [by-genre]"
    assert refusal(plane, TO_PROVISIONED) == words
    update = {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-genre", **UNITS}}]}
    assert refusal(plane, TO_PROVISIONED | update) == "Index is being deleted. Table: music Index: by-genre"
    words = "OnDemandThroughput cannot be updated while index deletion is in progress for indexes: [by-genre]"
    assert refusal(plane, MAXIMUM) == words
    before = plane.describe()
    assert plane.update(**TO_ON_DEMAND)["TableStatus"] == "UPDATING"
    assert plane.describe() == before
    with pytest.raises(
        ResourceInUseException, match="Cannot delete table while indexes are being created, updated, or"
    ):
        plane.call("DeleteTable", TableName="music")


def test_a_table_is_not_deleted_while_an_index_is_updating() -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create(**WITH_INDEX)
    plane.clock.advance(DELAY_SECONDS)
    plane.update(GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-genre", **MAXIMUM}}])
    with pytest.raises(
        ResourceInUseException, match="Cannot delete table while indexes are being created, updated, or"
    ):
        plane.call("DeleteTable", TableName="music")
    plane.clock.advance(DELAY_SECONDS)
    plane.call("DeleteTable", TableName="music")


@pytest.mark.parametrize("running", [UNITS, TO_ON_DEMAND, STREAM])
def test_a_maximum_is_refused_as_long_as_the_table_is_not_on_demand(running: dict[str, Any]) -> None:
    plane = updating(running, is_provisioned=True)
    with pytest.raises(ValidationException, match="cannot be specified when the table BillingMode is PROVISIONED"):
        plane.update(**MAXIMUM)


@pytest.mark.parametrize(
    ("running", "words"),
    [
        (STREAM, "Cannot delete table while stream is being enabled/disabled."),
        (UNITS, "Table: music is in the process of being updated."),
    ],
)
def test_a_table_is_not_deleted_while_it_is_updating(running: dict[str, Any], words: str) -> None:
    plane = updating(running, is_provisioned=True)
    with pytest.raises(ResourceInUseException) as refused:
        plane.call("DeleteTable", TableName="music")
    assert refused.value.message == IN_USE + words


@pytest.mark.parametrize("change", [TO_ON_DEMAND, {"TableClass": "STANDARD"}])
def test_what_the_table_has_changes_nothing_though_the_reply_says_updating(change: dict[str, Any]) -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create()
    plane.clock.advance(DELAY_SECONDS)
    before = plane.describe()
    assert plane.update(**change)["TableStatus"] == "UPDATING"
    assert plane.describe() == before
    plane.update(**TO_PROVISIONED)


def test_the_reply_of_a_switch_to_provisioned_shows_the_warm_throughput_as_it_was() -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create()
    plane.clock.advance(DELAY_SECONDS)
    warm = plane.describe()["WarmThroughput"]
    assert plane.update(**TO_PROVISIONED)["WarmThroughput"] == warm
    assert plane.describe()["WarmThroughput"] == warm


def test_warm_throughput_is_the_former_one_until_it_is_active_and_the_last_request_wins() -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create(**WITH_INDEX)
    plane.clock.advance(DELAY_SECONDS)
    former = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "UPDATING"}

    def request(reads: int) -> dict[str, Any]:
        warm = {"WarmThroughput": {"ReadUnitsPerSecond": reads}}
        return warm | {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-genre", **warm}}]}

    def shown(described: dict[str, Any]) -> list[dict[str, Any]]:
        return [described["WarmThroughput"], described["GlobalSecondaryIndexes"][0]["WarmThroughput"]]

    for reads in (15_000, 13_000):
        assert shown(plane.update(**request(reads))) == [former, former]
        assert shown(plane.describe()) == [former, former]
        plane.clock.advance(1)
    with pytest.raises(ValidationException, match="lower than current WarmThroughput"):
        plane.update(**request(11_999))
    plane.clock.advance(DELAY_SECONDS)
    assert shown(plane.describe()) == [former | {"ReadUnitsPerSecond": 13_000, "Status": "ACTIVE"}] * 2
    with pytest.raises(ValidationException, match="lower than current WarmThroughput"):
        plane.update(**request(12_999))


def test_beside_an_index_that_is_made_another_one_may_be_updated() -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create(**WITH_INDEX)
    plane.clock.advance(DELAY_SECONDS)
    plane.update(
        AttributeDefinitions=[{"AttributeName": "mood", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-mood",
                    "KeySchema": [{"AttributeName": "mood", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )

    def of(index: str, kind: str = "Update") -> dict[str, Any]:
        change = {"IndexName": index, **(MAXIMUM if kind == "Update" else {})}
        return {"GlobalSecondaryIndexUpdates": [{kind: change}]}

    plane.update(**of("by-genre"))
    assert refusal(plane, of("by-genre")) == "Index is being updated. Table: music Index: by-genre"
    words = "Index is being created but is not backfilling yet.  Table: music Index: by-mood"
    assert refusal(plane, of("by-mood")) == words
    words = (
        "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is"
    )
    assert refusal(plane, of("by-mood", "Delete")) == f"{words} active. Table: music Index: by-mood"
    with pytest.raises(LimitExceededException, match="Only 1 online index can be created or deleted simultaneously"):
        plane.update(**of("by-genre", "Delete"))


def test_an_index_that_is_deleted_is_not_deleted_or_made_again() -> None:
    plane = ControlPlane(delay_seconds=DELAY_SECONDS)
    plane.create(**WITH_INDEX)
    plane.clock.advance(DELAY_SECONDS)
    delete: dict[str, Any] = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-genre"}}]}
    plane.update(**delete)
    for change in (delete, NEW_INDEX):
        assert refusal(plane, change) == "Index is being deleted. Table: music Index: by-genre"
