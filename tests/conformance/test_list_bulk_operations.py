"""ListBulkOperations: an empty page, and the validation of its members."""

from typing import Any

import pytest

from tests.conformance.tables import validation
from tests.support.raw_client import RawClient


def test_there_are_no_bulk_operations(client: Any, raw: RawClient) -> None:
    reply = raw("ListBulkOperations", {"MaxResults": 25})
    assert (reply.status, reply.json()) == (200, {"BulkOperationsSummaryList": []})
    assert client.list_bulk_operations()["BulkOperationsSummaryList"] == []


def test_the_paginator_ends(client: Any) -> None:
    assert len(list(client.get_paginator("list_bulk_operations").paginate())) == 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"MaxResults": 0},
            "Value '0' at 'maxResults' failed to satisfy constraint: Member must have value greater than",
        ),
        (
            {"MaxResults": 26},
            "Value '26' at 'maxResults' failed to satisfy constraint: Member must have value less than",
        ),
        ({"NextToken": "0123"}, "Member must satisfy regular expression pattern: ([0-9a-f]{16})+"),
        ({"NextToken": "0123456789abcdef"}, "NextToken is not valid"),
    ],
)
def test_the_form_of_a_request(raw: RawClient, request_: dict[str, Any], message: str) -> None:
    assert message in str(validation(raw, "ListBulkOperations", request_))
