"""BatchExecuteStatement: up to 25 statements, all reads or all writes, each by itself;
errors are reported per statement.

Order of checks: each statement by itself, in the order of the request → reads and writes mixed → each statement against
its table → items named twice. A fault of one statement becomes its error, except `Malformed`; mixed reads and writes,
and items named twice, refuse the whole request too. Reads must fix the primary key.

Our choices, unconfirmed: ConsumedCapacity has a member for each statement that took effect, in order;
failed statements do not count in the two checks of the whole request; once the reply has more than 32 MB of JSON, a
statement that would return an item is not carried out but reported as throttled.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ApiError,
    InternalServerError,
    KeyFault,
    StorageBusy,
    ThrottlingException,
    ValidationException,
)
from hashrange.expressions.partiql.statement import Statement, compile_statement
from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.row_layout import row_json_bytes
from hashrange.items.types import Key, Row, Value
from hashrange.limits import BATCH_STATEMENTS_MAX, REPLY_JSON_MAX_BYTES
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.messages.partiql import BATCH_KEY_NOT_FIXED, BATCH_MIXED, BATCH_REPLY_FULL, EXISTS_ALONE
from hashrange.messages.reads import BATCH_DUPLICATE_KEYS
from hashrange.operations import shapes
from hashrange.operations.items.actions import Action, key_of_item, plan_action
from hashrange.operations.items.write_item import commit_write
from hashrange.operations.meter import Meter, ReadUsage
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.partiql.select_reads import bound_read, is_key_read, item_of, locate_item
from hashrange.operations.partiql.statement_writes import (
    StatementWrite,
    bind_write,
    check_write,
    check_write_key,
    returned_row,
)
from hashrange.operations.partiql.statements import (
    StatementParameters,
    StatementText,
    find_statement_table,
    is_select_text,
    statement_tables,
)
from hashrange.operations.reply import Items, Reply, Structure
from hashrange.operations.transactions.reasons import code_of, item_member, message_of
from hashrange.soon import settled
from hashrange.tables.open_table import OpenTable

_WITH_TABLE_NAME = ("ConditionalCheckFailed", "DuplicateItem")
"""Codes of the errors with which a statement's response also holds the table's name, as it does with a KeyFault."""


class BatchStatementRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One statement; members in the order in which their faults are reported."""

    Statement: StatementText
    Parameters: StatementParameters | None = None
    ConsistentRead: bool | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class BatchExecuteStatementRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    Statements: Annotated[list[BatchStatementRequest], Meta(min_length=1, max_length=BATCH_STATEMENTS_MAX)]
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None


class CheckedStatement(msgspec.Struct, frozen=True, gc=False):
    """A statement that has passed the checks that need no table."""

    position: int
    consistent: bool
    statement: Statement
    values: dict[str, Value]
    write: StatementWrite | None
    """The statement's write; None for a read."""
    on_failure: str | None
    """The statement's ReturnValuesOnConditionCheckFailure."""


async def batch_execute_statement(scope: Scope, request: BatchExecuteStatementRequest, meter: Meter) -> Reply:
    """Execute each statement; Responses has one element for each, in order.

    Raises StorageBusy if the engine stalls before any statement has succeeded.
    """
    replies = [Structure() for _ in request.Statements]
    any_done = False
    json_bytes = 0
    for asked in _located(scope, _checked(request.Statements, replies), replies):
        try:
            if json_bytes > REPLY_JSON_MAX_BYTES and _returns_item(asked):
                raise ThrottlingException(BATCH_REPLY_FULL)
            item = await (_read if asked.write is None else _write)(scope, asked, meter)
        except ApiError as refusal:
            replies[asked.position] = _error(refusal, asked.statement)
            json_bytes += _shown_bytes(refusal)
            continue
        except StorageBusy:
            if not any_done:
                raise
            replies[asked.position] = _error(InternalServerError(INTERNAL_ERROR), asked.statement)
            continue
        any_done = True
        done = replies[asked.position] = Structure(TableName=_table_name(asked.statement))
        if item is not None:
            done["Item"] = item
            json_bytes += row_json_bytes(item)
    return {"Responses": Items(replies)}


def _checked(requests: list[BatchStatementRequest], replies: list[Structure]) -> list[CheckedStatement]:
    """The statements that pass the checks without a table; errors of the others go to `replies`. Raises Malformed, then
    ValidationException for reads mixed with writes.
    """
    checked = []
    for position, request in enumerate(requests):
        try:
            asked = _check(position, request)
        except ApiError as refusal:
            replies[position] = _error(refusal, None)
            continue
        checked.append(asked)
    if len({asked.write is None for asked in checked}) > 1:
        raise ValidationException(BATCH_MIXED)
    return checked


def _check(position: int, request: BatchStatementRequest) -> CheckedStatement:
    statement = compile_statement(request.Statement, request.Parameters)
    if statement.kind == "EXISTS":
        raise ValidationException(EXISTS_ALONE)
    consistent = request.ConsistentRead is True
    if statement.kind == "SELECT":
        return CheckedStatement(position, consistent, statement, statement.values(request.Parameters), None, None)
    write = check_write(statement, request.Parameters)
    on_failure = request.ReturnValuesOnConditionCheckFailure
    return CheckedStatement(position, consistent, statement, write.values, write, on_failure)


def _located(scope: Scope, checked: list[CheckedStatement], replies: list[Structure]) -> list[CheckedStatement]:
    """The statements that fit their tables; errors of the other statements go to `replies`. Raises ValidationException
    for items named twice.
    """
    located = []
    places = set()
    for asked in checked:
        statement = asked.statement
        try:
            table = find_statement_table(scope, statement)
            if asked.write is None:
                access = bound_read(table, statement)
                if not is_key_read(access):
                    raise ValidationException(BATCH_KEY_NOT_FIXED)
                key = locate_item(access, asked.values)
            else:
                key = _written_key(table, bind_write(table, asked.write, None))
        except ApiError as refusal:
            replies[asked.position] = _error(refusal, statement)
            continue
        located.append(asked)
        places.add(table.source_id + key)
    if len(places) < len(located):
        raise ValidationException(BATCH_DUPLICATE_KEYS)
    return located


def _written_key(table: OpenTable, action: Action) -> Key:
    """Key of a write's item. Raises ValidationException in the words of PartiQL for a key that does not fit."""
    try:
        return key_of_item(table, action)
    except ValidationException:
        check_write_key(table, action)
        raise


async def _read(scope: Scope, asked: CheckedStatement, meter: Meter) -> Row | None:
    """Look up one item. Its table is looked up again, since it may have been changed or deleted after the checks."""
    table = find_statement_table(scope, asked.statement)
    access = bound_read(table, asked.statement)
    if not is_key_read(access):
        raise ValidationException(BATCH_KEY_NOT_FIXED)
    key = locate_item(access, asked.values)
    row = await settled(scope.store.get(access.source.source_id, key, meter, consistent=asked.consistent))
    meter.append(ReadUsage(table, table.name, row, asked.consistent))
    item = item_of(access, asked.values, row)
    return None if item is None else hash_ordered_row(item)


async def _write(scope: Scope, asked: CheckedStatement, meter: Meter) -> Row | None:
    """Commit one write; looks its table up again. Returns what RETURNING requests, as a row to save memory, or None."""
    assert asked.write is not None
    table = find_statement_table(scope, asked.statement)
    key, plan = plan_action(table, bind_write(table, asked.write, asked.on_failure))
    change = await settled(commit_write(scope, table, key, plan, table.name, meter))
    return returned_row(asked.statement, change)


def _shown_bytes(refusal: ApiError) -> int:
    """Bytes of JSON of the item that a failed condition shows."""
    row: Row | None = refusal.members.get("Item")  # type: ignore[assignment]  # members are declared as objects
    return 0 if row is None else row_json_bytes(row)


def _returns_item(asked: CheckedStatement) -> bool:
    """True for reads, and for writes with RETURNING or with ALL_OLD if their condition fails."""
    return asked.write is None or asked.statement.returning is not None or asked.on_failure == "ALL_OLD"


def _table_name(statement: Statement) -> str:
    """The name of the statement's table, without the rest of an ARN."""
    return statement.table_name.rpartition("/")[2]


def _error(refusal: ApiError, statement: Statement | None) -> Structure:
    """The response of a failed statement; `statement` is None if it could not be parsed,
    so that its table is unknown.
    """
    code = code_of(refusal)
    reply = Structure(Error=Structure(Code=code, Message=message_of(refusal), **item_member(refusal)))
    if statement is not None and (code in _WITH_TABLE_NAME or isinstance(refusal, KeyFault)):
        reply["TableName"] = _table_name(statement)
    return reply


def _is_eventual(request: BatchExecuteStatementRequest) -> bool:
    """True if every statement is a SELECT, and none requests a strongly consistent read."""
    return all(one.ConsistentRead is not True and is_select_text(one.Statement) for one in request.Statements)


OPERATION = Operation(
    "BatchExecuteStatement",
    BatchExecuteStatementRequest,
    batch_execute_statement,
    JsonWire(wording="older"),
    capacity="each",
    tables=lambda request: statement_tables(request.Statements),
    writes=True,
    reports_missing_tables=True,
    is_eventual=_is_eventual,
)
