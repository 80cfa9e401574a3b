"""Which operations of Lambda's API work on event source mappings? Those of `OPERATIONS`.

The operations on tags take the place of those in `functions/api`: a protocol that is given
both must be given these last.
"""

from hashrange.aws_services.operation import Operation
from hashrange.functions.api.operation import RestWire
from hashrange.triggers.api import (
    create_event_source_mapping,
    delete_event_source_mapping,
    get_event_source_mapping,
    list_event_source_mappings,
    mapping_tags,
    update_event_source_mapping,
)

OPERATIONS: tuple[Operation[RestWire], ...] = (
    create_event_source_mapping.OPERATION,
    delete_event_source_mapping.OPERATION,
    get_event_source_mapping.OPERATION,
    list_event_source_mappings.OPERATION,
    *mapping_tags.OPERATIONS,
    update_event_source_mapping.OPERATION,
)
