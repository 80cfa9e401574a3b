"""ListContributorInsights: an empty page, and the validation of its members."""

from typing import Any

import pytest

from tests.conformance.tables import fault, tagged_table, validation
from tests.support.raw_client import RawClient


def test_nothing_was_ever_watched(client: Any, raw: RawClient) -> None:
    requests: list[dict[str, Any]] = [{}, {"TableName": tagged_table(client), "MaxResults": 100}, {"MaxResults": 0}]
    for request in requests:
        reply = raw("ListContributorInsights", request)
        assert (reply.status, reply.json()) == (200, {"ContributorInsightsSummaries": []})
    assert client.list_contributor_insights()["ContributorInsightsSummaries"] == []


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, "ListContributorInsights", {"TableName": "nothing.here"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"MaxResults": 101},
            "Value '101' at 'maxResults' failed to satisfy constraint: Member must have value less than",
        ),
        ({"TableName": "ab"}, "TableName must be at least 3 characters long and at most 255 characters long"),
        (
            {"TableName": "abc;"},
            "Value 'abc;' at 'tableName' failed to satisfy constraint: Member must satisfy regular",
        ),
        ({"NextToken": "x"}, "NextToken is not valid"),
    ],
)
def test_the_form_of_a_request(raw: RawClient, request_: dict[str, Any], message: str) -> None:
    assert message in str(validation(raw, "ListContributorInsights", request_))
