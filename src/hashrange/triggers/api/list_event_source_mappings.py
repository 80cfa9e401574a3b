"""ListEventSourceMappings: describe the caller's mappings, in the order of their UUIDs,
all or those of one stream or function.

A function that does not exist has no mappings (unconfirmed). NextMarker is the UUID of the last mapping on the page.
"""

from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.functions.names import read_reference, without_latest
from hashrange.items.steps import walk
from hashrange.limits import MAPPINGS_PER_PAGE
from hashrange.triggers.api.configuration import configuration_of
from hashrange.triggers.api.requests import ListEventSourceMappingsRequest
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.triggers import Triggers


async def list_event_source_mappings(
    triggers: Triggers, caller: Caller, request: ListEventSourceMappingsRequest
) -> dict[str, Any]:
    """Describe one page of mappings in their present states."""
    function = None
    if request.FunctionName is not None:
        function = without_latest(read_reference(request.FunctionName, caller).arn)
    count_max = min(request.MaxItems or MAPPINGS_PER_PAGE, MAPPINGS_PER_PAGE)
    mappings = triggers.mappings
    shown: list[EventSourceMapping] = []
    for mapping in walk(mappings.all_of(caller)):
        if mapping.uuid <= (request.Marker or ""):
            continue
        if request.EventSourceArn not in (None, mapping.stream_arn):
            continue
        if function not in (None, without_latest(mapping.function_arn)):
            continue
        shown.append(mapping)
        if len(shown) > count_max:
            break
    page = shown[:count_max]
    reply: dict[str, Any] = {
        "EventSourceMappings": [
            configuration_of(one, mappings.shown_state(one), mappings.last_processing_result(one)) for one in page
        ]
    }
    if len(shown) > count_max:
        reply["NextMarker"] = page[-1].uuid
    return reply


OPERATION = Operation(
    "ListEventSourceMappings",
    ListEventSourceMappingsRequest,
    list_event_source_mappings,
    RestWire(
        "GET",
        "/2015-03-31/event-source-mappings",
        query={
            "EventSourceArn": "EventSourceArn",
            "FunctionName": "FunctionName",
            "Marker": "Marker",
            "MaxItems": "MaxItems",
        },
    ),
)
