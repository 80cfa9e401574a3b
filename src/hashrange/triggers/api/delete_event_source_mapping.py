"""DeleteEventSourceMapping: stop delivering records, and forget which were delivered.

Order of checks: the mapping exists → its state may change.
An invocation that runs goes on to its end, and is not retried.
"""

from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.messages.event_source_mappings import DELETE_IN_USE
from hashrange.triggers.api.configuration import configuration_of
from hashrange.triggers.api.lookup import find_resting_mapping, in_use_refusal
from hashrange.triggers.api.requests import MappingUuidRequest
from hashrange.triggers.triggers import Triggers


async def delete_event_source_mapping(
    triggers: Triggers, caller: Caller, request: MappingUuidRequest
) -> dict[str, Any]:
    """Delete the mapping and describe it as Deleting."""
    mapping = find_resting_mapping(triggers, caller, request.UUID, DELETE_IN_USE)
    last_result = triggers.mappings.last_processing_result(mapping)
    deleted = await triggers.mappings.delete(mapping)
    if deleted is None:
        raise in_use_refusal(DELETE_IN_USE)
    return configuration_of(deleted, deleted.transition, last_result)


OPERATION = Operation(
    "DeleteEventSourceMapping",
    MappingUuidRequest,
    delete_event_source_mapping,
    RestWire("DELETE", "/2015-03-31/event-source-mappings/{UUID}", status=202),
)
