"""DescribeContributorInsights: DISABLED for tables and global indexes."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, definitions, fault, fresh_name, index, keys, validation
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def name(client: Any) -> str:
    """A table with an index of each kind."""
    name = fresh_name()
    client.create_table(
        **create_request(
            name,
            AttributeDefinitions=definitions("id", "at"),
            KeySchema=keys("id", "at"),
            LocalSecondaryIndexes=[index("local", "id", "at")],
            GlobalSecondaryIndexes=[index("global", "at")],
        )
    )
    return name


def test_nothing_is_watched(client: Any, raw: RawClient, name: str) -> None:
    arn = client.describe_table(TableName=name)["Table"]["TableArn"]
    for table in (name, arn):
        reply = raw("DescribeContributorInsights", {"TableName": table})
        assert (reply.status, reply.json()) == (200, {"TableName": name, "ContributorInsightsStatus": "DISABLED"})


def test_nothing_of_an_index_is_watched(client: Any, name: str) -> None:
    reply = client.describe_contributor_insights(TableName=name, IndexName="global")
    reply.pop("ResponseMetadata")
    assert reply == {"TableName": name, "IndexName": "global", "ContributorInsightsStatus": "DISABLED"}


@pytest.mark.parametrize("missing", ["nothing.here", "local"])
def test_only_global_indexes_that_exist(raw: RawClient, name: str, missing: str) -> None:
    assert fault(raw, "DescribeContributorInsights", {"TableName": name, "IndexName": missing}) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Index: {missing} not found for table: {name}",
    )


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, "DescribeContributorInsights", {"TableName": "nothing.here", "IndexName": "global"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


def test_index_names_have_a_form(raw: RawClient, name: str) -> None:
    def refusal(index_name: str) -> str | None:
        return validation(raw, "DescribeContributorInsights", {"TableName": name, "IndexName": index_name})

    assert refusal("a;c") == (
        "1 validation error detected: Value 'a;c' at 'indexName' failed to satisfy constraint: Member must satisfy "
        "regular expression pattern: [a-zA-Z0-9_.-]+"
    )
    for index_name in ("", "a;", "a" * 256):
        assert refusal(index_name) == "IndexName must be at least 3 characters long and at most 255 characters long"
