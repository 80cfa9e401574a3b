"""DescribeKinesisStreamingDestination: list the Kinesis streams that a table feeds. Always empty. Order of checks: name → table exists."""

from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class DescribeKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_kinesis_streaming_destination(
    scope: Scope, request: DescribeKinesisStreamingDestinationRequest
) -> Reply:
    """The table's name, even if the request has its ARN, and an empty list of destinations."""
    table = await described_table(scope, request.TableName)
    return {"TableName": table.name, "KinesisDataStreamDestinations": []}


OPERATION = Operation(
    name="DescribeKinesisStreamingDestination",
    request=DescribeKinesisStreamingDestinationRequest,
    run=describe_kinesis_streaming_destination,
    tables=by_table_name,
    rules=TABLE_NAME_FIRST,
)
