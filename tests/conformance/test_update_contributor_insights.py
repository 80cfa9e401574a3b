"""UpdateContributorInsights: tables and global indexes are watched, in one of two modes,
and what is off may be turned off.
"""

from typing import Any

import pytest

from tests.conformance.tables import create_request, fault, fresh_name, index, validation
from tests.support.raw_client import RawClient

OFF = {"ContributorInsightsAction": "DISABLE"}
ON = {"ContributorInsightsAction": "ENABLE"}


@pytest.fixture(scope="module")
def name(client: Any) -> str:
    """A table with the global index `index`."""
    name = fresh_name()
    client.create_table(**create_request(name, GlobalSecondaryIndexes=[index()]))
    return name


def test_what_is_not_watched_may_be_turned_off(raw: RawClient, name: str) -> None:
    for members in ({}, {"IndexName": "index"}):
        reply = raw("UpdateContributorInsights", {"TableName": name} | members | OFF)
        assert (reply.status, reply.json()) == (
            200,
            {"TableName": name, "ContributorInsightsStatus": "DISABLED"} | members,
        )


def rules_of(raw: RawClient, name: str, **members: str) -> list[str]:
    """Kinds of the rules, without resource and time."""
    reply = raw("DescribeContributorInsights", {"TableName": name} | members).json()
    return [rule.split("-")[1] for rule in reply.get("ContributorInsightsRuleList", [])]


def test_a_table_is_watched_in_either_mode_until_it_is_not(raw: RawClient, client: Any) -> None:
    name = fresh_name()
    client.create_table(**create_request(name, GlobalSecondaryIndexes=[index()]))
    reply = raw("UpdateContributorInsights", {"TableName": name} | ON).json()
    assert reply == {
        "TableName": name,
        "ContributorInsightsStatus": "ENABLING",
        "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS",
    }
    described = raw("DescribeContributorInsights", {"TableName": name}).json()
    assert described["ContributorInsightsStatus"] == "ENABLED"
    assert described["ContributorInsightsRuleList"][0].startswith(f"DynamoDBContributorInsights-PKC-{name}-")
    assert described["LastUpdateDateTime"] > 0
    assert rules_of(raw, name) == ["PKC", "PKT"]
    raw("UpdateContributorInsights", {"TableName": name, "ContributorInsightsMode": "THROTTLED_KEYS"} | ON)
    throttled = raw("DescribeContributorInsights", {"TableName": name}).json()["ContributorInsightsRuleList"]
    assert throttled == described["ContributorInsightsRuleList"][1:], "the rules of throttled keys are kept"
    raw("UpdateContributorInsights", {"TableName": name, "IndexName": "index"} | ON)
    listed = raw("ListContributorInsights", {"TableName": name}).json()["ContributorInsightsSummaries"]
    assert [(one.get("IndexName"), one["ContributorInsightsMode"]) for one in listed] == [
        (None, "THROTTLED_KEYS"),
        ("index", "ACCESSED_AND_THROTTLED_KEYS"),
    ]
    first = raw("ListContributorInsights", {"TableName": name, "MaxResults": 1}).json()
    second = raw("ListContributorInsights", {"TableName": name, "NextToken": first["NextToken"]}).json()
    assert first["ContributorInsightsSummaries"] + second["ContributorInsightsSummaries"] == listed
    assert "NextToken" not in second
    assert (
        raw("UpdateContributorInsights", {"TableName": name} | OFF).json()["ContributorInsightsStatus"] == "DISABLING"
    )
    described = raw("DescribeContributorInsights", {"TableName": name}).json()
    assert described.pop("LastUpdateDateTime") > 0
    assert described == {
        "TableName": name,
        "ContributorInsightsStatus": "DISABLED",
        "ContributorInsightsMode": "THROTTLED_KEYS",
    }
    assert raw("ListContributorInsights", {"TableName": name}).json()["ContributorInsightsSummaries"] == listed[1:]
    client.delete_table(TableName=name)
    assert raw("ListContributorInsights", {}).json() == {"ContributorInsightsSummaries": []}
    client.create_table(**create_request(name))
    assert raw("DescribeContributorInsights", {"TableName": name}).json() == {
        "TableName": name,
        "ContributorInsightsStatus": "DISABLED",
    }


@pytest.mark.parametrize("members", [ON, OFF])
def test_missing_tables_and_indexes_are_told_first(raw: RawClient, name: str, members: dict[str, Any]) -> None:
    assert fault(raw, "UpdateContributorInsights", {"TableName": "nothing.here"} | members) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )
    assert fault(raw, "UpdateContributorInsights", {"TableName": name, "IndexName": "another"} | members) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Index: another not found for table: {name}",
    )


def test_constraints(raw: RawClient) -> None:
    assert validation(raw, "UpdateContributorInsights", {"TableName": "nothing.here"}) == (
        "1 validation error detected: Value null at 'contributorInsightsAction' failed to satisfy constraint: "
        "Member must not be null"
    )
    assert "[ENABLE, DISABLE]" in str(
        validation(raw, "UpdateContributorInsights", {"TableName": "nothing.here", "ContributorInsightsAction": "OFF"})
    )
