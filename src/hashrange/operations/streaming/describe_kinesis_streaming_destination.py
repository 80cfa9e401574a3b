"""DescribeKinesisStreamingDestination: list the Kinesis data streams that a table's changes go to,
or went to within a day.

Order of checks: name → the table exists. The newest destination comes first.
"""

from hashrange.aws_services.operation import Operation
from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streaming.destination import described_precision
from hashrange.tables.kinesis_destinations import shown_destinations, status_of
from hashrange.tables.schema import KinesisDestination


class DescribeKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_kinesis_streaming_destination(
    scope: Scope, request: DescribeKinesisStreamingDestinationRequest
) -> Reply:
    """The table's name, even if the request has its ARN, and its destinations."""
    table = await described_table(scope, request.TableName)
    now_seconds = scope.clock.service_time()
    shown = [_described(one, now_seconds) for one in reversed(shown_destinations(table, now_seconds))]
    return {"TableName": table.name, "KinesisDataStreamDestinations": shown}


def _described(destination: KinesisDestination, now_seconds: float) -> Reply:
    """A destination; its failure is only told once it is no longer shown as ENABLING."""
    shown = status_of(destination, now_seconds)
    described: Reply = {"StreamArn": destination.stream_arn, "DestinationStatus": shown}
    if destination.description is not None and shown == destination.state:
        described["DestinationStatusDescription"] = destination.description
    return described | described_precision(destination.precision)


OPERATION = Operation(
    "DescribeKinesisStreamingDestination",
    DescribeKinesisStreamingDestinationRequest,
    describe_kinesis_streaming_destination,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
)
