"""UpdateTable: which changes it makes, which it refuses, and which of two faults it reports."""

import re
from typing import Any

import pytest

from tests.conformance.tables import (
    INVALID,
    create_request,
    definitions,
    fault,
    fresh_name,
    index,
    keys,
    units,
    validation,
)
from tests.support.raw_client import RawClient

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
CREATE_INDEX = {"Create": index("added", ProvisionedThroughput=units(1, 1))}


@pytest.fixture
def on_demand(client: Any) -> str:
    """An on-demand table with the global index `index`."""
    name = fresh_name()
    client.create_table(**create_request(name, GlobalSecondaryIndexes=[index()]))
    return name


@pytest.fixture
def provisioned(client: Any) -> str:
    """A provisioned table of 5 and 5 units, with the global index `index`, also of 5 and 5."""
    name = fresh_name()
    client.create_table(
        **create_request(
            name,
            BillingMode="PROVISIONED",
            ProvisionedThroughput=units(5, 5),
            GlobalSecondaryIndexes=[index(ProvisionedThroughput=units(5, 5))],
        )
    )
    return name


def described(client: Any, name: str) -> Any:
    """The table as DescribeTable returns it."""
    return client.describe_table(TableName=name)["Table"]


def test_the_reply_says_updating_and_the_next_call_active(client: Any, provisioned: str) -> None:
    reply = client.update_table(TableName=provisioned, ProvisionedThroughput=units(6, 4))["TableDescription"]
    assert reply["TableStatus"] == "UPDATING"
    table = described(client, provisioned)
    assert table["TableStatus"] == "ACTIVE"
    throughput = table["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (6, 4)
    assert throughput["NumberOfDecreasesToday"] == 1
    assert throughput["LastIncreaseDateTime"] == throughput["LastDecreaseDateTime"]


def test_the_reply_shows_the_units_as_they_were(client: Any, provisioned: str) -> None:
    update = {"IndexName": "index", "ProvisionedThroughput": units(3, 9)}
    reply = client.update_table(
        TableName=provisioned,
        ProvisionedThroughput=units(4, 6),
        GlobalSecondaryIndexUpdates=[{"Update": update}],
    )["TableDescription"]
    for shown in (reply, reply["GlobalSecondaryIndexes"][0]):
        throughput = shown["ProvisionedThroughput"]
        assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (5, 5)
        assert throughput["NumberOfDecreasesToday"] == 0
        assert throughput["LastIncreaseDateTime"] == throughput["LastDecreaseDateTime"]
        assert warm(shown) == (5, 5)
    table = described(client, provisioned)
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1
    assert warm(table["GlobalSecondaryIndexes"][0]) == (5, 9)


def test_the_reply_of_a_switch_shows_the_other_mode(client: Any, provisioned: str) -> None:
    reply = client.update_table(TableName=provisioned, BillingMode="PAY_PER_REQUEST")["TableDescription"]
    assert reply["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert reply["ProvisionedThroughput"]["ReadCapacityUnits"] == 0


def test_a_maximum_ends_with_minus_one_which_only_the_reply_shows(client: Any, on_demand: str) -> None:
    def update(**maxima: int) -> tuple[Any, Any]:
        index_update = {"Update": {"IndexName": "index", "OnDemandThroughput": maxima}}
        reply = client.update_table(TableName=on_demand, OnDemandThroughput=maxima)["TableDescription"]
        second = client.update_table(TableName=on_demand, GlobalSecondaryIndexUpdates=[index_update])
        table = described(client, on_demand)
        of_index = second["TableDescription"]["GlobalSecondaryIndexes"][0].get("OnDemandThroughput")
        assert of_index == reply.get("OnDemandThroughput")
        assert table["GlobalSecondaryIndexes"][0].get("OnDemandThroughput") == table.get("OnDemandThroughput")
        return reply.get("OnDemandThroughput"), table.get("OnDemandThroughput")

    both = {"MaxReadRequestUnits": 1000, "MaxWriteRequestUnits": 500}
    assert update(**both) == (both, both)
    assert update(MaxReadRequestUnits=-1) == (both | {"MaxReadRequestUnits": -1}, {"MaxWriteRequestUnits": 500})
    assert update(MaxWriteRequestUnits=-1) == ({"MaxWriteRequestUnits": -1}, None)
    assert update(MaxReadRequestUnits=300) == ({"MaxReadRequestUnits": 300}, {"MaxReadRequestUnits": 300})
    none = {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}
    assert update(**none) == (none, None)


def test_the_class_changes_twice_in_thirty_days(client: Any, raw: RawClient, on_demand: str) -> None:
    client.update_table(TableName=on_demand, TableClass="STANDARD")
    client.update_table(TableName=on_demand, TableClass="STANDARD_INFREQUENT_ACCESS")
    client.update_table(TableName=on_demand, TableClass="STANDARD_INFREQUENT_ACCESS")
    client.update_table(TableName=on_demand, TableClass="STANDARD")
    for table_class in ("STANDARD", "STANDARD_INFREQUENT_ACCESS"):
        assert fault(raw, "UpdateTable", {"TableName": on_demand, "TableClass": table_class}) == (
            "LimitExceededException",
            "Subscriber limit exceeded: Updates to TableClass are limited to 2 times in 30 day(s).",
        )
    assert described(client, on_demand)["TableClassSummary"]["TableClass"] == "STANDARD"


def test_an_index_gets_other_throughput(client: Any, provisioned: str) -> None:
    update = {"IndexName": "index", "ProvisionedThroughput": units(9, 9)}
    client.update_table(TableName=provisioned, GlobalSecondaryIndexUpdates=[{"Update": update}])
    table = described(client, provisioned)
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 9
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


def test_billing_mode_goes_there_and_back(client: Any, provisioned: str) -> None:
    client.update_table(TableName=provisioned, BillingMode="PAY_PER_REQUEST")
    table = described(client, provisioned)
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    client.update_table(
        TableName=provisioned,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(2, 3),
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "index", "ProvisionedThroughput": units(4, 5)}}],
    )
    table = described(client, provisioned)
    assert table["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 5


def test_settings_change_one_after_the_other(client: Any, on_demand: str) -> None:
    for change in (
        {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        {"DeletionProtectionEnabled": True},
        {"SSESpecification": {"Enabled": True}},
        {"StreamSpecification": STREAM},
        {"OnDemandThroughput": {"MaxReadRequestUnits": 100}},
        {"WarmThroughput": {"ReadUnitsPerSecond": 13000}},
    ):
        client.update_table(TableName=on_demand, **change)
    table = described(client, on_demand)
    assert table["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert table["DeletionProtectionEnabled"] is True
    assert table["SSEDescription"]["Status"] == "ENABLED"
    assert table["StreamSpecification"] == STREAM
    assert table["OnDemandThroughput"]["MaxReadRequestUnits"] == 100
    assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 13000
    assert table["WarmThroughput"]["WriteUnitsPerSecond"] == 4000


def test_a_stream_goes_on_once_and_off_once(client: Any, raw: RawClient, on_demand: str) -> None:
    off = {"TableName": on_demand, "StreamSpecification": {"StreamEnabled": False}}
    on = {"TableName": on_demand, "StreamSpecification": STREAM}
    assert validation(raw, "UpdateTable", off) == f"Table has no stream to disable: TableName: {on_demand}"
    arn = client.update_table(**on)["TableDescription"]["LatestStreamArn"]
    other = on | {"StreamSpecification": STREAM | {"StreamViewType": "OLD_IMAGE"}}
    assert validation(raw, "UpdateTable", other) == f"Table already has an enabled stream: TableName: {on_demand}"
    client.update_table(**off)
    table = described(client, on_demand)
    assert "StreamSpecification" not in table
    assert table["LatestStreamArn"] == arn


def encrypt(name: str, **members: Any) -> dict[str, Any]:
    """An UpdateTable that changes the encryption."""
    return {"TableName": name, "SSESpecification": members}


def test_encryption_changes_unless_the_same_key_is_named_by_its_arn(raw: RawClient, on_demand: str) -> None:
    off = encrypt(on_demand, Enabled=False)
    assert validation(raw, "UpdateTable", off) == INVALID + "Table is already encrypted by default"
    reply = raw("UpdateTable", encrypt(on_demand, Enabled=True)).json()["TableDescription"]
    assert (reply["TableStatus"], reply["SSEDescription"]["Status"]) == ("ACTIVE", "UPDATING")
    assert raw("UpdateTable", encrypt(on_demand, Enabled=True)).status == 200
    same = encrypt(on_demand, Enabled=True, SSEType="KMS", KMSMasterKeyId=reply["SSEDescription"]["KMSMasterKeyArn"])
    assert validation(raw, "UpdateTable", same) == (
        INVALID
        + (
            "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you"
            " want to change Master Key"
        )
    )
    keyless = encrypt(on_demand, Enabled=True, KMSMasterKeyId="other")
    assert validation(raw, "UpdateTable", keyless) == (
        INVALID + "SSEType KMS is required if KMSMasterKeyId is specified"
    )
    assert raw("UpdateTable", encrypt(on_demand, Enabled=True, SSEType="KMS", KMSMasterKeyId="other")).status == 200
    reply = raw("UpdateTable", off).json()["TableDescription"]
    assert reply["SSEDescription"]["KMSMasterKeyArn"].endswith("key/other")


def test_a_fifth_change_of_encryption_waits(client: Any, raw: RawClient, on_demand: str) -> None:
    for enabled in (True, False, True, False):
        client.update_table(**encrypt(on_demand, Enabled=enabled))
    for refused in (encrypt(on_demand, Enabled=True), encrypt(on_demand, Enabled=False)):
        code, message = fault(raw, "UpdateTable", refused)
        assert code == "LimitExceededException"
        time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
        assert re.fullmatch(
            rf"Subscriber limit exceeded: Encryption mode changes are limited in the 24h window ending at {time}\. "
            r"After the "
            r"first 4 change, each subsequent change in the same window can be performed at most "
            r"once every 21600 seconds\. "
            rf"Number of updates today: 4\. Last change at {time}\. Next changes can be made at {time}\.",
            str(message),
        )
    assert "SSEDescription" not in described(client, on_demand)


NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)
PROVISIONED_CASES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": (
        {},
        NOTHING,
    ),
    "definitions alone": (
        {"AttributeDefinitions": definitions("id")},
        NOTHING,
    ),
    "same throughput": (
        {"ProvisionedThroughput": units(5, 5)},
        (
            "The provisioned throughput for the table will not change. The requested value equals the current value. "
            "Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
            "Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        ),
    ),
    "out of bounds": (
        {"ProvisionedThroughput": units(1, 10**12 + 1)},
        "Given value 1000000000001 for WriteCapacityUnits is out of bounds",
    ),
    "throughput and on demand": (
        {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": units(1, 1)},
        INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST",
    ),
    "on-demand maximum": (
        {"OnDemandThroughput": {"MaxWriteRequestUnits": 5}},
        INVALID
        + "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
    ),
    "on-demand maximum out of range": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
        INVALID
        + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
    ),
    "on-demand maximum of an index out of range": (
        {
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "index", "OnDemandThroughput": {"MaxWriteRequestUnits": 10**13}}}
            ]
        },
        INVALID
        + "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
    ),
    "empty index update": (
        {"GlobalSecondaryIndexUpdates": [{}]},
        INVALID
        + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
        + "GlobalSecondaryIndexUpdate.Delete must not be null",
    ),
    "two actions in one index update": (
        {"GlobalSecondaryIndexUpdates": [CREATE_INDEX | {"Delete": {"IndexName": "index"}}]},
        INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
    ),
    "stream without a view": (
        {"StreamSpecification": {"StreamEnabled": True}},
        INVALID + "If stream is being enabled then UpdateViewType is required",
    ),
    "no stream, with a view": (
        {"StreamSpecification": STREAM | {"StreamEnabled": False}},
        INVALID + "If stream is being disabled, then UpdateViewType must not be specified",
    ),
    "index twice": (
        {
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "index", "ProvisionedThroughput": units(1, 1)}},
                {"Delete": {"IndexName": "index"}},
            ]
        },
        INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: index",
    ),
    "index exists": (
        {"GlobalSecondaryIndexUpdates": [{"Create": index(ProvisionedThroughput=units(1, 1))}]},
        "Attempting to create an index which already exists",
    ),
    "index key undefined": (
        {
            "AttributeDefinitions": [],
            "GlobalSecondaryIndexUpdates": [{"Create": index("added", "user", ProvisionedThroughput=units(1, 1))}],
        },
        INVALID
        + "Some index key attributes are not defined in AttributeDefinitions. Keys: [user], AttributeDefinitions: []",
    ),
    "no definitions": (
        {"GlobalSecondaryIndexUpdates": [CREATE_INDEX]},
        INVALID + "AttributeDefinitions is not specified for index: added",
    ),
    "an empty list of index updates": (
        {"GlobalSecondaryIndexUpdates": [], "DeletionProtectionEnabled": True},
        INVALID + "List of GlobalSecondaryIndexUpdates is empty",
    ),
    "only the table defines the key": (
        {"AttributeDefinitions": [], "GlobalSecondaryIndexUpdates": [CREATE_INDEX]},
        INVALID
        + "Some index key attributes are not defined in AttributeDefinitions. Keys: [id], AttributeDefinitions: []",
    ),
    "one of two keys is defined by the table only": (
        {
            "AttributeDefinitions": definitions("user"),
            "GlobalSecondaryIndexUpdates": [
                {"Create": index("added", "user", "id", ProvisionedThroughput=units(1, 1))}
            ],
        },
        INVALID
        + "Some index key attributes are not defined in AttributeDefinitions. "
        + "Keys: [user, id], AttributeDefinitions: [user]",
    ),
    "one attribute of two types": (
        {
            "AttributeDefinitions": [*definitions("user"), {"AttributeName": "user", "AttributeType": "N"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index("added", "user", ProvisionedThroughput=units(1, 1))}],
        },
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    "no maximum of anything": (
        {"OnDemandThroughput": {}, "WarmThroughput": {}},
        NOTHING,
    ),
    "no maximum of an index": (
        {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "index", "OnDemandThroughput": {}}}]},
        INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: index",
    ),
    "no warm throughput of any index": (
        {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "other", "WarmThroughput": {}}}]},
        INVALID
        + (
            "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for index:"
            " other"
        ),
    ),
    "replicas": (
        {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
        "Hashrange does not support ReplicaUpdates yet.",
    ),
    "consistency": ({"MultiRegionConsistency": "STRONG"}, "Hashrange does not support MultiRegionConsistency yet."),
    "witnesses": (
        {"GlobalTableWitnessUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
        "Hashrange does not support GlobalTableWitnessUpdates yet.",
    ),
    "replication mode": (
        {"GlobalTableSettingsReplicationMode": "ENABLED"},
        "Hashrange does not support GlobalTableSettingsReplicationMode yet.",
    ),
    "disassociation": (
        {"DisassociationProtectionEnabled": True},
        "Hashrange does not support DisassociationProtectionEnabled yet.",
    ),
}


@pytest.mark.parametrize("case", PROVISIONED_CASES)
def test_refusals_on_a_provisioned_table(raw: RawClient, client: Any, provisioned: str, case: str) -> None:
    members, message = PROVISIONED_CASES[case]
    before = described(client, provisioned)
    assert validation(raw, "UpdateTable", {"TableName": provisioned} | members) == message
    assert described(client, provisioned) == before


@pytest.mark.parametrize(
    "members",
    [
        {"DeletionProtectionEnabled": False},
        {"DisassociationProtectionEnabled": False},
        {"GlobalTableSettingsReplicationMode": "DISABLED"},
    ],
)
def test_what_is_off_may_be_turned_off(client: Any, raw: RawClient, on_demand: str, members: dict[str, Any]) -> None:
    before = described(client, on_demand)
    assert raw("UpdateTable", {"TableName": on_demand} | members).status == 200
    assert described(client, on_demand) == before
    missing = fault(raw, "UpdateTable", {"TableName": "nothing.here"} | members)
    assert missing == ("ResourceNotFoundException", "Requested resource not found: Table: nothing.here not found")


ON_DEMAND_CASES: dict[str, tuple[dict[str, Any], str]] = {
    "throughput": (
        {"ProvisionedThroughput": units(1, 1)},
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    ),
    "index throughput": (
        {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "index", "ProvisionedThroughput": units(1, 1)}}]},
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: index "
        + "when BillingMode is PAY_PER_REQUEST",
    ),
    "index without change": (
        {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "index"}}]},
        INVALID
        + "The only Updates for index: index when TableThroughputMode is PAY_PER_REQUEST can be to "
        + "OnDemandThroughput, WarmThroughput",
    ),
    "switch without throughput": (
        {"BillingMode": "PROVISIONED"},
        INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
    ),
    "switch without index throughput": (
        {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)},
        INVALID + "ProvisionedThroughput must be specified for index: index",
    ),
    "maximum out of range": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": -2}},
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
    ),
    "maximum of nothing": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
    ),
    "maximum of an index out of range": (
        {
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "index", "OnDemandThroughput": {"MaxWriteRequestUnits": 10**13}}}
            ]
        },
        INVALID + "Requested MaxWriteRequestUnits for OnDemandThroughput for index : index is outside of valid range",
    ),
}


