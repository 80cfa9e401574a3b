"""The operations on event source mappings: CreateEventSourceMapping, UpdateEventSourceMapping,
DeleteEventSourceMapping, GetEventSourceMapping, ListEventSourceMappings.

Source of what replies say: Lambda's API reference; examples in the guide of its command line.
"""

from itertools import islice
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.operation import rest_operation
from hashrange.functions.api.tags import check_function_tags
from hashrange.functions.description import new_uuid
from hashrange.functions.names import read_reference, without_latest
from hashrange.functions.refusals import parameter_refusal
from hashrange.items.steps import walk
from hashrange.limits import MAPPINGS_PER_PAGE
from hashrange.messages import event_source_mappings as messages
from hashrange.messages.event_source_mappings import DELETE_IN_USE, UPDATE_IN_USE
from hashrange.messages.functions_api import cut
from hashrange.messages.triggers import NO_RECORDS_PROCESSED
from hashrange.triggers.api import lookup, requests
from hashrange.triggers.api.settings import require_agreement, settings_of
from hashrange.triggers.mapping import USER_ACTION, EventSourceMapping, StartingPosition
from hashrange.triggers.triggers import Triggers


def configuration_of(mapping: EventSourceMapping, state: str, last_result: str) -> dict[str, Any]:
    """The members of a reply. `state`: State; `last_result`: LastProcessingResult."""
    failure = {} if mapping.destination_arn is None else {"Destination": mapping.destination_arn}
    configuration: dict[str, Any] = {
        "UUID": mapping.uuid,
        "StartingPosition": mapping.starting_position,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.batching_window_seconds,
        "ParallelizationFactor": mapping.parallelization_factor,
        "EventSourceArn": mapping.stream_arn,
        "FunctionArn": mapping.function_arn,
        "LastModified": mapping.last_modified_seconds,
        "LastProcessingResult": last_result,
        "State": state,
        "StateTransitionReason": USER_ACTION,
        "DestinationConfig": {"OnFailure": failure},
        "MaximumRecordAgeInSeconds": mapping.record_age_seconds_max,
        "BisectBatchOnFunctionError": mapping.is_bisecting,
        "MaximumRetryAttempts": mapping.retry_attempts_max,
        "TumblingWindowInSeconds": mapping.tumbling_window_seconds,
        "FunctionResponseTypes": ["ReportBatchItemFailures"] if mapping.reports_item_failures else [],
        "EventSourceMappingArn": mapping.arn,
    }
    if mapping.filters:
        configuration["FilterCriteria"] = {"Filters": [{"Pattern": pattern} for pattern in mapping.filters]}
    settings = {
        "KMSKeyArn": mapping.kms_key_arn,
        "MetricsConfig": mapping.metrics_config,
        "LoggingConfig": mapping.logging_config,
    }
    return configuration | {name: setting for name, setting in settings.items() if setting is not None}


async def create_event_source_mapping(
    triggers: Triggers, caller: Caller, request: requests.CreateEventSourceMappingRequest
) -> dict[str, Any]:
    """CreateEventSourceMapping: let a function receive the records of a stream.

    Order of checks: constraints → event source → starting position → settings (`settings.py`) → tags → the stream
    exists → the function exists → the destination is known → no other mapping connects the two. The service's order is
    unconfirmed. The reply says Creating; without a delay of states, the mapping is Enabled, or Disabled, for the next
    request.

    Store the mapping and describe it as Creating.
    """
    arn = _stream_arn(request)
    position = _starting_position(request, arn)
    settings = settings_of(request)
    tags = request.Tags or {}
    check_function_tags(tags)
    lookup.require_stream(triggers, caller, arn)
    mapping = EventSourceMapping(
        uuid=new_uuid(),
        account=caller.account,
        region=caller.region,
        stream_arn=arn,
        function_arn=lookup.function_arn(triggers, caller, request.FunctionName),
        starting_position=position,
        tags=tags,
        **settings,
    )
    require_agreement(mapping.parallelization_factor, mapping.tumbling_window_seconds)
    lookup.require_destination(triggers, mapping)
    lookup.require_only_mapping(triggers, mapping)
    created = await triggers.mappings.create(mapping)
    return configuration_of(created, created.transition, NO_RECORDS_PROCESSED)


def _stream_arn(request: requests.CreateEventSourceMappingRequest) -> str:
    if request.SelfManagedEventSource is not None:
        raise parameter_refusal(messages.NO_DYNAMODB_STREAM.format(source="SelfManagedEventSource"))
    if request.EventSourceArn is None:
        raise parameter_refusal(messages.UNRECOGNIZED_SOURCE)
    return request.EventSourceArn


