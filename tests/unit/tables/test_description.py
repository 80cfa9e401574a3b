"""TableDescription: its members, and when each is present."""

from hashrange.store.statistics import Statistics
from tests.unit.tables.control_plane import ARN_PREFIX, ControlPlane, global_index, units

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_an_on_demand_table_in_full() -> None:
    plane = ControlPlane()
    plane.create()
    plane.store.figures = Statistics(3, 120)
    described = plane.describe()
    assert len(described.pop("TableId")) == 36
    assert described == {
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "TableName": "music",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "TableStatus": "ACTIVE",
        "CreationDateTime": 1_800_000_000.0,
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "TableSizeBytes": 120,
        "ItemCount": 3,
        "TableArn": ARN_PREFIX + "music",
        "BillingModeSummary": {
            "BillingMode": "PAY_PER_REQUEST",
            "LastUpdateToPayPerRequestDateTime": 1_800_000_000.0,
        },
        "DeletionProtectionEnabled": False,
        "WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
    }


def test_a_table_never_on_demand_has_no_billing_mode_summary() -> None:
    plane = ControlPlane()
    plane.create_provisioned(read=7, write=3)
    described = plane.describe()
    assert "BillingModeSummary" not in described
    assert described["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(7, 3)}
    assert described["WarmThroughput"] == {"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 3, "Status": "ACTIVE"}


def test_the_summary_stays_after_a_switch_back_to_provisioned() -> None:
    plane = ControlPlane()
    plane.create()
    plane.update(BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1))
    assert plane.describe()["BillingModeSummary"] == {
        "BillingMode": "PROVISIONED",
        "LastUpdateToPayPerRequestDateTime": 1_800_000_000.0,
    }


def test_the_same_run_gives_the_same_table_ids() -> None:
    ids = [[plane.create(name)["TableId"] for name in ("one", "two")] for plane in (ControlPlane(), ControlPlane())]
    assert ids[0] == ids[1]
    assert ids[0][0] != ids[0][1]


def test_indexes_have_arns_and_global_ones_a_state_and_throughput() -> None:
    plane = ControlPlane()
    plane.create_provisioned(
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "at", "by")],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        LocalSecondaryIndexes=[
            {
                "IndexName": "local",
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "by", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]},
            }
        ],
        GlobalSecondaryIndexes=[global_index(ProvisionedThroughput=units(2, 1))],
    )
    described = plane.describe()
    assert described["LocalSecondaryIndexes"] == [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "by", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": ARN_PREFIX + "music/index/local",
        }
    ]
    (index,) = described["GlobalSecondaryIndexes"]
    assert index["IndexStatus"] == "ACTIVE"
    assert index["IndexArn"] == ARN_PREFIX + "music/index/by-artist"
    assert index["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(2, 1)}
    assert index["WarmThroughput"] == {"ReadUnitsPerSecond": 2, "WriteUnitsPerSecond": 1, "Status": "ACTIVE"}


def test_multi_attribute_keys_of_a_global_index_are_kept_in_order() -> None:
    names = ("id", "region", "day", "hour")
    keys = [
        {"AttributeName": name, "KeyType": kind}
        for name, kind in zip(names, ("HASH", "HASH", "RANGE", "RANGE"), strict=True)
    ]
    plane = ControlPlane()
    plane.create(
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        GlobalSecondaryIndexes=[global_index() | {"KeySchema": keys}],
    )
    assert plane.describe()["GlobalSecondaryIndexes"][0]["KeySchema"] == keys


def test_only_a_stream_that_is_on_has_a_specification() -> None:
    plane = ControlPlane()
    plane.clock.advance(0.25)
    created = plane.create(StreamSpecification=STREAM)
    assert created["StreamSpecification"] == STREAM
    assert created["LatestStreamLabel"] == "2027-01-15T08:00:00.250"
    assert created["LatestStreamArn"] == ARN_PREFIX + "music/stream/2027-01-15T08:00:00.250"
    plane.update(StreamSpecification={"StreamEnabled": False})
    described = plane.describe()
    assert "StreamSpecification" not in described
    assert described["LatestStreamLabel"] == "2027-01-15T08:00:00.250"
    plane.clock.advance(1)
    plane.update(StreamSpecification=STREAM)
    assert plane.describe()["LatestStreamLabel"] == "2027-01-15T08:00:01.250"


def test_encryption_names_its_key() -> None:
    plane = ControlPlane()
    assert "SSEDescription" not in plane.create("plain")
    described = plane.create("own", SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "1234abcd"})
    assert described["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": "arn:aws:kms:us-east-1:000000000000:key/1234abcd",
    }


def test_table_class_is_shown_once_it_is_not_the_usual_one() -> None:
    plane = ControlPlane()
    assert "TableClassSummary" not in plane.create()
    plane.clock.advance(5)
    plane.update(TableClass="STANDARD_INFREQUENT_ACCESS")
    assert plane.describe()["TableClassSummary"] == {
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "LastUpdateDateTime": 1_800_000_005.0,
    }


def test_an_on_demand_maximum_is_merged_and_taken_away_by_minus_one() -> None:
    plane = ControlPlane()
    assert "OnDemandThroughput" not in plane.create()
    plane.update(OnDemandThroughput={"MaxReadRequestUnits": 10})
    plane.update(OnDemandThroughput={"MaxWriteRequestUnits": 20})
    assert plane.describe()["OnDemandThroughput"] == {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 20}
    plane.update(OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1})
    assert "OnDemandThroughput" not in plane.describe()


def test_a_deleted_table_shows_neither_keys_nor_definitions() -> None:
    plane = ControlPlane()
    plane.create(GlobalSecondaryIndexes=[global_index()])
    described = plane.call("DeleteTable", TableName="music")["TableDescription"]
    assert described.keys() == {
        "TableName",
        "TableStatus",
        "ProvisionedThroughput",
        "TableSizeBytes",
        "ItemCount",
        "TableArn",
        "TableId",
        "BillingModeSummary",
        "DeletionProtectionEnabled",
    }
