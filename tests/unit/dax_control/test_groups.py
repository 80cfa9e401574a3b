"""Parameter groups, subnet groups and events."""

from typing import Any

import pytest

from hashrange.testing import Database
from tests.unit.dax_control.conftest import code_of, create, described, messages

MINUTES_OF_15_DAYS = 15 * 24 * 60


def parameters(dax: Any, **members: Any) -> dict[str, tuple[str, str]]:
    """Name of each parameter → value and source."""
    return {
        one["ParameterName"]: (one["ParameterValue"], one["Source"])
        for one in dax.describe_parameters(**members)["Parameters"]
    }


def test_parameters_of_a_group(dax: Any) -> None:
    usual = {"query-ttl-millis": ("300000", "system"), "record-ttl-millis": ("300000", "system")}
    assert parameters(dax, ParameterGroupName="default.dax1.0") == usual
    assert dax.create_parameter_group(ParameterGroupName="short", Description="d")["ParameterGroup"] == {
        "ParameterGroupName": "short",
        "Description": "d",
    }
    assert parameters(dax, ParameterGroupName="short") == usual
    changes = [{"ParameterName": "record-ttl-millis", "ParameterValue": "1000"}]
    dax.update_parameter_group(ParameterGroupName="short", ParameterNameValues=changes)
    assert parameters(dax, ParameterGroupName="short", Source="user") == {"record-ttl-millis": ("1000", "user")}
    assert parameters(dax, ParameterGroupName="short", Source="system") == {"query-ttl-millis": ("300000", "system")}
    defaults = dax.describe_default_parameters()["Parameters"]
    assert {one["ParameterName"]: one["ParameterValue"] for one in defaults} == {
        "query-ttl-millis": "300000",
        "record-ttl-millis": "300000",
    }
    assert [one["ParameterGroupName"] for one in dax.describe_parameter_groups()["ParameterGroups"]] == [
        "default.dax1.0",
        "short",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [{"ParameterName": "ttl", "ParameterValue": "1"}],
        [{"ParameterName": "query-ttl-millis", "ParameterValue": "-1"}],
        [{"ParameterName": "query-ttl-millis", "ParameterValue": "1.5"}],
        [{"ParameterName": "query-ttl-millis", "ParameterValue": "٣"}],
        [
            {"ParameterName": "record-ttl-millis", "ParameterValue": "1"},
            {"ParameterName": "query-ttl-millis", "ParameterValue": "9" * 40},
        ],
    ],
)
def test_wrong_parameters_change_nothing(dax: Any, changes: list[Any]) -> None:
    dax.create_parameter_group(ParameterGroupName="short")
    before = parameters(dax, ParameterGroupName="short")
    code = code_of(dax.update_parameter_group, ParameterGroupName="short", ParameterNameValues=changes)
    assert code == "InvalidParameterValueException"
    assert parameters(dax, ParameterGroupName="short") == before


def test_life_of_a_parameter_group(dax: Any) -> None:
    dax.create_parameter_group(ParameterGroupName="short")
    assert code_of(dax.create_parameter_group, ParameterGroupName="short") == "ParameterGroupAlreadyExistsFault"
    assert code_of(dax.create_parameter_group, ParameterGroupName="9") == "InvalidParameterValueException"
    create(dax, ParameterGroupName="short")
    assert code_of(dax.delete_parameter_group, ParameterGroupName="short") == "InvalidParameterGroupStateFault"
    dax.delete_cluster(ClusterName="shop")
    gone = dax.delete_parameter_group(ParameterGroupName="short")["DeletionMessage"]
    assert gone == "Parameter group short has been deleted."
    assert code_of(dax.delete_parameter_group, ParameterGroupName="short") == "ParameterGroupNotFoundFault"
    for call in (dax.delete_parameter_group, dax.update_parameter_group):
        members = {"ParameterNameValues": [{"ParameterName": "query-ttl-millis", "ParameterValue": "1"}]}
        given = members if call == dax.update_parameter_group else {}
        assert code_of(call, ParameterGroupName="default.dax1.0", **given) == "InvalidParameterGroupStateFault"
    for number in range(20):
        dax.create_parameter_group(ParameterGroupName=f"g{number}")
    assert code_of(dax.create_parameter_group, ParameterGroupName="g20") == "ParameterGroupQuotaExceededFault"


