"""ImportTable: what is refused before an import begins; tests/unit/transfers tests imports."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, definitions, fresh_name, validation
from tests.support.raw_client import RawClient


def request(**members: Any) -> dict[str, Any]:
    return {
        "S3BucketSource": {"S3Bucket": "bucket"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": create_request(fresh_name()),
    } | members


@pytest.mark.parametrize("member", ["S3BucketSource", "InputFormat", "TableCreationParameters"])
def test_a_member_is_required(raw: RawClient, member: str) -> None:
    place = member[0].lower() + member[1:]
    assert f"Value null at '{place}' failed to satisfy constraint: Member must not be null" in str(
        validation(raw, "ImportTable", request(**{member: None}))
    )


def test_a_delimiter_is_one_sign_of_some(raw: RawClient) -> None:
    options = {"Csv": {"Delimiter": "::"}}
    message = str(validation(raw, "ImportTable", request(InputFormat="CSV", InputFormatOptions=options)))
    assert message.startswith("2 validation errors detected: ")
    assert "Member must have length less than or equal to 1" in message
    assert "Member must satisfy regular expression pattern: [,;:|\\t ]" in message


def test_options_are_those_of_the_format(raw: RawClient) -> None:
    assert validation(raw, "ImportTable", request(InputFormatOptions={"Csv": {}})) == (
        "Invalid Request: Unsupported InputFormatOptions for the given input format: DYNAMODB_JSON."
    )


def test_the_table_is_checked_as_by_create_table(raw: RawClient) -> None:
    table = create_request(fresh_name(), AttributeDefinitions=definitions("id", "unused"))
    assert "Number of attributes in KeySchema does not exactly match" in str(
        validation(raw, "ImportTable", request(TableCreationParameters=table))
    )
