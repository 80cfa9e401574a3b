"""What do the operations on Kinesis destinations share?
Their members, the lookup of a table that may be changed, and the reply.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.errors import ResourceNotFoundException
from hashrange.messages import tables as say
from hashrange.operations.described_table import described_table
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.tables.kinesis_destinations import DestinationStatus
from hashrange.tables.schema import KinesisDestination, Table, TimePrecision
from hashrange.tables.states import status

DataStreamArn = Annotated[str, Meta(max_length=1024)]
"""A Kinesis data stream. The API model has a minimum length of 37, which the service does not check."""


class EnableKinesisStreamingConfiguration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The precision of the creation times in the records that Kinesis gets."""

    ApproximateCreationDateTimePrecision: TimePrecision | None = None


class UpdateKinesisStreamingConfiguration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The precision in a request of UpdateKinesisStreamingDestination."""

    ApproximateCreationDateTimePrecision: TimePrecision | None = None


async def changeable_table(scope: Scope, name_or_arn: str, now_seconds: float) -> Table:
    """The table, in any state but CREATING. Raises ResourceNotFoundException, Malformed for an impossible name."""
    table = await described_table(scope, name_or_arn)
    if status(table, now_seconds) == "CREATING":
        raise ResourceNotFoundException(say.TABLE_NOT_FOUND.format(name=table.name))
    return table


def destination_of(table: Table, stream_arn: str) -> KinesisDestination | None:
    """The table's destination for a Kinesis stream, in any state; None if there is none."""
    return next((one for one in table.kinesis_destinations if one.stream_arn == stream_arn), None)


def described_precision(precision: TimePrecision | None) -> Reply:
    """A configuration as replies repeat it: empty without a precision."""
    return {} if precision is None else {"ApproximateCreationDateTimePrecision": precision}


def destination_reply(table: Table, stream_arn: str, shown: DestinationStatus) -> Reply:
    """The members that the replies of all three operations have."""
    return {"TableName": table.name, "StreamArn": stream_arn, "DestinationStatus": shown}
