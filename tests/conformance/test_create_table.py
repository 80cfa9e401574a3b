"""CreateTable: what it stores, what it refuses, and which of two faults it reports."""

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

PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)}
BOTH = {"AttributeDefinitions": definitions("id", "at"), "KeySchema": keys("id", "at")}


def test_a_table_becomes_active_and_the_waiter_sees_it(client: Any) -> None:
    name = fresh_name()
    created = client.create_table(**create_request(name, **BOTH))["TableDescription"]
    assert created["TableStatus"] == "CREATING"
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 0, "MaxAttempts": 1})
    described = client.describe_table(TableName=name)["Table"]
    assert described["TableStatus"] == "ACTIVE"
    assert described["KeySchema"] == keys("id", "at")
    assert described["TableId"] == created["TableId"]
    assert described["CreationDateTime"] == created["CreationDateTime"]


def test_every_setting_is_described(client: Any) -> None:
    name = fresh_name()
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    client.create_table(
        **create_request(
            name,
            **BOTH,
            TableClass="STANDARD_INFREQUENT_ACCESS",
            DeletionProtectionEnabled=True,
            StreamSpecification=stream,
            SSESpecification={"Enabled": True},
            OnDemandThroughput={"MaxReadRequestUnits": 7},
            WarmThroughput={"ReadUnitsPerSecond": 15000, "WriteUnitsPerSecond": 4000},
            LocalSecondaryIndexes=[index("local", "id", "at")],
            GlobalSecondaryIndexes=[index("global", "at")],
            Tags=[{"Key": "team", "Value": "blue"}],
        )
    )
    table = client.describe_table(TableName=name)["Table"]
    assert table["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert table["DeletionProtectionEnabled"] is True
    assert table["StreamSpecification"] == stream
    assert table["LatestStreamArn"] == f"{table['TableArn']}/stream/{table['LatestStreamLabel']}"
    assert table["SSEDescription"]["SSEType"] == "KMS"
    assert table["SSEDescription"]["KMSMasterKeyArn"].startswith("arn:aws:kms:us-east-1:")
    assert table["OnDemandThroughput"] == {"MaxReadRequestUnits": 7}
    assert table["WarmThroughput"] == {"ReadUnitsPerSecond": 15000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}
    assert [one["IndexName"] for one in table["LocalSecondaryIndexes"]] == ["local"]
    assert [one["IndexName"] for one in table["GlobalSecondaryIndexes"]] == ["global"]
    tags = client.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
    assert tags == [{"Key": "team", "Value": "blue"}]


def test_requested_warm_throughput_is_updating_in_the_reply_only(raw: RawClient) -> None:
    warm = {"ReadUnitsPerSecond": 15000, "WriteUnitsPerSecond": 4000}
    request = create_request(
        fresh_name(), **BOTH, WarmThroughput=warm,
        GlobalSecondaryIndexes=[index("global", "at") | {"WarmThroughput": warm}, index("plain", "at", "id")],
    )  # fmt: skip
    made = raw("CreateTable", request).json()["TableDescription"]
    shown = raw("DescribeTable", {"TableName": request["TableName"]}).json()["Table"]
    for described, status in ((made, "UPDATING"), (shown, "ACTIVE")):
        indexes = {one["IndexName"]: one for one in described["GlobalSecondaryIndexes"]}
        assert described["WarmThroughput"] == warm | {"Status": status}
        assert indexes["global"]["WarmThroughput"] == warm | {"Status": status}
    assert {one["IndexName"]: one["WarmThroughput"]["Status"] for one in shown["GlobalSecondaryIndexes"]} == {
        "global": "ACTIVE", "plain": "ACTIVE",
    }  # fmt: skip


def test_a_name_is_given_once(raw: RawClient) -> None:
    name = fresh_name()
    assert raw("CreateTable", create_request(name)).status == 200
    assert fault(raw, "CreateTable", create_request(name)) == (
        "ResourceInUseException",
        f"Table already exists: {name}",
    )


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "no throughput": (
        {"BillingMode": None},
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    "throughput on demand": (
        {"ProvisionedThroughput": units(1, 1)},
        INVALID
        + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    ),
    "index throughput on demand": (
        {"GlobalSecondaryIndexes": [index("ggg", ProvisionedThroughput=units(1, 1))]},
        INVALID + "ProvisionedThroughput should not be specified for index: ggg when BillingMode is PAY_PER_REQUEST",
    ),
    "index without throughput": (
        PROVISIONED | {"GlobalSecondaryIndexes": [index("ggg")]},
        INVALID + "ProvisionedThroughput is not specified for index: ggg",
    ),
    "read units out of bounds": (
        {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(10**12 + 1, 1)},
        "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
    ),
    "index write units out of bounds": (
        PROVISIONED | {"GlobalSecondaryIndexes": [index("ggg", ProvisionedThroughput=units(1, 10**12 + 1))]},
        "Given value 1000000000001 for WriteCapacityUnits is out of bounds for index ggg",
    ),
    "on-demand maximum, provisioned": (
        PROVISIONED | {"OnDemandThroughput": {"MaxReadRequestUnits": 5}},
        INVALID
        + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.",
    ),
    "on-demand maximum of zero": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
    ),
    "on-demand maximum of nothing": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": 5, "MaxWriteRequestUnits": -1}},
        INVALID + "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range",
    ),
    "on-demand maximum of an index": (
        {"GlobalSecondaryIndexes": [index("ggg", OnDemandThroughput={"MaxReadRequestUnits": 0})]},
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for index : ggg is outside of valid range",
    ),
    "little warm throughput, on demand": (
        {"WarmThroughput": {"ReadUnitsPerSecond": 11_999}},
        INVALID
        + (
            "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for OnDemand."
            " See: "
        )
        + "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
        + "#on-demand-capacity-mode-initial",
    ),
    "warm throughput of an index below nothing": (
        {"GlobalSecondaryIndexes": [index("ggg", WarmThroughput={"WriteUnitsPerSecond": -1})]},
        INVALID
        + (
            "Requested WriteUnitsPerSecond for WarmThroughput for index ggg is lower than initial"
            " throughput for OnDemand. "
        )
        + "See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
        + "#on-demand-capacity-mode-initial",
    ),
    "little warm throughput, provisioned": (
        PROVISIONED | {"WarmThroughput": {"ReadUnitsPerSecond": 0}},
        INVALID
        + (
            "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than"
            " ReadCapacityUnits of ProvisionedThroughput"
        ),
    ),
    "one of two keys undefined": (
        {"KeySchema": keys("id", "at")},
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    "an attribute defined twice": (
        {"AttributeDefinitions": definitions("id", "id")},
        "Attribute Name is duplicated: id",
    ),
    "only key undefined": (
        {"AttributeDefinitions": definitions("b")},
        INVALID
        + "Some index key attributes are not defined in AttributeDefinitions. Keys: [id], AttributeDefinitions: [b]",
    ),
    "a definition too many": (
        {"AttributeDefinitions": definitions("id", "at")},
        INVALID
        + (
            "Number of attributes in KeySchema does not exactly match number of attributes"
            " defined in AttributeDefinitions"
        ),
    ),
    "a definition too many, with indexes": (
        {
            "AttributeDefinitions": definitions("user", "id", "created_at"),
            "GlobalSecondaryIndexes": [index("ggg", "user")],
        },
        INVALID
        + "Some AttributeDefinitions are not used. AttributeDefinitions: [user, created_at, id], keys used: [id, user]",
    ),
    "definitions in the order of Java's hashes": (
        {
            "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
            "AttributeDefinitions": definitions("PK", "h", "a", "unused"),
            "GlobalSecondaryIndexes": [index("ggg", "h", "a")],
        },
        INVALID
        + "Some AttributeDefinitions are not used. AttributeDefinitions: [h, a, unused, PK], keys used: [a, h, PK]",
    ),
    "first key no hash": (
        {"KeySchema": [{"AttributeName": "id", "KeyType": "RANGE"}]},
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    "second key no range": (
        BOTH | {"KeySchema": [*keys("id"), *keys("at")]},
        "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
    ),
    "same name twice": (
        {"KeySchema": keys("id", "id")},
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    "same name twice, provisioned": (
        PROVISIONED | {"KeySchema": keys("id", "id")},
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    "same name twice, beside another definition": (
        BOTH | {"KeySchema": keys("id", "id")},
        "Invalid KeySchema: Some index key attribute have no definition",
    ),
    "same name twice in a global index": (
        {"GlobalSecondaryIndexes": [index("ggg", "id", "id")]},
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    ),
    "same name twice in a local index": (
        BOTH | {"LocalSecondaryIndexes": [index("lll", "id", "id")]},
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    ),
    "a fault of both kinds of indexes": (
        BOTH
        | {
            "LocalSecondaryIndexes": [index("lll", "at", "id")],
            "GlobalSecondaryIndexes": [index("ggg", "user")],
        },
        INVALID
        + (
            "Some index key attributes are not defined in AttributeDefinitions. Keys: [user], AttributeDefinitions:"
            " [id, at]"
        ),
    ),
    "too many indexes of both kinds": (
        BOTH
        | {
            "LocalSecondaryIndexes": [index(f"local{n}", "id", "at") for n in range(6)],
            "GlobalSecondaryIndexes": [index(f"global{n}") for n in range(21)],
        },
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    "empty lists of both kinds": (
        BOTH | {"LocalSecondaryIndexes": [], "GlobalSecondaryIndexes": []},
        INVALID + "List of GlobalSecondaryIndexes is empty",
    ),
    "empty list of global indexes": (
        {"GlobalSecondaryIndexes": []},
        INVALID + "List of GlobalSecondaryIndexes is empty",
    ),
    "empty list of local indexes": (
        BOTH | {"LocalSecondaryIndexes": []},
        INVALID + "List of LocalSecondaryIndexes is empty",
    ),
    "index key undefined": (
        {"GlobalSecondaryIndexes": [index("ggg", "user", "day")]},
        INVALID
        + "Some index key attributes are not defined in AttributeDefinitions. "
        + "Keys: [user, day], AttributeDefinitions: [id]",
    ),
    "local index on a hash-only table": (
        {"LocalSecondaryIndexes": [index("lll")]},
        INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
    ),
    "local index without range": (
        BOTH | {"LocalSecondaryIndexes": [index("lll")]},
        INVALID + "Index KeySchema does not have a range key for index: lll",
    ),
    "local index of another hash": (
        BOTH | {"LocalSecondaryIndexes": [index("lll", "at", "id")]},
        INVALID
        + "Index KeySchema does not have the same leading hash key as table KeySchema for index: lll. "
        + "index hash key: at, table hash key: id",
    ),
    "projection empty": (
        {"GlobalSecondaryIndexes": [index(Projection={})]},
        INVALID + "Unknown ProjectionType: null",
    ),
    "attributes with ALL": (
        {"GlobalSecondaryIndexes": [index(Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["a"]})]},
        INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    "attributes with KEYS_ONLY": (
        {"GlobalSecondaryIndexes": [index(Projection={"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["a"]})]},
        INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
    ),
    "INCLUDE without attributes": (
        {"GlobalSecondaryIndexes": [index(Projection={"ProjectionType": "INCLUDE"})]},
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    "same index name in both lists": (
        BOTH | {"LocalSecondaryIndexes": [index("same", "id", "at")], "GlobalSecondaryIndexes": [index("same", "at")]},
        INVALID + "Duplicate index name: same",
    ),
    "six local indexes": (
        BOTH | {"LocalSecondaryIndexes": [index(f"local{n}", "id", "at") for n in range(6)]},
        INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    "twenty-one global indexes": (
        {"GlobalSecondaryIndexes": [index(f"global{n}") for n in range(21)]},
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    "view type of a stream that is off": (
        {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
        INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusals(raw: RawClient, case: str) -> None:
    members, message = CASES[case]
    assert validation(raw, "CreateTable", create_request(fresh_name(), **members)) == message


IN_ORDER: list[dict[str, Any]] = [
    {"ProvisionedThroughput": units(1, 1)},
    {"GlobalSecondaryIndexes": [index("ggg", ProvisionedThroughput=units(1, 1), Projection={})]},
    {"AttributeDefinitions": definitions("id", "at"), "KeySchema": [{"AttributeName": "no", "KeyType": "RANGE"}]},
    {"KeySchema": [{"AttributeName": "id", "KeyType": "RANGE"}]},
    {"GlobalSecondaryIndexes": []},
    {"LocalSecondaryIndexes": []},
    {"StreamSpecification": {"StreamEnabled": True}},
]
"""Faults in the order in which they are reported; members of one entry may overlap those of the next."""


@pytest.mark.parametrize("position", range(len(IN_ORDER) - 1))
def test_of_two_faults_the_earlier_is_reported(raw: RawClient, position: int) -> None:
    earlier, later = IN_ORDER[position], IN_ORDER[position + 1]
    alone = validation(raw, "CreateTable", create_request(fresh_name(), **earlier))
    assert validation(raw, "CreateTable", create_request(fresh_name(), **(later | earlier))) == alone
    assert validation(raw, "CreateTable", create_request(fresh_name(), **later)) != alone


def test_constraints_come_before_and_existence_after_everything_else(raw: RawClient) -> None:
    name = fresh_name()
    raw("CreateTable", create_request(name))
    assert validation(raw, "CreateTable", create_request(name, StreamSpecification={"StreamEnabled": True})) is not None
    message = validation(
        raw, "CreateTable", create_request("a", KeySchema=[], ProvisionedThroughput=units(0, 1), BillingMode="x")
    )
    assert message is not None
    assert message.startswith("4 validation errors detected: ")


def test_a_missing_name_comes_first(raw: RawClient) -> None:
    request = create_request("", KeySchema=[])
    del request["TableName"]
    assert validation(raw, "CreateTable", request) == (
        "The parameter 'TableName' is required but was not present in the request"
    )


@pytest.mark.parametrize(
    "members",
    [
        {"StreamSpecification": {"StreamEnabled": False}},
        {"SSESpecification": {"Enabled": False}},
        {"DeletionProtectionEnabled": False},
        {"GlobalTableSettingsReplicationMode": "DISABLED"},
    ],
)
def test_what_is_off_may_be_called_so(raw: RawClient, members: dict[str, Any]) -> None:
    name = fresh_name()
    described = raw("CreateTable", create_request(name, **members)).json()["TableDescription"]
    assert described["TableStatus"] == "CREATING"
    assert not {"StreamSpecification", "SSEDescription"} & described.keys()


def test_constraints_of_global_indexes_are_told_before_those_of_local_ones(raw: RawClient) -> None:
    constraint = "failed to satisfy constraint: Member must have length greater than or equal to 3"
    request = create_request(fresh_name(), LocalSecondaryIndexes=[index("l")], GlobalSecondaryIndexes=[index("g")])
    assert validation(raw, "CreateTable", request) == (
        f"2 validation errors detected: Value 'g' at 'globalSecondaryIndexes.1.member.indexName' {constraint}; "
        f"Value 'l' at 'localSecondaryIndexes.1.member.indexName' {constraint}"
    )


@pytest.mark.parametrize("name", ["a/b", "white space", "umläut"])
def test_names_of_tables_and_indexes_have_few_characters(raw: RawClient, name: str) -> None:
    constraint = "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    assert validation(raw, "CreateTable", create_request(name)) == (
        f"1 validation error detected: Value '{name}' at 'tableName' {constraint}"
    )
    assert validation(raw, "CreateTable", create_request(fresh_name(), GlobalSecondaryIndexes=[index(name)])) == (
        f"1 validation error detected: Value '{name}' at 'globalSecondaryIndexes.1.member.indexName' {constraint}"
    )


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("GlobalTableSourceArn", "arn:aws:dynamodb:us-west-2:000000000000:table/elsewhere"),
        ("GlobalTableSettingsReplicationMode", "ENABLED"),
    ],
)
def test_members_of_a_later_day_are_refused_in_one_sentence(raw: RawClient, member: str, value: Any) -> None:
    request = create_request(fresh_name(), **{member: value})
    assert validation(raw, "CreateTable", request) == f"Hashrange does not support {member} yet."
    broken = request | {"KeySchema": []}
    assert validation(raw, "CreateTable", broken) != f"Hashrange does not support {member} yet."


def test_four_and_four_keys_of_a_global_index_are_the_most(raw: RawClient) -> None:
    names = [f"k{n}" for n in range(9)]

    def request(hashes: int, ranges: int) -> dict[str, Any]:
        schema = [{"AttributeName": name, "KeyType": "HASH"} for name in names[:hashes]]
        schema += [{"AttributeName": name, "KeyType": "RANGE"} for name in names[hashes : hashes + ranges]]
        return create_request(
            fresh_name(),
            AttributeDefinitions=definitions("id", *names[: hashes + ranges]),
            GlobalSecondaryIndexes=[index(KeySchema=schema)],
        )

    assert raw("CreateTable", request(4, 4)).status == 200
    text = INVALID + "The KeySchema exceeds the maximum allowed number of {} key attributes"
    assert validation(raw, "CreateTable", request(5, 3)) == text.format("HASH")
    assert validation(raw, "CreateTable", request(3, 5)) == text.format("RANGE")


def test_keys_of_a_global_index_are_ordered_and_different(raw: RawClient) -> None:
    def refused(*keys: tuple[str, str]) -> str | None:
        schema = [{"AttributeName": name, "KeyType": kind} for name, kind in keys]
        names = dict.fromkeys(["id", *[name for name, _ in keys]])
        request = create_request(
            fresh_name(),
            AttributeDefinitions=definitions(*names),
            GlobalSecondaryIndexes=[index(KeySchema=schema)],
        )
        return validation(raw, "CreateTable", request)

    assert refused(("a", "HASH"), ("b", "RANGE"), ("c", "HASH")) == (
        INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema"
    )
    assert refused(("a", "HASH"), ("b", "HASH"), ("a", "RANGE")) == (
        "The KeySchema contains multiple key attributes with the same name"
    )


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"SSESpecification": {"Enabled": True, "SSEType": "AES256"}}, INVALID + "SSEType AES256 is not supported"),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            INVALID + "SSEType can not be specified if Enabled is false",
        ),
        (
            {"SSESpecification": {"Enabled": False, "KMSMasterKeyId": "alias/mine"}},
            INVALID + "KMSMasterKeyId can not be specified if Enabled is false",
        ),
        (
            {"SSESpecification": {"KMSMasterKeyId": "alias/mine"}},
            INVALID + "SSEType KMS is required if KMSMasterKeyId is specified",
        ),
        (
            {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": ""}},
            (
                "1 validation error detected: Value '' at 'sSESpecification.kMSMasterKeyId' failed to satisfy "
                "constraint: Member must have length greater than or equal to 1"
            ),
        ),
        (
            {"TableClass": "GLACIER"},
            (
                "Invalid table-class parameter provided. Please try again with a valid table-class value: "
                "[STANDARD, STANDARD_INFREQUENT_ACCESS]."
            ),
        ),
        ({"Tags": [{}]}, "The Tag Key provided is invalid, Key: null"),
        ({"Tags": [{"Key": "owner"}]}, "The Tag Value provided is invalid, Value: null"),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            INVALID + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]},
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
        ),
    ],
)
def test_settings_are_refused_in_the_words_of_the_service(
    raw: RawClient, members: dict[str, Any], message: str
) -> None:
    assert validation(raw, "CreateTable", create_request(fresh_name(), **members)) == message


@pytest.mark.parametrize("place", ["us-east-1:111111111111", "eu-west-1:{account}"])
def test_a_table_of_another_account_or_region_is_not_made(raw: RawClient, place: str) -> None:
    name = fresh_name("own")
    own = raw("CreateTable", create_request(name)).json()["TableDescription"]["TableArn"]
    account = own.split(":")[4]
    arn = f"arn:aws:dynamodb:{place.format(account=account)}:table/{fresh_name('foreign')}"
    code, message = fault(raw, "CreateTable", create_request(arn))
    assert code == "AccessDeniedException"
    assert message is not None
    assert message.endswith(f"dynamodb:CreateTable on resource: {arn}")
    own_arn = own.replace(name, fresh_name("own"))
    assert raw("CreateTable", create_request(own_arn)).json()["TableDescription"]["TableArn"] == own_arn
