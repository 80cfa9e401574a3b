"""ListExports: an empty page, and the validation of its members."""

from typing import Any

import pytest

from tests.conformance.tables import fault, tagged_table, validation
from tests.support.raw_client import RawClient

MISSING = "arn:aws:dynamodb:us-east-1:000000000000:table/nothing.here"


def test_there_are_no_exports(client: Any, raw: RawClient) -> None:
    requests: list[dict[str, Any]] = [{}, {"TableArn": tagged_table(client), "MaxResults": 25}, {"TableArn": MISSING}]
    for request in requests:
        reply = raw("ListExports", request)
        assert (reply.status, reply.json()) == (200, {"ExportSummaries": []})
    assert client.list_exports()["ExportSummaries"] == []


def test_the_arn_names_a_table(raw: RawClient) -> None:
    assert "ARNs must start with 'arn:'" in str(validation(raw, "ListExports", {"TableArn": "music"}))
    assert "Invalid TableArn" in str(validation(raw, "ListExports", {"TableArn": MISSING + "/index/i"}))
    assert fault(raw, "ListExports", {"TableArn": "arn:aws"})[0] == "AccessDeniedException"


@pytest.mark.parametrize("size", [0, 26])
def test_pages_have_a_size(raw: RawClient, size: int) -> None:
    bound = "greater than or equal to 1" if size == 0 else "less than or equal to 25"
    assert validation(raw, "ListExports", {"MaxResults": size}) == (
        f"1 validation error detected: Value '{size}' at 'maxResults' failed to satisfy constraint: "
        f"Member must have value {bound}"
    )


def test_tokens_that_nobody_gave_are_refused(raw: RawClient) -> None:
    assert "NextToken is not valid" in str(validation(raw, "ListExports", {"NextToken": "anything"}))
