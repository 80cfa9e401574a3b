"""The operations on the Kinesis data streams to which a table's changes go: EnableKinesisStreamingDestination,
UpdateKinesisStreamingDestination, DisableKinesisStreamingDestination, DescribeKinesisStreamingDestination.
"""

import uuid
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.errors import ValidationException
from hashrange.messages import kinesis as descriptions
from hashrange.messages import other_services as say
from hashrange.operations.lookup import TableRequest, described_table, existing_table, require_serving
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.tables.kinesis_destinations import (
    DEFAULT_PRECISION,
    FEED_PREFIX,
    DestinationStatus,
    live_destination,
    read_arn,
    shown_destinations,
    status_of,
    with_destination,
)
from hashrange.tables.schema import KinesisDestination, Table, TimePrecision

DataStreamArn = Annotated[str, Meta(max_length=1024)]
"""A Kinesis data stream. The API model has a minimum length of 37, which the service does not check."""


class EnableKinesisStreamingConfiguration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The precision of the creation times in the records that Kinesis gets."""

    ApproximateCreationDateTimePrecision: TimePrecision | None = None


class UpdateKinesisStreamingConfiguration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The precision in a request of UpdateKinesisStreamingDestination."""

    ApproximateCreationDateTimePrecision: TimePrecision | None = None


def destination_of(table: Table, stream_arn: str) -> KinesisDestination | None:
    """The table's destination for a Kinesis stream, in any state; None if there is none."""
    return next((one for one in table.kinesis_destinations if one.stream_arn == stream_arn), None)


def described_precision(precision: TimePrecision | None) -> Reply:
    """A configuration as replies repeat it: empty without a precision."""
    return {} if precision is None else {"ApproximateCreationDateTimePrecision": precision}


def destination_reply(table: Table, stream_arn: str, shown: DestinationStatus) -> Reply:
    """The members that the replies of all three operations have."""
    return {"TableName": table.name, "StreamArn": stream_arn, "DestinationStatus": shown}


class EnableKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, the Kinesis stream, and the precision of creation times."""

    StreamArn: DataStreamArn
    EnableKinesisStreamingConfiguration: "EnableKinesisStreamingConfiguration | None" = None


async def enable_kinesis_streaming_destination(
    scope: Scope, request: EnableKinesisStreamingDestinationRequest
) -> Reply:
    """EnableKinesisStreamingDestination: from now on, send the changes of a table's items to a Kinesis data stream.

    Order of checks: name, member constraints → the table exists and is not CREATING → no other destination is ENABLING,
    ACTIVE, UPDATING or DISABLING → the table is not being deleted → `--kinesis-endpoint` is set.

    Any ARN is accepted: whether its data stream exists turns out later, and a destination that has none becomes
    ENABLE_FAILED. The changes of the table are recorded from this request on, and delivered by a job
    (`triggers/kinesis`), which asks for the data stream first.

    Store the destination, as ENABLING or as what becomes ENABLE_FAILED; the reply says ENABLING.
    """
    given = request.EnableKinesisStreamingConfiguration
    precision = None if given is None else given.ApproximateCreationDateTimePrecision
    feed_label = f"{FEED_PREFIX}{uuid.uuid4()}"
    while True:
        now_seconds = scope.clock.service_time()
        table = await existing_table(scope, request.TableName)
        if live_destination(table, now_seconds) is not None:
            raise ValidationException(say.DESTINATION_LIVE)
        require_serving(table, now_seconds)
        if scope.settings.kinesis_endpoint is None:
            raise ValidationException(say.NO_KINESIS_ENDPOINT)
        failure = _failure(table, request.StreamArn, is_shared=scope.settings.shared_db)
        new = KinesisDestination(
            request.StreamArn,
            feed_label,
            "ENABLING" if failure is None else "ENABLE_FAILED",
            now_seconds,
            now_seconds + scope.state_delay(table.name, "EnableKinesisStreamingDestination"),
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


class UpdateKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, the Kinesis stream, and the new precision."""

    StreamArn: DataStreamArn
    UpdateKinesisStreamingConfiguration: "UpdateKinesisStreamingConfiguration | None" = None


