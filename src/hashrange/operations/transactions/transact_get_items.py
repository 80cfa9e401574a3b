"""TransactGetItems: up to 100 distinct items as of one point in time.

Order of checks: per action, in the order of the request, parameters → Key values (nesting that is too deep only after
a projection that cannot be parsed) → ProjectionExpression; then items named twice → all tables exist. Keys and
projections that do not fit a table's keys become cancellation reasons; only an empty key value refuses the whole
request. Last: the size of all items.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError, NestingFault, ResourceNotFoundException, ValidationException, without_frames
from hashrange.expressions.parameters import NO_VALUES, check_unused
from hashrange.expressions.projection import CompiledProjection, compile_projection
from hashrange.items.canonical import encode_canonically
from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.rows import EMPTY_PART
from hashrange.items.steps import READ_BYTES_PER_STEP, spend
from hashrange.items.types import Item, Key, Row
from hashrange.items.values import check_item
from hashrange.limits import TRANSACTION_ACTIONS_MAX
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.messages.requests import TRANSACTION_EMPTY, TRANSACTION_TOO_LONG
from hashrange.messages.transactions import SAME_ITEM_TWICE
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import GET_ITEM, check_operation_parameters
from hashrange.operations.items.nesting_checks import check_expressions_readable
from hashrange.operations.items.projections import project_row
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Items, Reply, Structure
from hashrange.operations.transactions.commit import read_places
from hashrange.operations.transactions.reasons import cancelled
from hashrange.tables.open_table import OpenTable
from hashrange.wire.rules import ConstraintWording, RequestRules


class Get(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Read of one item, whole or projected. Transactions have no legacy parameters."""

    Key: shapes.AttributeMap
    TableName: shapes.TableName
    ProjectionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None


class TransactGetItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An element of TransactItems."""

    Get: "Get"


class TransactGetItemsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TransactItems: Annotated[list[TransactGetItem], Meta(min_length=1, max_length=TRANSACTION_ACTIONS_MAX)]


TransactedGet = tuple[Item, CompiledProjection | None]
"""Checked key and projection of one Get."""


async def transact_get_items(scope: Scope, request: TransactGetItemsRequest, meter: Meter) -> Reply:
    """Read the items, in the order of the request. 5 µs per item.

    The response to a Get is an empty object if its item is missing, or its projection selects nothing of the item.
    """
    gets = [element.Get for element in request.TransactItems]
    projections: list[CompiledProjection | None] = [None] * len(gets)
    places = _usual_places(scope, gets)
    if places is None:
        lookups = [_checked_lookup(get) for get in gets]
        places, projections = _places(scope, gets, lookups), [projection for _, projection in lookups]
    rows = await read_places(scope, places, [get.TableName for get in gets], meter)
    return {"Responses": Items(map(_response, projections, rows))}


def _usual_places(scope: Scope, gets: list[Get]) -> list[tuple[OpenTable, Key]] | None:
    """Table and key of each item, if all items are different, whole ones, and named by short ASCII strings, so that the
    request has no fault; otherwise None. Raises Malformed for a table name of invalid length or characters.
    """
    places = []
    table_name, table = None, None
    for get in gets:
        if get.TableName != table_name:
            table_name = get.TableName
            table = find_active_table(scope, table_name)
        if table is None or get.ProjectionExpression is not None or get.ExpressionAttributeNames is not None:
            return None
        key = table.usual_key(get.Key)
        if key is None:
            return None
        places.append((table, key))
    return places if len({table.source_id + key for table, key in places}) == len(gets) else None


def _checked_lookup(get: Get) -> TransactedGet:
    """One Get, checked and compiled. Raises the first fault that needs no table."""
    if get.ProjectionExpression is None and get.ExpressionAttributeNames is None:
        return check_item(get.Key)[0], None
    check_operation_parameters(get, GET_ITEM)
    try:
        key_item = check_item(get.Key)[0]
    except NestingFault:
        check_expressions_readable(get)
        raise
    projection = None
    if get.ProjectionExpression is not None:
        projection = compile_projection(get.ProjectionExpression, get.ExpressionAttributeNames)
    check_unused(get.ExpressionAttributeNames, NO_VALUES, projection)
    return key_item, projection


def _places(scope: Scope, gets: list[Get], lookups: list[TransactedGet]) -> list[tuple[OpenTable, Key]]:
    """Table and key of each item.

    Raises Malformed for a table name that is too long or has invalid characters; otherwise ApiError for items named
    twice, then for missing tables, then for keys and projections that do not fit their table.
    """
    places = []
    named: list[object] = []
    reasons: list[ApiError | None] = []
    is_table_missing = False
    for get, (key_item, projection) in zip(gets, lookups, strict=True):
        table = find_active_table(scope, get.TableName)
        if table is None:
            is_table_missing = True
            named.append((get.TableName, encode_canonically(key_item)))
            continue
        try:
            key = table.lookup_key(key_item)
            named.append(table.source_id + key)
            if projection is not None:
                check_key_paths(table, projection.nested_attributes)
        except ValidationException as fault:
            reasons.append(without_frames(fault))
            continue
        places.append((table, key))
        reasons.append(None)
    if len(set(named)) < len(named):
        raise ValidationException(SAME_ITEM_TWICE)
    if is_table_missing:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    if len(places) < len(lookups):
        raise cancelled(reasons)
    return places


def _response(projection: CompiledProjection | None, row: Row | None) -> Structure:
    """The response to one Get: its item, or an empty object if nothing was found or selected."""
    if row is None:
        return Structure()
    if len(row) >= READ_BYTES_PER_STEP:
        spend(len(row) // READ_BYTES_PER_STEP)
    if projection is not None:
        row = project_row(projection, row)
        if row == EMPTY_PART:
            return Structure()
    return Structure(Item=hash_ordered_row(row))


OPERATION = Operation(
    "TransactGetItems",
    TransactGetItemsRequest,
    transact_get_items,
    JsonWire(
        wording="older",
        rules=RequestRules(
            wordings={
                ("transactItems", "min_length"): ConstraintWording(TRANSACTION_EMPTY),
                ("transactItems", "max_length"): ConstraintWording(TRANSACTION_TOO_LONG),
            }
        ),
    ),
    capacity="transaction",
    tables=lambda request: [element.Get.TableName for element in request.TransactItems],
)