def _starting_position(request: requests.CreateEventSourceMappingRequest, arn: str) -> StartingPosition:
    position = request.StartingPosition
    if position is None:
        raise parameter_refusal(messages.NO_STARTING_POSITION)
    if position == "AT_TIMESTAMP":
        raise parameter_refusal(messages.UNSUPPORTED_POSITION.format(arn=cut(arn)))
    if request.StartingPositionTimestamp is not None:
        raise parameter_refusal(messages.TIMESTAMP_WITHOUT_POSITION)
    return position


async def update_event_source_mapping(
    triggers: Triggers, caller: Caller, request: requests.UpdateEventSourceMappingRequest
) -> dict[str, Any]:
    """UpdateEventSourceMapping: change what a mapping does, pause it or resume it. Its place in the stream stays the
    same.

    Order of checks: constraints → the mapping exists → its state may change → settings (`settings.py`) → the new
    function exists → the destination is known → no other mapping connects it with the stream. The service's order is
    unconfirmed. Members that are absent stay as they are; an empty FilterCriteria, DestinationConfig, MetricsConfig,
    LoggingConfig or KMSKeyArn takes away what there was.

    Replace the mapping and describe it as Updating, Enabling or Disabling.
    """
    old = lookup.find_resting_mapping(triggers, caller, request.UUID, UPDATE_IN_USE)
    settings = settings_of(request)
    if request.FunctionName is not None:
        settings["function_arn"] = lookup.function_arn(triggers, caller, request.FunctionName)
    new = msgspec.structs.replace(old, **settings)
    require_agreement(new.parallelization_factor, new.tumbling_window_seconds)
    lookup.require_destination(triggers, new)
    lookup.require_only_mapping(triggers, new)
    last_result = triggers.mappings.last_processing_result(old)
    replaced = await triggers.mappings.replace(old, new)
    return configuration_of(replaced, replaced.transition, last_result)


async def delete_event_source_mapping(
    triggers: Triggers, caller: Caller, request: requests.MappingUuidRequest
) -> dict[str, Any]:
    """DeleteEventSourceMapping: stop delivering records, and forget which were delivered.

    Order of checks: the mapping exists → its state may change.
    An invocation that runs goes on to its end, and is not retried.

    Delete the mapping and describe it as Deleting.
    """
    mapping = lookup.find_resting_mapping(triggers, caller, request.UUID, DELETE_IN_USE)
    last_result = triggers.mappings.last_processing_result(mapping)
    deleted = await triggers.mappings.delete(mapping)
    return configuration_of(deleted, deleted.transition, last_result)


async def get_event_source_mapping(
    triggers: Triggers, caller: Caller, request: requests.MappingUuidRequest
) -> dict[str, Any]:
    """GetEventSourceMapping: describe a mapping, and how its last batch ended.

    Describe the mapping in its present state.
    """
    mapping = lookup.find_mapping(triggers, caller, request.UUID)
    mappings = triggers.mappings
    return configuration_of(mapping, mappings.shown_state(mapping), mappings.last_processing_result(mapping))


async def list_event_source_mappings(
    triggers: Triggers, caller: Caller, request: requests.ListEventSourceMappingsRequest
) -> dict[str, Any]:
    """ListEventSourceMappings: describe the caller's mappings, in the order of their UUIDs,
    all or those of one stream or function.

    A function that does not exist has no mappings (unconfirmed). NextMarker is the UUID of the last mapping on the
    page.

    Describe one page of mappings in their present states.
    """
    function = None
    if request.FunctionName is not None:
        function = without_latest(read_reference(request.FunctionName, caller).arn)
    count_max = min(request.MaxItems or MAPPINGS_PER_PAGE, MAPPINGS_PER_PAGE)
    mappings = triggers.mappings
    fitting = (
        one
        for one in walk(mappings.all_of(caller))
        if one.uuid > (request.Marker or "")
        and request.EventSourceArn in (None, one.stream_arn)
        and function in (None, without_latest(one.function_arn))
    )
    shown = list(islice(fitting, count_max + 1))
    page = shown[:count_max]
    reply: dict[str, Any] = {
        "EventSourceMappings": [
            configuration_of(one, mappings.shown_state(one), mappings.last_processing_result(one)) for one in page
        ]
    }
    if len(shown) > count_max:
        reply["NextMarker"] = page[-1].uuid
    return reply


OPERATIONS = (
    rest_operation(
        "CreateEventSourceMapping", requests.CreateEventSourceMappingRequest, create_event_source_mapping, status=202
    ),
    rest_operation(
        "UpdateEventSourceMapping", requests.UpdateEventSourceMappingRequest, update_event_source_mapping, status=202
    ),
    rest_operation("DeleteEventSourceMapping", requests.MappingUuidRequest, delete_event_source_mapping, status=202),
    rest_operation("GetEventSourceMapping", requests.MappingUuidRequest, get_event_source_mapping),
    rest_operation("ListEventSourceMappings", requests.ListEventSourceMappingsRequest, list_event_source_mappings),
)
