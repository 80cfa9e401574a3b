"""DisableKinesisStreamingDestination: stop a table from feeding a Kinesis stream. Always refused: no table feeds one yet.

Order of checks: name, member constraints → table exists → the table feeds the stream.
"""

from typing import Annotated, Literal, NoReturn

import msgspec
from msgspec import Meta

from hashrange.errors import ValidationException
from hashrange.messages import other_services as say
from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope


class EnableKinesisStreamingConfiguration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The precision of the creation times in the Kinesis stream's records."""

    ApproximateCreationDateTimePrecision: Literal["MILLISECOND", "MICROSECOND"] | None = None


class DisableKinesisStreamingDestinationRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and the Kinesis stream."""

    StreamArn: Annotated[str, Meta(min_length=37, max_length=1024)]
    EnableKinesisStreamingConfiguration: "EnableKinesisStreamingConfiguration | None" = None


async def disable_kinesis_streaming_destination(
    scope: Scope, request: DisableKinesisStreamingDestinationRequest
) -> NoReturn:
    """Raise ValidationException: the table feeds no Kinesis stream. ResourceNotFoundException for a missing table."""
    table = await described_table(scope, request.TableName)
    raise ValidationException(say.NO_STREAMING_DESTINATION.format(arn=request.StreamArn, name=table.name))


OPERATION = Operation(
    name="DisableKinesisStreamingDestination",
    request=DisableKinesisStreamingDestinationRequest,
    run=disable_kinesis_streaming_destination,
    tables=by_table_name,
    writes=True,
    rules=TABLE_NAME_FIRST,
)
