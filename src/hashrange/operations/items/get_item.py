"""GetItem: one item by its primary key.

Order of checks: mixing of parameters → Key values → AttributesToGet repeats → ProjectionExpression → table → key
schema → the projection's paths into key attributes.
"""

from functools import partial

import msgspec

from hashrange.errors import NestingFault, ResourceNotFoundException
from hashrange.expressions.parameters import NO_VALUES, check_unused
from hashrange.expressions.projection import CompiledProjection
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.items import constraint_wordings
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import GET_ITEM, check_operation_parameters
from hashrange.operations.items.nesting_checks import check_before_depth
from hashrange.operations.items.projections import check_attributes_to_get, project_row, requested_projection
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter, ReadUsage
from hashrange.operations.naming import reading_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon, then
from hashrange.tables.open_table import OpenTable
from hashrange.wire.rules import ON_OTHER_FORMS_AND_DEPTH, RequestRules


class GetItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    AttributesToGet: shapes.AttributeNameList | None = None
    TableName: shapes.TableName
    Key: shapes.AttributeMap
    ConsistentRead: bool | None = None
    ProjectionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None


RULES = RequestRules(wordings=constraint_wordings.TABLE_NAME, falls_back=ON_OTHER_FORMS_AND_DEPTH)


def get_item(scope: Scope, request: GetItemRequest, meter: Meter) -> Soon[Reply]:
    """Read the item, whole or projected; the reply has no `Item` if there is none."""
    table = find_active_table(scope, request.TableName)
    projection = key = None
    key_item: Item = {}
    if (
        request.ProjectionExpression is None
        and request.AttributesToGet is None
        and request.ExpressionAttributeNames is None
    ):
        if table is not None:
            key = table.usual_key(request.Key)
        if key is None:
            key_item = check_item(request.Key)[0]
    else:
        check_operation_parameters(request, GET_ITEM)
        try:
            key_item = check_item(request.Key)[0]
        except NestingFault:
            check_before_depth(RULES, request)
            raise
        check_attributes_to_get(request.AttributesToGet)
        projection = requested_projection(request)
        check_unused(request.ExpressionAttributeNames, NO_VALUES, projection)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    if key is None:
        key = table.lookup_key(key_item)
    if projection is not None:
        check_key_paths(table, projection.nested_attributes)
    row = scope.store.get(table.source_id, key, meter, consistent=request.ConsistentRead is True)
    if row is not None and not isinstance(row, bytes):
        return then(row, partial(_reply, projection, table, request, meter))
    return _reply(projection, table, request, meter, row)


def _reply(
    projection: CompiledProjection | None, table: OpenTable, request: GetItemRequest, meter: Meter, row: Row | None
) -> Reply:
    meter.append(ReadUsage(table, request.TableName, row, request.ConsistentRead is True))
    if row is None:
        return {}
    return {"Item": row if projection is None else project_row(projection, row)}


OPERATION = reading_operation("GetItem", get_item, RULES, is_quick=True)
