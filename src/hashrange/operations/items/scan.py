"""Scan: all items of a table or index, or of one segment of it, in hash order.

Order of checks: in the slow path members that are required, numbers with an empty table name, the table's name with
ReturnConsumedCapacity → legacy combined with expression parameters → AttributesToGet repeats → ScanFilter →
ExclusiveStartKey values → expressions → Select → Segment and TotalSegments → table → index → projection of the index →
start key → paths into keys.
Source: the newer of Scan's two layers, captures to 23 October 2026 (observed-2026-11.md 5).
"""

import msgspec

from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.expressions.condition import CompiledCondition, compile_condition
from hashrange.expressions.legacy import filter_condition
from hashrange.expressions.parameters import NO_VALUES, check_unused
from hashrange.items.values import check_values
from hashrange.messages import reads as say
from hashrange.messages import requests as messages
from hashrange.operations import shapes
from hashrange.operations.items import constraint_wordings
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import SCAN, check_operation_parameters
from hashrange.operations.items.projections import (
    check_attributes_to_get,
    check_select,
    fetched_projection,
    fetches_items,
    requested_projection,
)
from hashrange.operations.items.read_page import Wanted, check_start_values, read_reply, requested_source
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter
from hashrange.operations.naming import reading_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import HashOrderedRows, Reply
from hashrange.soon import Soon
from hashrange.tables.read_spans import continue_scan, scan_span, scan_start_key
from hashrange.wire.rules import ON_OTHER_FORMS, Constraint, ConstraintWording, RequestRules


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which the older layer reports their faults."""

    Select: shapes.UncheckedSelect | None = None
    IndexName: shapes.IndexName | None = None
    TotalSegments: shapes.TotalSegments | None = None
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ConditionalOperator: shapes.UncheckedConditionalOperator | None = None
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
    condition = _legacy_filter(request)
    start_item = check_start_values(request.ExclusiveStartKey)
    names = request.ExpressionAttributeNames
    values = NO_VALUES if request.ExpressionAttributeValues is None else check_values(request.ExpressionAttributeValues)
    if request.FilterExpression is not None:
        condition = compile_condition("FilterExpression", request.FilterExpression, names, values)
    projection = requested_projection(request)
    check_unused(names, values, condition, projection)
    check_select(request)
    _check_segments(request.Segment, request.TotalSegments)
    if table is None:
        raise ResourceNotFoundException(say.TABLE_NOT_FOUND)

    consistent = request.ConsistentRead is True
    source = requested_source(table, request.IndexName, consistent=consistent, is_scan=True)
    fetches = fetches_items(request, source, projection, condition)
    span = scan_span(request.Segment, request.TotalSegments)
    if start_item is not None:
        span = continue_scan(span, scan_start_key(table, source, start_item), request.Segment, request.TotalSegments)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    if projection is not None:
        check_key_paths(table, projection.nested_attributes)

    is_count = request.Select == "COUNT"
    returned = fetched_projection(request, source, projection) if fetches else projection
    wanted = Wanted(table, source, consistent, condition, values, returned, is_count, fetches, HashOrderedRows)
    return read_reply(scope, wanted, span, request.Limit, request.TableName, meter)


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
        raise ValidationException(say.TOTAL_SEGMENTS_MISSING)
    if segment is None:
        raise ValidationException(say.SEGMENT_MISSING)
    if segment >= total_segments:
        raise ValidationException(say.SEGMENT_NOT_BELOW_TOTAL)


_SPECIAL_WORDINGS: dict[tuple[str, Constraint], str] = {
    ("limit", "minimum"): messages.LIMIT_TOO_SMALL,
    ("segment", "minimum"): messages.SEGMENT_TOO_SMALL,
    ("segment", "maximum"): messages.SEGMENT_TOO_LARGE,
    ("tableName", "min_length"): messages.TABLE_NAME_EMPTY,
    ("totalSegments", "minimum"): messages.TOTAL_SEGMENTS_TOO_SMALL,
    ("totalSegments", "maximum"): messages.TOTAL_SEGMENTS_TOO_LARGE,
}
OPERATION = reading_operation(
    "Scan",
    scan,
    RequestRules(
        wordings={
            **{rule: ConstraintWording(text) for rule, text in _SPECIAL_WORDINGS.items()},
            **constraint_wordings.UNKNOWN_OPERATORS,
            ("select", "enumeration"): ConstraintWording(is_later=True),
            ("conditionalOperator", "enumeration"): ConstraintWording(is_later=True),
        },
        stages=(tuple(_SPECIAL_WORDINGS), constraint_wordings.TABLE_AND_CAPACITY),
        falls_back=ON_OTHER_FORMS,
    ),
)
