"""Scan: all items of a table or index, or of one segment of it, in hash order.

Order of checks: legacy combined with expression parameters → AttributesToGet repeats → ScanFilter →
ExclusiveStartKey values → Segment and TotalSegments → expressions → table → index → start key → paths into keys →
Select → projection of the index.
"""

import msgspec

from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.expressions.condition import CompiledCondition, compile_condition
from hashrange.expressions.legacy_conditions import filter_condition
from hashrange.expressions.parameters import check_unused
from hashrange.items.values import check_values
from hashrange.messages.reads import SEGMENT_MISSING, SEGMENT_TOO_LARGE, TABLE_NOT_FOUND, TOTAL_SEGMENTS_MISSING
from hashrange.operations import shapes
from hashrange.operations.items import constraint_wordings
from hashrange.operations.items.compiled_expressions import NO_VALUES
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import SCAN, check_operation_parameters
from hashrange.operations.items.projections import (
    check_attributes_to_get,
    check_select,
    fetches_items,
    requested_projection,
    returned_projection,
)
from hashrange.operations.items.read_page import Wanted, read_reply
from hashrange.operations.items.read_start import check_start_values, requested_source
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon
from hashrange.tables.read_spans import continue_scan, scan_span, scan_start_key
from hashrange.wire.rules import RequestRules


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    Select: shapes.Select | None = None
    IndexName: shapes.IndexName | None = None
    TotalSegments: shapes.TotalSegments | None = None
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ConditionalOperator: shapes.ConditionalOperator | None = None
    ScanFilter: shapes.FilterConditionMap | None = None
    Segment: shapes.Segment | None = None
    Limit: shapes.PositiveInteger | None = None
    AttributesToGet: shapes.AttributeNameList | None = None
    ConsistentRead: bool | None = None
    ExclusiveStartKey: shapes.AttributeMap | None = None
    ProjectionExpression: str | None = None
    FilterExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


def scan(scope: Scope, request: ScanRequest, meter: Meter) -> Soon[Reply]:
    """Return one page of items; raises the first fault."""
    table = find_active_table(scope, request.TableName)
    check_operation_parameters(request, SCAN)
    check_attributes_to_get(request.AttributesToGet)
    legacy_filter = _legacy_filter(request)
    start_item = check_start_values(request.ExclusiveStartKey)
    _check_segments(request.Segment, request.TotalSegments)
    names = request.ExpressionAttributeNames
    values = NO_VALUES if request.ExpressionAttributeValues is None else check_values(request.ExpressionAttributeValues)
    condition = legacy_filter
    if request.FilterExpression is not None:
        condition = compile_condition("FilterExpression", request.FilterExpression, names, values)
    projection = requested_projection(request)
    check_unused(names, values, condition, projection)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)

    source = requested_source(table, request.IndexName, consistent=request.ConsistentRead is True)
    span = scan_span(request.Segment, request.TotalSegments)
    if start_item is not None:
        span = continue_scan(span, scan_start_key(table, source, start_item), request.Segment, request.TotalSegments)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    if projection is not None:
        check_key_paths(table, projection.nested_attributes)
    check_select(request)

    consistent = request.ConsistentRead is True
    is_count = request.Select == "COUNT"
    fetches = fetches_items(request, source, projection, condition)
    returned = returned_projection(request, source, projection, fetches=fetches)
    wanted = Wanted(condition, values, returned, is_count, fetches)
    return read_reply(
        scope, table, source, span, request.Limit, wanted, request.TableName, meter, consistent=consistent
    )


def _legacy_filter(request: ScanRequest) -> CompiledCondition | None:
    """ScanFilter and ConditionalOperator compiled to a condition; None if neither is given."""
    if request.ScanFilter is None and request.ConditionalOperator is None:
        return None
    shapes.check_legacy(request.ScanFilter or {}, shapes.Condition)
    return filter_condition(request.ScanFilter, request.ConditionalOperator, "ScanFilter")


def _check_segments(segment: int | None, total_segments: int | None) -> None:
    """Raise ValidationException unless Segment and TotalSegments are both absent, or Segment < TotalSegments."""
    if segment is None and total_segments is None:
        return
    if total_segments is None:
        raise ValidationException(TOTAL_SEGMENTS_MISSING)
    if segment is None:
        raise ValidationException(SEGMENT_MISSING)
    if segment >= total_segments:
        raise ValidationException(SEGMENT_TOO_LARGE.format(segment=segment, total=total_segments))


OPERATION = Operation(
    name="Scan",
    request=ScanRequest,
    run=scan,
    capacity="one",
    wording="older",
    tables=by_table_name,
    rules=RequestRules(wordings=constraint_wordings.TABLE_NAME),
    is_eventual=lambda request: request.ConsistentRead is not True,
)
