"""UpdateEventSourceMapping: change what a mapping does, pause it or resume it. Its place in the stream stays the same.

Order of checks: constraints → the mapping exists → its state may change → settings (`settings.py`) → the new function
exists → the destination is known → no other mapping connects it with the stream.
The service's order is unconfirmed. Members that are absent stay as they are; an empty FilterCriteria,
DestinationConfig, MetricsConfig, LoggingConfig or KMSKeyArn takes away what there was.
"""

from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.messages.event_source_mappings import UPDATE_IN_USE
from hashrange.triggers.api.configuration import configuration_of
from hashrange.triggers.api.lookup import (
    find_resting_mapping,
    function_arn,
    in_use_refusal,
    require_destination,
    require_only_mapping,
)
from hashrange.triggers.api.requests import UpdateEventSourceMappingRequest
from hashrange.triggers.api.settings import require_agreement, settings_of
from hashrange.triggers.triggers import Triggers


async def update_event_source_mapping(
    triggers: Triggers, caller: Caller, request: UpdateEventSourceMappingRequest
) -> dict[str, Any]:
    """Replace the mapping and describe it as Updating, Enabling or Disabling."""
    old = find_resting_mapping(triggers, caller, request.UUID, UPDATE_IN_USE)
    settings = settings_of(request)
    if request.FunctionName is not None:
        settings["function_arn"] = function_arn(triggers, caller, request.FunctionName)
    new = msgspec.structs.replace(old, **settings)
    require_agreement(new.parallelization_factor, new.tumbling_window_seconds)
    require_destination(triggers, new)
    require_only_mapping(triggers, new)
    last_result = triggers.mappings.last_processing_result(old)
    replaced = await triggers.mappings.replace(old, new)
    if replaced is None:
        raise in_use_refusal(UPDATE_IN_USE)
    return configuration_of(replaced, replaced.transition, last_result)


OPERATION = Operation(
    "UpdateEventSourceMapping",
    UpdateEventSourceMappingRequest,
    update_event_source_mapping,
    RestWire("PUT", "/2015-03-31/event-source-mappings/{UUID}", status=202),
)
