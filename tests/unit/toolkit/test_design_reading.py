"""What a description of AWS, or of a server that lacks operations, becomes. (Other tables: tests/clients.)"""

from typing import Any, cast

import pytest

from hashrange.toolkit.design_reading import read_design
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.table_design import AWS_MANAGED, AWS_OWNED, DesignedCapacity, DesignedUnits, TableDesign
from hashrange.toolkit.target import Target

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders"


def description(**members: Any) -> dict[str, Any]:
    """A description of a provisioned table."""
    table = {
        "TableName": "Orders",
        "TableArn": ARN,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 4, "WriteCapacityUnits": 2},
    }
    return {"describe_table": {"Table": table | members}}


class Recorded:
    """Answers operations with replies; refuses others."""

    is_aws = True

    def __init__(self, **replies: Any) -> None:
        self.replies = replies

    def ask(self, _: str, operation: str, **members: Any) -> Any:
        if operation not in self.replies:
            raise ToolkitFailure(f"no {operation} here.", "UnknownOperationException")
        return self.replies[operation]

    ask_all = ask


def read(recorded: Recorded) -> tuple[TableDesign, list[str]]:
    """The design, and the warnings."""
    warnings: list[str] = []
    return read_design(cast("Target", recorded), "Orders", warnings.append), warnings


def test_what_a_server_does_not_tell_is_warned_of() -> None:
    design, warnings = read(Recorded(**description()))
    assert design.capacity == DesignedCapacity(DesignedUnits(4), DesignedUnits(2))
    assert warnings == [
        "The design leaves out auto scaling: no describe_scaling_policies here.",
        "The design leaves out auto scaling: no describe_scalable_targets here.",
        "The design leaves out time to live: no describe_time_to_live here.",
        "The design leaves out point-in-time recovery: no describe_continuous_backups here.",
        "The design leaves out the tags: no list_tags_of_resource here.",
    ]


def test_what_a_design_cannot_hold_is_warned_of() -> None:
    members = {"Replicas": [{}], "OnDemandThroughput": {"MaxReadRequestUnits": 5}, "VectorIndexes": [{}]}
    _, warnings = read(Recorded(**description(**members)))
    assert warnings[:3] == [
        "The design leaves out the replicas of Orders.",
        "The design leaves out the limits of on-demand throughput of Orders.",
        "The design leaves out the vector indexes of Orders.",
    ]


@pytest.mark.parametrize(("manager", "encryption"), [("AWS", AWS_MANAGED), ("CUSTOMER", KEY)])
def test_kms_says_whose_key_it_is(manager: str, encryption: str) -> None:
    sse = {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": KEY}
    recorded = Recorded(**description(SSEDescription=sse), describe_key={"KeyMetadata": {"KeyManager": manager}})
    assert read(recorded)[0].encryption == encryption


@pytest.mark.parametrize("sse", [{}, {"Status": "DISABLED", "KMSMasterKeyArn": KEY}])
def test_without_encryption_by_kms_the_key_is_that_of_aws(sse: dict[str, str]) -> None:
    assert read(Recorded(**description(SSEDescription=sse)))[0].encryption == AWS_OWNED


def test_auto_scaling_of_other_tables_is_not_that_of_this_one() -> None:
    names = ("table/Orders", "table/Orders2", "table/Orders/index/by-a")
    place = {"ScalableDimension": "dynamodb:table:ReadCapacityUnits", "MaxCapacity": 9}
    targets = [{"ResourceId": name, "MinCapacity": number, **place} for number, name in enumerate(names, 1)]
    recorded = Recorded(
        **description(),
        describe_scalable_targets={"ScalableTargets": targets},
        describe_scaling_policies={"ScalingPolicies": []},
    )
    assert read(recorded)[0].capacity == DesignedCapacity(DesignedUnits(1, 9), DesignedUnits(2))


def test_tags_of_others_and_a_time_to_live_that_ends_are_left_out() -> None:
    tags = [
        {"Key": "b", "Value": "2"},
        {"Key": "aws:cloudformation:stack-name", "Value": "x"},
        {"Key": "a", "Value": "1"},
        {"Key": "hashrange:stack", "Value": "x"},
    ]
    recorded = Recorded(
        **description(),
        list_tags_of_resource={"Tags": tags},
        describe_time_to_live={"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLING", "AttributeName": "t"}},
    )
    design, _ = read(recorded)
    assert design.tags == (("a", "1"), ("b", "2"))
    assert design.ttl_attribute is None
