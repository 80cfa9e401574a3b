"""DescribeKinesisStreamingDestination: a table without destinations;
what it says of others is in the tests of the other operations.
"""

from typing import Any

from tests.conformance.tables import create_request, fault, fresh_name
from tests.support.raw_client import RawClient


def test_there_is_no_destination(client: Any, raw: RawClient) -> None:
    name = fresh_name()
    arn = client.create_table(**create_request(name))["TableDescription"]["TableArn"]
    for table in (name, arn):
        reply = raw("DescribeKinesisStreamingDestination", {"TableName": table})
        assert (reply.status, reply.json()) == (200, {"TableName": name, "KinesisDataStreamDestinations": []})
    assert client.describe_kinesis_streaming_destination(TableName=name)["KinesisDataStreamDestinations"] == []


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, "DescribeKinesisStreamingDestination", {"TableName": "nothing.here"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )
