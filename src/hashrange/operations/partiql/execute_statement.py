"""ExecuteStatement: one PartiQL statement, paged when it is a SELECT.

A SELECT is read as GetItem, Query or Scan read, a write goes the way of PutItem, UpdateItem or DeleteItem. Order of checks: the
statement's text → number of parameters → their values → static checks → NextToken of a write → table → what the statement and
its table do not agree on → NextToken.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.errors import ValidationException
from hashrange.expressions.partiql.statement import Statement, compile_statement
from hashrange.items.row_layout import row_json
from hashrange.items.types import Value
from hashrange.messages.partiql import EXISTS_ALONE, TOKEN_FOR_WRITE, TOKEN_MISMATCH
from hashrange.operations import shapes
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.partiql.next_token import make_token, read_token
from hashrange.operations.partiql.read_plan import ReadPlan
from hashrange.operations.partiql.reads import bound_read, read_item, read_spans
from hashrange.operations.partiql.statements import (
    StatementParameters,
    StatementText,
    find_statement_table,
    is_select_text,
)
from hashrange.operations.partiql.writes import check_table, check_write, locate_write, plan_write, returned_item
from hashrange.operations.replies import ENCODER, capacity_member, join_members
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import change_units, index_units, read_units


class ExecuteStatementRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    Statement: StatementText
    Parameters: StatementParameters | None = None
    ConsistentRead: bool | None = None
    NextToken: Annotated[str, Meta(min_length=1, max_length=32_768)] | None = None
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    Limit: shapes.PositiveInteger | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


async def execute_statement(scope: Scope, request: ExecuteStatementRequest) -> bytes:
    """The page of a SELECT, or what RETURNING asks for."""
    parameters = request.Parameters
    statement = compile_statement(request.Statement, parameters)
    if statement.kind != "SELECT":
        if statement.kind == "EXISTS":
            raise ValidationException(EXISTS_ALONE)
        return await _write(scope, request, statement)

    values = statement.values(parameters)
    table = find_statement_table(scope, statement)
    plan = bound_read(table, statement)
    if plan.kind != "lookup":
        return await _select_page(scope, request, plan, values)
    if request.NextToken is not None:
        raise ValidationException(TOKEN_MISMATCH)
    consistent = request.ConsistentRead is True
    item, size_bytes = await read_item(scope, plan, values, consistent=consistent)
    members = [_items_member(None if item is None else row_json(item))]
    detail = request.ReturnConsumedCapacity
    if detail is not None and detail != "NONE":
        members.append(capacity_member(table.name, read_units(size_bytes, consistent=consistent), detail))
    return join_members(members)


async def _select_page(
    scope: Scope, request: ExecuteStatementRequest, plan: ReadPlan, values: dict[str, Value]
) -> bytes:
    """A page of what Query and Scan read."""
    table = plan.source.table
    start = None
    if request.NextToken is not None:
        start = read_token(table, request.Statement, request.Parameters, request.NextToken)
    page = await read_spans(scope, plan, values, request.Limit, start, consistent=request.ConsistentRead is True)
    members = [b'"Items":[' + b",".join(map(row_json, page.items)) + b"]"]
    if page.continuation is not None:
        if page.continuation.last_key is not None:
            members.append(b'"LastEvaluatedKey":' + ENCODER.encode(page.continuation.last_key))
        token = make_token(table, request.Statement, request.Parameters, page.continuation)
        members.append(b'"NextToken":"' + token.encode() + b'"')
    detail = request.ReturnConsumedCapacity
    if detail is not None and detail != "NONE":
        usage = page.usage
        members.append(capacity_member(usage.name, usage.table_units, detail, usage.index_units))
    return join_members(members)


async def _write(scope: Scope, request: ExecuteStatementRequest, statement: Statement) -> bytes:
    write = check_write(statement, request.Parameters)
    if request.NextToken is not None:
        raise ValidationException(TOKEN_FOR_WRITE)
    table = find_statement_table(scope, statement)
    bound = check_table(table, write)
    key, key_item = locate_write(table, write, bound)
    plan = plan_write(table, write, bound, key_item, request.ReturnValuesOnConditionCheckFailure)

    change = await scope.store.mutate(table, key, plan, new_request_id())
    members = [_items_member(returned_item(statement, change))]
    detail = request.ReturnConsumedCapacity
    if detail is not None and detail != "NONE":
        members.append(capacity_member(table.name, change_units(change), detail, index_units(change.entries)))
    return join_members(members)


def _items_member(item_json: bytes | None) -> bytes:
    """Items with one item or none."""
    return b'"Items":[]' if item_json is None else b'"Items":[' + item_json + b"]"


OPERATION = Operation(
    name="ExecuteStatement",
    request=ExecuteStatementRequest,
    run=execute_statement,
    wording="older",
    is_eventual=lambda request: request.ConsistentRead is not True and is_select_text(request.Statement),
)