async def update_kinesis_streaming_destination(
    scope: Scope, request: UpdateKinesisStreamingDestinationRequest
) -> Reply:
    """UpdateKinesisStreamingDestination: change the precision of the creation times that a Kinesis data stream gets.

    Order of checks: name, member constraints → a precision is given (unconfirmed whether before the table) → the table
    exists and is not CREATING → it has a destination with this data stream → which is ACTIVE → and has another
    precision. A destination without a precision has MILLISECOND.

    Changes that are delivered after this request have the new precision.

    Store the new precision; the reply says UPDATING.
    """
    arn, given = request.StreamArn, request.UpdateKinesisStreamingConfiguration
    precision = None if given is None else given.ApproximateCreationDateTimePrecision
    if precision is None:
        raise ValidationException(say.PRECISION_REQUIRED)
    while True:
        now_seconds = scope.clock.service_time()
        table = await existing_table(scope, request.TableName)
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
            changing_until_seconds=now_seconds + scope.state_delay(table.name, "UpdateKinesisStreamingDestination"),
        )
        if await scope.store.catalog.replace(table, with_destination(table, new, now_seconds)):
            reply = destination_reply(table, arn, "UPDATING")
            return reply | {"UpdateKinesisStreamingConfiguration": described_precision(precision)}


class DisableKinesisStreamingDestinationRequest(EnableKinesisStreamingDestinationRequest, frozen=True, gc=False):
    """The table by name or ARN, and the Kinesis stream. A precision is refused."""


async def disable_kinesis_streaming_destination(
    scope: Scope, request: DisableKinesisStreamingDestinationRequest
) -> Reply:
    """DisableKinesisStreamingDestination: no longer send the changes of a table's items to a Kinesis data stream.

    Order of checks: name, member constraints → no precision is given (unconfirmed whether before the table) → the table
    exists and is not CREATING → the destination is ACTIVE, or already DISABLING.

    Changes up to this request are still delivered.

    Store that the destination is DISABLED; the reply says DISABLING.
    """
    given = request.EnableKinesisStreamingConfiguration
    if given is not None and given.ApproximateCreationDateTimePrecision is not None:
        raise ValidationException(say.PRECISION_NOT_ALLOWED)
    while True:
        now_seconds = scope.clock.service_time()
        table = await existing_table(scope, request.TableName)
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
            changing_until_seconds=now_seconds + scope.state_delay(table.name, "DisableKinesisStreamingDestination"),
        )
        if await scope.store.catalog.replace(table, with_destination(table, new, now_seconds)):
            return destination_reply(table, request.StreamArn, "DISABLING")


async def describe_kinesis_streaming_destination(scope: Scope, request: TableRequest) -> Reply:
    """DescribeKinesisStreamingDestination: list the Kinesis data streams that a table's changes go to,
    or went to within a day.

    Order of checks: name → the table exists. The newest destination comes first.

    The table's name, even if the request has its ARN, and its destinations.
    """
    table = await described_table(scope, request.TableName)
    now_seconds = scope.clock.service_time()
    shown = [_described_destination(one, now_seconds) for one in reversed(shown_destinations(table, now_seconds))]
    return {"TableName": table.name, "KinesisDataStreamDestinations": shown}


def _described_destination(destination: KinesisDestination, now_seconds: float) -> Reply:
    """A destination; its failure is only told once it is no longer shown as ENABLING."""
    shown = status_of(destination, now_seconds)
    described: Reply = {"StreamArn": destination.stream_arn, "DestinationStatus": shown}
    if destination.description is not None and shown == destination.state:
        described["DestinationStatusDescription"] = destination.description
    return described | described_precision(destination.precision)


OPERATIONS = (
    table_operation(
        "EnableKinesisStreamingDestination", enable_kinesis_streaming_destination, writes=True, reaches_out=True
    ),
    table_operation("UpdateKinesisStreamingDestination", update_kinesis_streaming_destination, writes=True),
    table_operation("DisableKinesisStreamingDestination", disable_kinesis_streaming_destination, writes=True),
    table_operation("DescribeKinesisStreamingDestination", describe_kinesis_streaming_destination),
)