def test_life_of_a_subnet_group(dax: Any) -> None:
    made = dax.create_subnet_group(SubnetGroupName="inner", SubnetIds=["subnet-1"], Description="d")["SubnetGroup"]
    assert (made["SubnetGroupName"], made["Description"], made["Subnets"][0]["SubnetIdentifier"]) == (
        "inner",
        "d",
        "subnet-1",
    )
    assert code_of(dax.create_subnet_group, SubnetGroupName="inner", SubnetIds=["subnet-1"]) == (
        "SubnetGroupAlreadyExistsFault"
    )
    changed = dax.update_subnet_group(SubnetGroupName="inner", SubnetIds=["subnet-2", "subnet-3"])["SubnetGroup"]
    assert [one["SubnetIdentifier"] for one in changed["Subnets"]] == ["subnet-2", "subnet-3"]
    many = [f"subnet-{number}" for number in range(21)]
    assert code_of(dax.update_subnet_group, SubnetGroupName="inner", SubnetIds=many) == "SubnetQuotaExceededFault"
    assert code_of(dax.update_subnet_group, SubnetGroupName="inner", SubnetIds=["net"]) == "InvalidSubnet"
    assert dax.describe_subnet_groups(SubnetGroupNames=["inner"])["SubnetGroups"] == [changed]
    create(dax, SubnetGroupName="inner")
    assert code_of(dax.delete_subnet_group, SubnetGroupName="inner") == "SubnetGroupInUseFault"
    dax.delete_cluster(ClusterName="shop")
    gone = dax.delete_subnet_group(SubnetGroupName="inner")["DeletionMessage"]
    assert gone == "Subnet group inner has been deleted."
    with pytest.raises(dax.exceptions.SubnetGroupInUseFault, match="default is reserved and cannot be modified"):
        dax.delete_subnet_group(SubnetGroupName="default")
    assert code_of(dax.describe_subnet_groups, SubnetGroupNames=["inner"]) == "SubnetGroupNotFoundFault"
    for number in range(50):
        dax.create_subnet_group(SubnetGroupName=f"g{number}", SubnetIds=["subnet-1"])
    assert code_of(dax.create_subnet_group, SubnetGroupName="g50", SubnetIds=["subnet-1"]) == (
        "SubnetGroupQuotaExceededFault"
    )


def test_events_are_those_of_the_last_day_unless_asked_otherwise(dax: Any, database: Database) -> None:
    database.clock.freeze()
    dax.create_parameter_group(ParameterGroupName="early")
    database.clock.advance(25 * 3600)
    create(dax, "shop")
    assert messages(dax) == ["Cluster created.", "Added node shop-a."]
    every = ["Parameter group created.", *messages(dax)]
    assert messages(dax, Duration=25 * 60 + 1) == every
    begin = dax.describe_events(Duration=25 * 60 + 1)["Events"][0]["Date"]
    assert messages(dax, StartTime=begin) == every
    assert messages(dax, StartTime=begin, EndTime=begin) == every[:1]
    assert messages(dax, StartTime=begin, Duration=60) == every[:1]
    assert messages(dax, SourceType="PARAMETER_GROUP", Duration=25 * 60 + 1) == every[:1]
    for members in ({"SourceName": "shop"}, {"StartTime": begin, "EndTime": begin.replace(year=begin.year - 1)}):
        assert code_of(dax.describe_events, **members) == "InvalidParameterCombinationException"
    for more in ({"SourceType": "TABLE"}, {"Duration": 0}, {"Duration": MINUTES_OF_15_DAYS}):
        assert code_of(dax.describe_events, **more) == "InvalidParameterValueException"
    database.clock.advance(15 * 24 * 3600)
    assert messages(dax, StartTime=begin) == []


def test_another_group_takes_effect_after_a_reboot(dax: Any) -> None:
    dax.create_parameter_group(ParameterGroupName="short")
    create(dax, nodes=2)
    changes = [{"ParameterName": "query-ttl-millis", "ParameterValue": "7"}]
    dax.update_parameter_group(ParameterGroupName="short", ParameterNameValues=changes)
    dax.update_cluster(ClusterName="shop", ParameterGroupName="short")
    waiting = described(dax)["ParameterGroup"]
    assert waiting == {
        "ParameterGroupName": "short",
        "ParameterApplyStatus": "pending-reboot",
        "NodeIdsToReboot": ["shop-a", "shop-b"],
    }
    dax.reboot_node(ClusterName="shop", NodeId="shop-a")
    assert described(dax)["ParameterGroup"]["NodeIdsToReboot"] == ["shop-b"]
    dax.reboot_node(ClusterName="shop", NodeId="shop-b")
    assert described(dax)["ParameterGroup"]["ParameterApplyStatus"] == "in-sync"
    assert code_of(dax.reboot_node, ClusterName="shop", NodeId="shop-z") == "NodeNotFoundFault"
