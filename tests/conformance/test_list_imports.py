"""ListImports: an empty page, and the validation of its members."""

from typing import Any

import pytest

from tests.conformance.tables import fault, tagged_table, validation
from tests.support.raw_client import RawClient

MISSING = "arn:aws:dynamodb:us-east-1:000000000000:table/nothing.here"


def test_there_are_no_imports(client: Any, raw: RawClient) -> None:
    requests: list[dict[str, Any]] = [{}, {"TableArn": tagged_table(client), "PageSize": 25}, {"TableArn": MISSING}]
    for request in requests:
        reply = raw("ListImports", request)
        assert (reply.status, reply.json()) == (200, {"ImportSummaryList": []})
    assert client.list_imports()["ImportSummaryList"] == []


def test_the_arn_names_a_table(raw: RawClient) -> None:
    assert "ARNs must start with 'arn:'" in str(validation(raw, "ListImports", {"TableArn": "music"}))
    assert "Invalid TableArn" in str(validation(raw, "ListImports", {"TableArn": MISSING + "/index/i"}))
    assert fault(raw, "ListImports", {"TableArn": "arn:aws"})[0] == "AccessDeniedException"


@pytest.mark.parametrize("size", [0, 26])
def test_pages_have_a_size(raw: RawClient, size: int) -> None:
    bound = "greater than or equal to 1" if size == 0 else "less than or equal to 25"
    assert validation(raw, "ListImports", {"PageSize": size}) == (
        f"1 validation error detected: Value '{size}' at 'pageSize' failed to satisfy constraint: "
        f"Member must have value {bound}"
    )


def test_tokens_that_nobody_gave_are_refused(raw: RawClient) -> None:
    assert "NextToken is not valid" in str(validation(raw, "ListImports", {"NextToken": "0123456789abcdef" * 7}))


def test_tokens_have_a_form(raw: RawClient) -> None:
    message = str(validation(raw, "ListImports", {"NextToken": "xyz"}))
    assert message.startswith("2 validation errors detected: Value 'xyz' at 'nextToken' failed to satisfy constraint: ")
    assert "Member must satisfy regular expression pattern: ([0-9a-f]{16})+" in message
    assert "Member must have length greater than or equal to 112" in message
