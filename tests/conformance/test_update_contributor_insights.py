"""UpdateContributorInsights: insights that are off may be turned off; turning them on is not implemented."""

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


def test_nothing_can_be_watched_yet(raw: RawClient, name: str) -> None:
    members = {"ContributorInsightsMode": "THROTTLED_KEYS"}
    assert fault(raw, "UpdateContributorInsights", {"TableName": name} | ON | members) == (
        "UnsupportedOperationException",
        "Hashrange does not support UpdateContributorInsights yet.",
    )


@pytest.mark.parametrize("members", [ON, OFF])
def test_missing_tables_and_indexes_are_told_first(raw: RawClient, name: str, members: dict[str, Any]) -> None:
    assert fault(raw, "UpdateContributorInsights", {"TableName": "nothing.here"} | members) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )
    code, _ = fault(raw, "UpdateContributorInsights", {"TableName": name, "IndexName": "another"} | members)
    assert code == "ResourceNotFoundException"


def test_constraints(raw: RawClient) -> None:
    assert validation(raw, "UpdateContributorInsights", {"TableName": "nothing.here"}) == (
        "1 validation error detected: Value null at 'contributorInsightsAction' failed to satisfy constraint: "
        "Member must not be null"
    )
    assert "[ENABLE, DISABLE]" in str(
        validation(raw, "UpdateContributorInsights", {"TableName": "nothing.here", "ContributorInsightsAction": "OFF"})
    )
