"""EnableKinesisStreamingDestination: from now on, send the changes of a table's items to a Kinesis data stream.

Order of checks: name, member constraints → the table exists and is not CREATING → no other destination is ENABLING,
ACTIVE, UPDATING or DISABLING → the table is not being deleted → `--kinesis-endpoint` is set.

Any ARN is accepted: whether its data stream exists turns out later, and a destination that has none becomes
ENABLE_FAILED. The changes of the table are recorded from this request on, and delivered by a job (`triggers/kinesis`),
which asks for the data stream first.
"""

import uuid

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.messages import kinesis as descriptions
from hashrange.messages import other_services as say
from hashrange.operations.busy_tables import require_changeable_tags
from hashrange.operations.described_table import TableRequest
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streaming.destination import (
    DataStreamArn,
    EnableKinesisStreamingConfiguration,
    changeable_table,
    described_precision,
    destination_reply,
)
from hashrange.tables.kinesis_destinations import FEED_PREFIX, live_destination, read_arn, with_destination
from hashrange.tables.schema import KinesisDestination, Table


class EnableKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, the Kinesis stream, and the precision of creation times."""

    StreamArn: DataStreamArn
    EnableKinesisStreamingConfiguration: "EnableKinesisStreamingConfiguration | None" = None


async def enable_kinesis_streaming_destination(
    scope: Scope, request: EnableKinesisStreamingDestinationRequest
) -> Reply:
    """Store the destination, as ENABLING or as what becomes ENABLE_FAILED; the reply says ENABLING."""
    given = request.EnableKinesisStreamingConfiguration
    precision = None if given is None else given.ApproximateCreationDateTimePrecision
    feed_label = f"{FEED_PREFIX}{uuid.uuid4()}"
    while True:
        now_seconds = scope.clock.service_time()
        table = await changeable_table(scope, request.TableName, now_seconds)
        if live_destination(table, now_seconds) is not None:
            raise ValidationException(say.DESTINATION_LIVE)
        require_changeable_tags(table, now_seconds)
        if scope.settings.kinesis_endpoint is None:
            raise ValidationException(say.NO_KINESIS_ENDPOINT)
        failure = _failure(table, request.StreamArn, is_shared=scope.settings.shared_db)
        new = KinesisDestination(
            request.StreamArn,
            feed_label,
            "ENABLING" if failure is None else "ENABLE_FAILED",
            now_seconds,
            now_seconds + scope.state_delay(table.name),
            precision=precision,
            description=failure,
        )
        if await scope.store.catalog.replace(table, with_destination(table, new, now_seconds)):
            reply = destination_reply(table, request.StreamArn, "ENABLING")
            return reply | {"EnableKinesisStreamingConfiguration": described_precision(precision)}


def _failure(table: Table, stream_arn: str, *, is_shared: bool) -> str | None:
    """Why an ARN cannot be that of the table's data stream, in the words of the description; None if it can be.

    `is_shared`: all accounts and Regions have the same tables, so the ARN may name any of them.
    """
    arn = read_arn(stream_arn)
    if arn is None:
        return descriptions.NO_PERMISSION  # (unconfirmed)
    if arn.service not in ("kinesis", "dynamodb"):
        return descriptions.NOT_ACTIVE
    if arn.name is None:
        return descriptions.NO_PERMISSION
    if arn.region != table.region and not is_shared:
        return descriptions.OTHER_REGION
    if arn.account != table.account and not is_shared:
        return descriptions.NOT_ACTIVE
    return None


OPERATION = Operation(
    "EnableKinesisStreamingDestination",
    EnableKinesisStreamingDestinationRequest,
    enable_kinesis_streaming_destination,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
    writes=True,
)