@pytest.mark.parametrize("case", ON_DEMAND_CASES)
def test_refusals_on_a_table_on_demand(raw: RawClient, on_demand: str, case: str) -> None:
    members, message = ON_DEMAND_CASES[case]
    assert validation(raw, "UpdateTable", {"TableName": on_demand} | members) == message


def test_warm_throughput_only_rises(raw: RawClient, on_demand: str) -> None:
    request = {"TableName": on_demand, "WarmThroughput": {"WriteUnitsPerSecond": 3999}}
    assert validation(raw, "UpdateTable", request) == (
        INVALID
        + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, "
        + "decreasing WarmThroughput is not supported"
    )
    for value in (0, -1):
        update = {"Update": {"IndexName": "index", "WarmThroughput": {"ReadUnitsPerSecond": value}}}
        assert validation(raw, "UpdateTable", {"TableName": on_demand, "GlobalSecondaryIndexUpdates": [update]}) == (
            INVALID
            + "Requested ReadUnitsPerSecond for WarmThroughput for index index is lower than current WarmThroughput, "
            + "decreasing WarmThroughput is not supported"
        )
    equal = {"TableName": on_demand, "WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000}}
    assert raw("UpdateTable", equal).status == 200


def test_two_online_index_changes_are_one_too_many(raw: RawClient, on_demand: str) -> None:
    request = {
        "TableName": on_demand,
        "AttributeDefinitions": definitions("id"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("added")}, {"Delete": {"IndexName": "index"}}],
    }
    assert fault(raw, "UpdateTable", request) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
    )


