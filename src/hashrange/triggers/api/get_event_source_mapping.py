"""GetEventSourceMapping: describe a mapping, and how its last batch ended."""

from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.triggers.api.configuration import configuration_of
from hashrange.triggers.api.lookup import find_mapping
from hashrange.triggers.api.requests import MappingUuidRequest
from hashrange.triggers.triggers import Triggers


async def get_event_source_mapping(triggers: Triggers, caller: Caller, request: MappingUuidRequest) -> dict[str, Any]:
    """Describe the mapping in its present state."""
    mapping = find_mapping(triggers, caller, request.UUID)
    mappings = triggers.mappings
    return configuration_of(mapping, mappings.shown_state(mapping), mappings.last_processing_result(mapping))


OPERATION = Operation(
    "GetEventSourceMapping",
    MappingUuidRequest,
    get_event_source_mapping,
    RestWire("GET", "/2015-03-31/event-source-mappings/{UUID}"),
)
