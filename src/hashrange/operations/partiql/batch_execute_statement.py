"""BatchExecuteStatement: up to 25 statements, all reads or all writes, each by itself; one that fails is told in its place.

Order of checks: each statement by itself, in the order of the request → reads and writes mixed → each statement against its table →
items named twice. What is found in one statement becomes its error; only the two in between refuse the whole request. Reads must
fix the primary key; ReturnValuesOnConditionCheckFailure has no effect.

Open in what is known of the service, our choices: ConsumedCapacity has a member for each statement that took effect, in their
order; statements that failed do not count for the two checks of the whole.
"""

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from hashrange.errors import ApiError, InternalServerError, StorageBusy, ValidationException
from hashrange.expressions.partiql.statement import Statement, compile_statement
from hashrange.items.row_layout import row_json
from hashrange.items.types import Value
from hashrange.limits import BATCH_STATEMENTS_MAX
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.messages.partiql import BATCH_KEY_NOT_FIXED, BATCH_MIXED, EXISTS_ALONE
from hashrange.messages.reads import BATCH_DUPLICATE_KEYS
from hashrange.operations import shapes
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.partiql.reads import bound_read, is_key_read, locate_read, read_item
from hashrange.operations.partiql.statements import (
    StatementParameters,
    StatementText,
    find_statement_table,
    is_select_text,
)
from hashrange.operations.partiql.writes import Write, check_table, check_write, locate_write, plan_write, returned_item
from hashrange.operations.replies import ENCODER, capacities_member, join_reply
from hashrange.operations.transactions.reasons import CODES, message_of
from hashrange.steps import grow_reply
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import IndexUnits, change_units, index_units, read_units

_ERROR_CODES = CODES | {"ResourceNotFoundException": "ResourceNotFound", "InternalServerError": "InternalServerError"}
_WITH_TABLE_NAME = ("ConditionalCheckFailed", "DuplicateItem")
"""Errors that name the table."""


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


class Asked(NamedTuple):
    """A statement that is sound in itself."""

    position: int
    consistent: bool
    statement: Statement
    values: dict[str, Value]
    write: Write | None
    """None for a read."""


class Done(NamedTuple):
    """What a statement did."""

    table_name: str
    item_json: bytes | None
    units: float
    indexes: list[IndexUnits]


async def batch_execute_statement(scope: Scope, request: BatchExecuteStatementRequest) -> bytes:
    """A reply for each statement, in their order."""
    replies: list[bytes] = [b"{}"] * len(request.Statements)
    capacities: list[tuple[str, float, list[IndexUnits]]] = []
    reply_bytes = 0
    for asked in _located(scope, _checked(request.Statements, replies), replies):
        try:
            done = await (_read(scope, asked) if asked.write is None else _write(scope, asked.statement, asked.write))
        except ApiError as refusal:
            replies[asked.position] = _error(refusal, asked.statement)
            continue
        except StorageBusy:
            if not capacities:
                raise
            replies[asked.position] = _error(InternalServerError(INTERNAL_ERROR), asked.statement)
            continue
        name = ENCODER.encode(done.table_name)
        item_json = b"" if done.item_json is None else done.item_json
        replies[asked.position] = b'{"TableName":%b%b%b}' % (name, b',"Item":' if item_json else b"", item_json)
        grow_reply(reply_bytes, reply_bytes + len(item_json))
        reply_bytes += len(item_json)
        capacities.append((done.table_name, done.units, done.indexes))
    end = b"]}"
    detail = request.ReturnConsumedCapacity
    if detail is not None and detail != "NONE":
        end = b"],%b}" % capacities_member(capacities, detail)
    replies[0] = b'{"Responses":[' + replies[0]
    replies[-1] += end
    return join_reply(replies, b",")


def _checked(requests: list[BatchStatementRequest], replies: list[bytes]) -> list[Asked]:
    """The statements that are sound in themselves; the others have their error in `replies`."""
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


def _check(position: int, request: BatchStatementRequest) -> Asked:
    statement = compile_statement(request.Statement, request.Parameters)
    if statement.kind == "EXISTS":
        raise ValidationException(EXISTS_ALONE)
    consistent = request.ConsistentRead is True
    if statement.kind == "SELECT":
        return Asked(position, consistent, statement, statement.values(request.Parameters), None)
    write = check_write(statement, request.Parameters)
    return Asked(position, consistent, statement, write.values, write)


def _located(scope: Scope, checked: list[Asked], replies: list[bytes]) -> list[Asked]:
    """The statements whose items have a place; the others have their error in `replies`. Refuses items named twice."""
    located = []
    places = set()
    for asked in checked:
        statement = asked.statement
        try:
            table = find_statement_table(scope, statement)
            if asked.write is None:
                plan = bound_read(table, statement)
                if not is_key_read(plan):
                    raise ValidationException(BATCH_KEY_NOT_FIXED)
                key = locate_read(plan, asked.values)
            else:
                key, _ = locate_write(table, asked.write, check_table(table, asked.write))
        except ApiError as refusal:
            replies[asked.position] = _error(refusal, statement)
            continue
        located.append(asked)
        places.add(table.source + key)
    if len(places) < len(located):
        raise ValidationException(BATCH_DUPLICATE_KEYS)
    return located


async def _read(scope: Scope, asked: Asked) -> Done:
    """One lookup, with the table as it is now: others ran between two slices."""
    table = find_statement_table(scope, asked.statement)
    plan = bound_read(table, asked.statement)
    if not is_key_read(plan):
        raise ValidationException(BATCH_KEY_NOT_FIXED)
    item, size_bytes = await read_item(scope, plan, asked.values, consistent=asked.consistent)
    item_json = None if item is None else row_json(item)
    return Done(table.name, item_json, read_units(size_bytes, consistent=asked.consistent), [])


async def _write(scope: Scope, statement: Statement, write: Write) -> Done:
    """One write, likewise."""
    table = find_statement_table(scope, statement)
    bound = check_table(table, write)
    key, key_item = locate_write(table, write, bound)
    plan = plan_write(table, write, bound, key_item, None)
    change = await scope.store.mutate(table, key, plan, new_request_id())
    units, indexes = change_units(change), index_units(change.entries)
    return Done(table.name, returned_item(statement, change), units, indexes)


def _error(refusal: ApiError, statement: Statement | None) -> bytes:
    """The reply of a statement that failed."""
    code = _ERROR_CODES[refusal.code]
    reply: dict[str, object] = {"Error": {"Code": code, "Message": message_of(refusal), **refusal.members}}
    if statement is not None and code in _WITH_TABLE_NAME:
        reply["TableName"] = statement.table_name.rpartition("/")[2]
    return ENCODER.encode(reply)


def _is_eventual(request: BatchExecuteStatementRequest) -> bool:
    """Only when every statement is a read, and none asks for a consistent one."""
    return all(one.ConsistentRead is not True and is_select_text(one.Statement) for one in request.Statements)


OPERATION = Operation(
    name="BatchExecuteStatement",
    request=BatchExecuteStatementRequest,
    run=batch_execute_statement,
    wording="older",
    is_eventual=_is_eventual,
)
