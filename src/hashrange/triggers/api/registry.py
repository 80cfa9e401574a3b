"""Which operations of Lambda's API work on event source mappings? Those of `OPERATIONS`."""

from hashrange.aws_services.operation import Operation
from hashrange.functions.api.operation import RestWire
from hashrange.triggers.api import event_source_mappings, mapping_tags

OPERATIONS: tuple[Operation[RestWire], ...] = (*event_source_mappings.OPERATIONS, *mapping_tags.OPERATIONS)
