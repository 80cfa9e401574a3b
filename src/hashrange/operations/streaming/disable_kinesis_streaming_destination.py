"""DisableKinesisStreamingDestination: no longer send the changes of a table's items to a Kinesis data stream.

Order of checks: name, member constraints → no precision is given (unconfirmed whether before the table) → the table
exists and is not CREATING → the destination is ACTIVE, or already DISABLING.

Changes up to this request are still delivered.
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
    EnableKinesisStreamingConfiguration,
    changeable_table,
    destination_of,
    destination_reply,
)
from hashrange.tables.kinesis_destinations import status_of, with_destination


class DisableKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and the Kinesis stream. A precision is refused."""

    StreamArn: DataStreamArn
    EnableKinesisStreamingConfiguration: "EnableKinesisStreamingConfiguration | None" = None


async def disable_kinesis_streaming_destination(
    scope: Scope, request: DisableKinesisStreamingDestinationRequest
) -> Reply:
    """Store that the destination is DISABLED; the reply says DISABLING."""
    given = request.EnableKinesisStreamingConfiguration
    if given is not None and given.ApproximateCreationDateTimePrecision is not None:
        raise ValidationException(say.PRECISION_NOT_ALLOWED)
    while True:
        now_seconds = scope.clock.service_time()
        table = await changeable_table(scope, request.TableName, now_seconds)
        destination = destination_of(table, request.StreamArn)
        shown = None if destination is None else status_of(destination, now_seconds)
        if destination is not None and shown == "DISABLING":
            return destination_reply(table, request.StreamArn, "DISABLING")
        if destination is None or shown != "ACTIVE" or table.deleted_at_seconds is not None:
            raise ValidationException(say.DESTINATION_NOT_ACTIVE)
        new = msgspec.structs.replace(
            destination,
            state="DISABLED",
            changed_at_seconds=now_seconds,
            changing_until_seconds=now_seconds + scope.state_delay(table.name),
        )
        if await scope.store.catalog.replace(table, with_destination(table, new, now_seconds)):
            return destination_reply(table, request.StreamArn, "DISABLING")


OPERATION = Operation(
    "DisableKinesisStreamingDestination",
    DisableKinesisStreamingDestinationRequest,
    disable_kinesis_streaming_destination,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
    writes=True,
)
