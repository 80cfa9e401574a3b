"""StartBulkPutItems: what is refused before a bulk put begins; tests/unit/transfers tests bulk puts."""

from typing import Any

import pytest

from tests.conformance.tables import validation
from tests.support.raw_client import RawClient

REQUEST: dict[str, Any] = {
    "TableName": "nothing",
    "InputS3Configuration": {"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"},
    "OutputS3Configuration": {"S3Bucket": "bucket", "OutputType": ["ERROR"]},
}


@pytest.mark.parametrize("member", sorted(REQUEST))
def test_a_member_is_required(raw: RawClient, member: str) -> None:
    place = member[0].lower() + member[1:]
    assert f"Value null at '{place}' failed to satisfy constraint: Member must not be null" in str(
        validation(raw, "StartBulkPutItems", REQUEST | {member: None})
    )


@pytest.mark.parametrize(
    ("output", "member"),
    [
        ({"OutputType": ["ERROR"]}, "S3Bucket"),
        ({"S3Bucket": "bucket", "OutputType": []}, "OutputType"),
    ],
)
def test_reports_need_a_bucket_and_a_type(raw: RawClient, output: dict[str, Any], member: str) -> None:
    refused = str(validation(raw, "StartBulkPutItems", REQUEST | {"OutputS3Configuration": output}))
    assert f"{member} expected to be provided in the output configuration" in refused


def test_csv_is_no_format_of_bulk_puts(raw: RawClient) -> None:
    source = {"S3Bucket": "bucket", "InputFormat": "CSV"}
    assert "Member must satisfy enum value set: [DYNAMODB_JSON, ION]" in str(
        validation(raw, "StartBulkPutItems", REQUEST | {"InputS3Configuration": source})
    )