@pytest.mark.parametrize("action", ["Update", "Delete"])
def test_a_missing_index_is_not_found(raw: RawClient, on_demand: str, action: str) -> None:
    request = {"TableName": on_demand, "GlobalSecondaryIndexUpdates": [{action: {"IndexName": "other"}}]}
    assert fault(raw, "UpdateTable", request) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Index other for table {on_demand}",
    )


@pytest.mark.parametrize("action", ["Update", "Delete"])
def test_a_local_index_stays_as_it_is(client: Any, raw: RawClient, action: str) -> None:
    name = fresh_name()
    local = {
        "IndexName": "local",
        "KeySchema": keys("id", "user"),
        "Projection": {"ProjectionType": "ALL"},
    }
    client.create_table(
        **create_request(
            name,
            KeySchema=keys("id", "at"),
            AttributeDefinitions=definitions("id", "at", "user"),
            LocalSecondaryIndexes=[local],
        )
    )
    request = {"TableName": name, "GlobalSecondaryIndexUpdates": [{action: {"IndexName": "local"}}]}
    assert validation(raw, "UpdateTable", request) == (
        f"Cannot {action.lower()} an index that is not a GlobalSecondaryIndex: local"
    )


def test_types_of_attributes_that_are_there_are_ignored(client: Any, on_demand: str) -> None:
    before = described(client, on_demand)["AttributeDefinitions"]
    definition = {"AttributeName": "id", "AttributeType": "N"}
    client.update_table(TableName=on_demand, AttributeDefinitions=[definition], DeletionProtectionEnabled=True)
    assert described(client, on_demand)["AttributeDefinitions"] == before


