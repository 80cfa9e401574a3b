"""ExportTableToPointInTime: what is refused before an export begins; tests/unit/transfers tests exports."""

from typing import Any

import pytest

from tests.conformance.tables import fault, validation
from tests.support.raw_client import RawClient

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/nothing.here"
REQUEST: dict[str, Any] = {"TableArn": ARN, "S3Bucket": "bucket"}


@pytest.mark.parametrize("member", ["TableArn", "S3Bucket"])
def test_a_member_is_required(raw: RawClient, member: str) -> None:
    request = {name: value for name, value in REQUEST.items() if name != member}
    place = member[0].lower() + member[1:]
    assert validation(raw, "ExportTableToPointInTime", request) == (
        f"1 validation error detected: Value null at '{place}' failed to satisfy constraint: Member must not be null"
    )


@pytest.mark.parametrize(
    ("members", "constraint"),
    [
        ({"S3Bucket": "a_"}, "Member must satisfy regular expression pattern: ^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$"),
        ({"S3Bucket": "a" * 256}, "Member must have length less than or equal to 255"),
        ({"ClientToken": "$"}, "Member must satisfy regular expression pattern: ^[^\\$]+$"),
        ({"S3BucketOwner": "1"}, "Member must satisfy regular expression pattern: [0-9]{12}"),
        ({"ExportFormat": "CSV"}, "Member must satisfy enum value set: [DYNAMODB_JSON, ION]"),
    ],
)
def test_members_have_constraints(raw: RawClient, members: dict[str, Any], constraint: str) -> None:
    assert constraint in str(validation(raw, "ExportTableToPointInTime", REQUEST | members))


def test_the_arn_names_a_table_of_the_account(raw: RawClient) -> None:
    request = REQUEST | {"TableArn": "music"}
    assert "ARNs must start with 'arn:'" in str(validation(raw, "ExportTableToPointInTime", request))
    other = REQUEST | {"TableArn": ARN.replace("000000000000", "111111111111")}
    assert fault(raw, "ExportTableToPointInTime", other)[0] == "AccessDeniedException"
