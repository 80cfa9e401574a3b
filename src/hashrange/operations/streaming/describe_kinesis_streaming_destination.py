"""DescribeKinesisStreamingDestination: which Kinesis streams does a table feed? None yet. Order of checks: name → table exists."""

import msgspec

from hashrange.operations.described import TableRequest, described_table
from hashrange.operations.operation import Operation, Scope


class DescribeKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_kinesis_streaming_destination(
    scope: Scope, request: DescribeKinesisStreamingDestinationRequest
) -> bytes:
    """The table's bare name and an empty list."""
    table = await described_table(scope, request.TableName)
    return msgspec.json.encode({"TableName": table.name, "KinesisDataStreamDestinations": []})


OPERATION = Operation(
    "DescribeKinesisStreamingDestination",
    DescribeKinesisStreamingDestinationRequest,
    describe_kinesis_streaming_destination,
)
