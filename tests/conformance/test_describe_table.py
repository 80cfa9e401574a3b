"""DescribeTable: by name and ARN, and its errors for tables that do not exist."""

from typing import Any

import pytest

from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient


def test_a_table_is_described_by_name_and_by_arn(client: Any) -> None:
    name = fresh_name()
    client.create_table(**create_request(name))
    by_name = client.describe_table(TableName=name)["Table"]
    assert by_name["TableArn"] == f"arn:aws:dynamodb:us-east-1:000000000000:table/{name}"
    assert client.describe_table(TableName=by_name["TableArn"])["Table"] == by_name


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
class TestNames:
    """The rules of TableName, the same for every operation that needs only a name."""

    def test_missing_table(self, raw: RawClient, operation: str) -> None:
        assert fault(raw, operation, {"TableName": "nothing.here"}) == (
            "ResourceNotFoundException",
            "Requested resource not found: Table: nothing.here not found",
        )

    def test_arn_of_another_region(self, raw: RawClient, operation: str) -> None:
        arn = "arn:aws:dynamodb:eu-west-1:000000000000:table/music"
        assert fault(raw, operation, {"TableName": arn})[0] == "ResourceNotFoundException"

    def test_no_name(self, raw: RawClient, operation: str) -> None:
        sentence = "The parameter 'TableName' is required but was not present in the request"
        assert validation(raw, operation, {}) == sentence
        assert validation(raw, operation, {"TableName": None}) == sentence

    @pytest.mark.parametrize("name", ["", "ab", "x" * 256])
    def test_length(self, raw: RawClient, operation: str, name: str) -> None:
        assert validation(raw, operation, {"TableName": name}) == (
            "TableName must be at least 3 characters long and at most 255 characters long"
        )

    def test_characters(self, raw: RawClient, operation: str) -> None:
        assert validation(raw, operation, {"TableName": "abc;"}) == (
            "1 validation error detected: Value 'abc;' at 'tableName' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
        )