def test_a_missing_table_comes_after_the_request_and_before_the_index_rules(raw: RawClient) -> None:
    missing = {"TableName": "nothing.here"}
    not_found = ("ResourceNotFoundException", "Requested resource not found: Table: nothing.here not found")
    unknown_index = {"Update": {"IndexName": "other", "ProvisionedThroughput": units(1, 1)}}
    assert fault(raw, "UpdateTable", missing | {"GlobalSecondaryIndexUpdates": [unknown_index]}) == not_found
    assert fault(raw, "UpdateTable", missing | {"ReplicaUpdates": [{}]}) == not_found
    assert fault(raw, "UpdateTable", missing | {"GlobalSecondaryIndexUpdates": [{}]})[0] == "ValidationException"
    assert fault(raw, "UpdateTable", missing)[0] == "ValidationException"


def test_throughput_is_reported_before_index_updates(raw: RawClient, on_demand: str) -> None:
    request = {
        "TableName": on_demand,
        "BillingMode": "PAY_PER_REQUEST",
        "ProvisionedThroughput": units(1, 1),
        "GlobalSecondaryIndexUpdates": [{}],
    }
    assert "ProvisionedThroughput cannot be specified" in str(validation(raw, "UpdateTable", request))


def test_index_names_have_few_characters(raw: RawClient, on_demand: str) -> None:
    request = {"TableName": on_demand, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "a b c"}}]}
    assert validation(raw, "UpdateTable", request) == (
        "1 validation error detected: Value 'a b c' at 'globalSecondaryIndexUpdates.1.member.delete.indexName' "
        "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )


def warm(table: Any) -> tuple[int, int]:
    return table["WarmThroughput"]["ReadUnitsPerSecond"], table["WarmThroughput"]["WriteUnitsPerSecond"]


def test_warm_throughput_never_falls(client: Any, provisioned: str) -> None:
    def warm_of_both() -> list[tuple[int, int]]:
        table = described(client, provisioned)
        return [warm(table), warm(table["GlobalSecondaryIndexes"][0])]

    def index_update(**members: Any) -> list[dict[str, Any]]:
        return [{"Update": {"IndexName": "index"} | members}]

    client.update_table(
        TableName=provisioned,
        ProvisionedThroughput=units(4, 6),
        GlobalSecondaryIndexUpdates=index_update(ProvisionedThroughput=units(7, 3)),
    )
    assert warm_of_both() == [(5, 6), (7, 5)]
    client.update_table(TableName=provisioned, BillingMode="PAY_PER_REQUEST")
    assert warm_of_both() == [(12000, 4000), (12000, 4000)]
    client.update_table(
        TableName=provisioned,
        WarmThroughput={"ReadUnitsPerSecond": 15000},
        GlobalSecondaryIndexUpdates=index_update(WarmThroughput={"WriteUnitsPerSecond": 5000}),
    )
    client.update_table(
        TableName=provisioned,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(5, 5),
        GlobalSecondaryIndexUpdates=index_update(ProvisionedThroughput=units(5, 5)),
    )
    assert warm_of_both() == [(15000, 4000), (12000, 5000)]


def test_an_index_on_its_way_out_needs_no_throughput(client: Any, on_demand: str) -> None:
    client.update_table(
        TableName=on_demand,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(5, 5),
        GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "index"}}],
    )
    assert described(client, on_demand)["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
