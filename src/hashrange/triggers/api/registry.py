"""Which operations of Lambda's API work on event source mappings? Those of `OPERATIONS`, one file each.

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
    list_tags,
    tag_resource,
    untag_resource,
    update_event_source_mapping,
)

OPERATIONS: tuple[Operation[RestWire], ...] = (
    create_event_source_mapping.OPERATION,
    delete_event_source_mapping.OPERATION,
    get_event_source_mapping.OPERATION,
    list_event_source_mappings.OPERATION,
    list_tags.OPERATION,
    tag_resource.OPERATION,
    untag_resource.OPERATION,
    update_event_source_mapping.OPERATION,
)
