"""DisableKinesisStreamingDestination: no table has a streaming destination to disable."""

from typing import Any

from tests.conformance.tables import create_request, fault, fresh_name, validation
from tests.support.raw_client import RawClient

OPERATION = "DisableKinesisStreamingDestination"
STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"


def test_no_stream_is_fed(client: Any, raw: RawClient) -> None:
    name = fresh_name()
    arn = client.create_table(**create_request(name))["TableDescription"]["TableArn"]
    for table in (name, arn):
        assert validation(raw, OPERATION, {"TableName": table, "StreamArn": STREAM}) == (
            "Table is not in a valid state to disable Kinesis Streaming Destination: "
            f"No streaming destination with streamArn: {STREAM} found for table with tableName: {name}"
        )


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, OPERATION, {"TableName": "nothing.here", "StreamArn": STREAM}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )


def test_constraints(raw: RawClient) -> None:
    assert validation(raw, OPERATION, {"TableName": "nothing.here", "StreamArn": "arn:x"}) == (
        "1 validation error detected: Value 'arn:x' at 'streamArn' failed to satisfy constraint: "
        "Member must have length greater than or equal to 37"
    )
    assert validation(raw, OPERATION, {"StreamArn": STREAM}) == (
        "The parameter 'TableName' is required but was not present in the request"
    )
