"""CreateEventSourceMapping: let a function receive the records of a stream.

Order of checks: constraints → event source → starting position → settings (`settings.py`) → tags → the stream exists →
the function exists → the destination is known → no other mapping connects the two. The service's order is unconfirmed.
The reply says Creating; without a delay of states, the mapping is Enabled, or Disabled, for the next request.
"""

from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.tags import check_function_tags
from hashrange.messages import event_source_mappings as messages
from hashrange.messages.triggers import NO_RECORDS_PROCESSED
from hashrange.triggers.api.configuration import configuration_of
from hashrange.triggers.api.lookup import function_arn, require_destination, require_only_mapping, require_stream
from hashrange.triggers.api.requests import CreateEventSourceMappingRequest
from hashrange.triggers.api.settings import mapping_refusal, require_agreement, settings_of
from hashrange.triggers.mapping import EventSourceMapping, StartingPosition
from hashrange.triggers.mappings import new_uuid
from hashrange.triggers.triggers import Triggers


async def create_event_source_mapping(
    triggers: Triggers, caller: Caller, request: CreateEventSourceMappingRequest
) -> dict[str, Any]:
    """Store the mapping and describe it as Creating."""
    arn = _stream_arn(request)
    position = _starting_position(request, arn)
    settings = settings_of(request)
    tags = request.Tags or {}
    check_function_tags(tags)
    require_stream(triggers, caller, arn)
    mapping = EventSourceMapping(
        uuid=new_uuid(),
        account=caller.account,
        region=caller.region,
        stream_arn=arn,
        function_arn=function_arn(triggers, caller, request.FunctionName),
        starting_position=position,
        tags=tags,
        **settings,
    )
    require_agreement(mapping.parallelization_factor, mapping.tumbling_window_seconds)
    require_destination(triggers, mapping)
    require_only_mapping(triggers, mapping)
    created = await triggers.mappings.create(mapping)
    return configuration_of(created, created.transition, NO_RECORDS_PROCESSED)


def _stream_arn(request: CreateEventSourceMappingRequest) -> str:
    if request.SelfManagedEventSource is not None:
        raise mapping_refusal(messages.no_dynamodb_stream("SelfManagedEventSource"))
    if request.EventSourceArn is None:
        raise mapping_refusal(messages.UNRECOGNIZED_SOURCE)
    return request.EventSourceArn


def _starting_position(request: CreateEventSourceMappingRequest, arn: str) -> StartingPosition:
    position = request.StartingPosition
    if position is None:
        raise mapping_refusal(messages.NO_STARTING_POSITION)
    if position == "AT_TIMESTAMP":
        raise mapping_refusal(messages.unsupported_position(arn))
    if request.StartingPositionTimestamp is not None:
        raise mapping_refusal(messages.TIMESTAMP_WITHOUT_POSITION)
    return position


OPERATION = Operation(
    "CreateEventSourceMapping",
    CreateEventSourceMappingRequest,
    create_event_source_mapping,
    RestWire("POST", "/2015-03-31/event-source-mappings", status=202),
)
