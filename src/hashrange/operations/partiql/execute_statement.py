"""ExecuteStatement: one PartiQL statement; a SELECT is paged, with Limit and NextToken,
unless it reads one item by its key.

A SELECT reads as GetItem, Query or Scan do; a write is planned and committed as by PutItem, UpdateItem or DeleteItem.
Order of checks: the statement's text → number of parameters → their values → static checks → a write has no NextToken →
the table exists → faults of the statement against its table → the NextToken of a read → a strongly consistent read of
a global index → a read's key values.
"""

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ConditionalCheckFailedException, ValidationException
from hashrange.expressions.partiql.statement import Statement, compile_statement
from hashrange.items.types import Row, Value
from hashrange.messages.partiql import EXISTS_ALONE, TOKEN_FOR_WRITE, TOKEN_MISMATCH
from hashrange.operations import shapes
from hashrange.operations.items.actions import plan_action
from hashrange.operations.items.write_item import commit_write
from hashrange.operations.meter import Meter, ReadUsage
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.partiql.access_path import AccessPath
from hashrange.operations.partiql.next_token import make_token, read_token
from hashrange.operations.partiql.select_reads import bound_read, item_of, locate_item, read_spans
from hashrange.operations.partiql.statement_writes import bind_write, check_write, check_write_key, returned_row
from hashrange.operations.partiql.statements import (
    StatementParameters,
    StatementText,
    find_statement_table,
    is_select_text,
    statement_tables,
)
from hashrange.operations.reply import HashOrderedRows, Reply, Rows
from hashrange.operations.transactions.reasons import item_member
from hashrange.soon import Soon, then
from hashrange.tables.change import Change, Plan, Planned


class ExecuteStatementRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    Limit: shapes.PositiveInteger | None = None
    Statement: StatementText
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    Parameters: StatementParameters | None = None
    NextToken: Annotated[str, Meta(min_length=1, max_length=32_768)] | None = None
    ConsistentRead: bool | None = None


def execute_statement(scope: Scope, request: ExecuteStatementRequest, meter: Meter) -> Soon[Reply]:
    """Execute the statement; the reply holds the page of a SELECT, or the item that RETURNING requests."""
    parameters = request.Parameters
    statement = compile_statement(request.Statement, parameters)
    if statement.kind != "SELECT":
        if statement.kind == "EXISTS":
            raise ValidationException(EXISTS_ALONE)
        return _write(scope, request, statement, meter)

    values = statement.values(parameters)
    table = find_statement_table(scope, statement)
    access = bound_read(table, statement)
    if access.kind != "lookup":
        return _select_page(scope, request, access, values, meter)
    if request.NextToken is not None:
        raise ValidationException(TOKEN_MISMATCH)
    consistent = request.ConsistentRead is True
    row = scope.store.get(access.source.source_id, locate_item(access, values), meter, consistent=consistent)
    if row is not None and not isinstance(row, bytes):
        return then(row, partial(_item_reply, access, values, request, meter))
    return _item_reply(access, values, request, meter, row)


def _item_reply(
    access: AccessPath, values: dict[str, Value], request: ExecuteStatementRequest, meter: Meter, row: Row | None
) -> Reply:
    """The reply of a lookup: its item, if there is one that satisfies the conditions. Records the usage."""
    meter.append(ReadUsage(access.table, access.table.name, row, request.ConsistentRead is True))
    item = item_of(access, values, row)
    return {"Items": HashOrderedRows(() if item is None else (item,))}


async def _select_page(
    scope: Scope, request: ExecuteStatementRequest, access: AccessPath, values: dict[str, Value], meter: Meter
) -> Reply:
    """Read one page of a SELECT that is no lookup; the reply has a NextToken if more items may follow."""
    table = access.table
    start = None
    if request.NextToken is not None:
        start = read_token(table, request.Statement, request.Parameters, request.NextToken)
    consistent = request.ConsistentRead is True
    page = await read_spans(scope, access, values, request.Limit, start, meter, consistent=consistent)
    meter.append(page.usage)
    reply: Reply = {"Items": page.items}
    if page.continuation is not None:
        if page.continuation.last_key is not None:
            reply["LastEvaluatedKey"] = page.continuation.last_key
        reply["NextToken"] = make_token(table, request.Statement, request.Parameters, page.continuation)
    return reply


def _write(scope: Scope, request: ExecuteStatementRequest, statement: Statement, meter: Meter) -> Soon[Reply]:
    write = check_write(statement, request.Parameters)
    if request.NextToken is not None:
        raise ValidationException(TOKEN_FOR_WRITE)
    table = find_statement_table(scope, statement)
    action = bind_write(table, write, request.ReturnValuesOnConditionCheckFailure)
    try:
        key, plan = plan_action(table, action)
    except ValidationException:
        check_write_key(table, action)
        raise
    change = commit_write(scope, table, key, _in_hash_order(plan), table.name, meter)
    return _returned(statement, change) if isinstance(change, Change) else then(change, partial(_returned, statement))


def _in_hash_order(plan: Plan) -> Plan:
    """The plan; the item that the error of its condition shows has number sets in hash order."""

    def ordered(old: Row | None) -> Planned | Row | None:
        try:
            return plan(old)
        except ConditionalCheckFailedException as refusal:
            refusal.members.update(item_member(refusal))
            raise

    return ordered


def _returned(statement: Statement, change: Change) -> Reply:
    row = returned_row(statement, change)
    return {"Items": Rows(() if row is None else (row,))}


OPERATION = Operation(
    "ExecuteStatement",
    ExecuteStatementRequest,
    execute_statement,
    JsonWire(wording="older"),
    capacity="one",
    tables=lambda request: statement_tables((request,)),
    writes=True,
    is_read=lambda request: is_select_text(request.Statement),
    is_eventual=lambda request: request.ConsistentRead is not True and is_select_text(request.Statement),
)
