"""UpdateKinesisStreamingDestination: change the precision of the creation times that a Kinesis data stream gets.

Order of checks: name, member constraints → a precision is given (unconfirmed whether before the table) → the table
exists and is not CREATING → it has a destination with this data stream → which is ACTIVE → and has another precision.
A destination without a precision has MILLISECOND.

Changes that are delivered after this request have the new precision.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.messages import other_services as say
from hashrange.operations.described_table import TableRequest
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streaming.destination import (
    DataStreamArn,
    UpdateKinesisStreamingConfiguration,
    changeable_table,
    described_precision,
    destination_of,
    destination_reply,
)
from hashrange.tables.kinesis_destinations import DEFAULT_PRECISION, status_of, with_destination


class UpdateKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, the Kinesis stream, and the new precision."""

    StreamArn: DataStreamArn
    UpdateKinesisStreamingConfiguration: "UpdateKinesisStreamingConfiguration | None" = None


async def update_kinesis_streaming_destination(
    scope: Scope, request: UpdateKinesisStreamingDestinationRequest
) -> Reply:
    """Store the new precision; the reply says UPDATING."""
    arn, given = request.StreamArn, request.UpdateKinesisStreamingConfiguration
    precision = None if given is None else given.ApproximateCreationDateTimePrecision
    if precision is None:
        raise ValidationException(say.PRECISION_REQUIRED)
    while True:
        now_seconds = scope.clock.service_time()
        table = await changeable_table(scope, request.TableName, now_seconds)
        destination = destination_of(table, arn)
        if destination is None:
            raise ValidationException(say.DESTINATION_MISSING.format(arn=arn, name=table.name))
        if status_of(destination, now_seconds) != "ACTIVE":
            raise ValidationException(say.DESTINATION_NOT_UPDATABLE.format(arn=arn, name=table.name))
        if precision == (destination.precision or DEFAULT_PRECISION):
            raise ValidationException(say.DESTINATION_UNCHANGED.format(precision=precision, uuid=table.uuid, arn=arn))
        new = msgspec.structs.replace(
            destination,
            precision=precision,
            is_updating=True,
            changed_at_seconds=now_seconds,
            changing_until_seconds=now_seconds + scope.state_delay(table.name),
        )
        if await scope.store.catalog.replace(table, with_destination(table, new, now_seconds)):
            reply = destination_reply(table, arn, "UPDATING")
            return reply | {"UpdateKinesisStreamingConfiguration": described_precision(precision)}


OPERATION = Operation(
    "UpdateKinesisStreamingDestination",
    UpdateKinesisStreamingDestinationRequest,
    update_kinesis_streaming_destination,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
    writes=True,
)
