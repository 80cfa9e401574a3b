"""ExecuteTransaction: up to 100 statements on distinct items, all reads or all writes (with EXISTS), all or none.

Order of checks: each statement by itself, in the order of the request (a fault names the statement's number, except a
fault of a parameter's value or an inserted item's size) → reads and writes mixed → size of all inserted items → each
statement, in order, against what a transaction supports and against its table → items named twice. Faults of keys, and
refusals of actions at run time, become cancellation reasons, as in TransactWriteItems and TransactGetItems, whose code
is shared. ClientRequestToken has an effect on writes only.

Our choices, unconfirmed: the order of these checks; ConsumedCapacity by table.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError, RequestFault, ValidationException, without_frames
from hashrange.expressions.partiql.statement import Statement, check_statement_parameters, compile_statement
from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.rows import EMPTY_PART
from hashrange.items.types import Key, Row, Value
from hashrange.limits import TRANSACTION_SIZE_MAX_BYTES, TRANSACTION_STATEMENTS_MAX
from hashrange.messages import partiql as say
from hashrange.messages.transactions import SAME_ITEM_TWICE, TRANSACTION_TOO_LARGE
from hashrange.operations import shapes
from hashrange.operations.items.actions import Action
from hashrange.operations.meter import Meter
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.partiql.access_path import AccessPath
from hashrange.operations.partiql.key_faults import has_no_key_type
from hashrange.operations.partiql.select_reads import bound_read, is_key_read, item_of, locate_read
from hashrange.operations.partiql.statement_writes import StatementWrite, bind_write, check_write, check_write_key
from hashrange.operations.partiql.statements import (
    StatementParameters,
    StatementText,
    find_statement_table,
    statement_tables,
)
from hashrange.operations.reply import Items, Reply, Structure
from hashrange.operations.transactions.actions import step_of
from hashrange.operations.transactions.commit import commit_steps, read_places, record_written_usage
from hashrange.operations.transactions.reasons import cancelled, message_of
from hashrange.operations.transactions.tokens import ContentDigest, begin_digest
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable


class ParameterizedStatement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One statement; members in the order in which their faults are reported."""

    Statement: StatementText
    Parameters: StatementParameters | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class ExecuteTransactionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ClientRequestToken: shapes.ClientRequestToken | None = None
    TransactStatements: Annotated[
        list[ParameterizedStatement], Meta(min_length=1, max_length=TRANSACTION_STATEMENTS_MAX)
    ]
    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None


SelectedItem = tuple[AccessPath, dict[str, Value]]
"""Access path and checked values of a SELECT of one item."""


async def execute_transaction(scope: Scope, request: ExecuteTransactionRequest, meter: Meter) -> Reply:
    """Read all items as of one point in time, or commit all writes in one commit."""
    requests = request.TransactStatements
    statements = _compiled(requests)
    are_reads = {statement.kind == "SELECT" for statement in statements}
    if len(are_reads) > 1:
        raise ValidationException(say.TRANSACTION_MIXED)
    if True in are_reads:
        lookups = [
            _lookup(scope, position, *pair) for position, pair in enumerate(zip(statements, requests, strict=True))
        ]
        return await _read(scope, lookups, meter)
    return await _write(scope, request, statements, meter)


def _compiled(requests: list[ParameterizedStatement]) -> list[Statement]:
    """The compiled statements, in the order of the request; raises the first fault (`_numbered`) or Malformed."""
    statements = []
    for position, request in enumerate(requests):
        try:
            statements.append(compile_statement(request.Statement, request.Parameters))
        except RequestFault as fault:
            raise _numbered(position, request, fault) from None
    return statements


def _numbered(position: int, request: ParameterizedStatement, fault: RequestFault) -> ValidationException:
    """The fault with the statement's number. If a parameter's value is faulty, raises the value's fault, unnumbered."""
    check_statement_parameters(request.Parameters or ())
    return _fault(position, message_of(fault) or "")


def _fault(position: int, message: str) -> ValidationException:
    return ValidationException(say.TRANSACTION_STATEMENT.format(position=position, message=message))


# --- reads --------------------------------------------------------------------------------------


def _lookup(scope: Scope, position: int, statement: Statement, request: ParameterizedStatement) -> SelectedItem:
    """The read of one SELECT, checked. Raises ApiError or Malformed, also if transactions do not support it."""
    try:
        values = statement.values(request.Parameters)
    except RequestFault as fault:
        raise _numbered(position, request, fault) from None
    if statement.index_name is not None:
        raise _fault(position, say.TRANSACTION_INDEX)
    table = find_statement_table(scope, statement)
    try:
        access = bound_read(table, statement)
    except ValidationException as refusal:
        raise _fault(position, refusal.message or "") from None
    if not is_key_read(access):
        raise _fault(position, say.TRANSACTION_KEY_NOT_FIXED)
    return access, values


async def _read(scope: Scope, lookups: list[SelectedItem], meter: Meter) -> Reply:
    """Read the items as of one point in time; the reply has a response for each."""
    places: list[tuple[OpenTable, Key]] = []
    reasons: list[ApiError | None] = []
    for lookup in lookups:
        try:
            places.append((lookup[0].table, locate_read(*lookup)))
            reasons.append(None)
        except ValidationException as refusal:
            reasons.append(without_frames(refusal))
    if len({table.source_id + key for table, key in places}) < len(places):
        raise ValidationException(SAME_ITEM_TWICE)
    if len(places) < len(lookups):
        raise cancelled(reasons)
    rows = await read_places(scope, places, [table.name for table, _ in places], meter)
    return {"Responses": Items([_response(lookup, row) for lookup, row in zip(lookups, rows, strict=True)])}


def _response(lookup: SelectedItem, row: Row | None) -> Structure:
    """The response to one SELECT: its item; empty if there is no item, or if the projection selects nothing of it."""
    item = None if row is None else item_of(*lookup, row)
    return Structure() if item is None or item == EMPTY_PART else Structure(Item=hash_ordered_row(item))


# --- writes -------------------------------------------------------------------------------------


async def _write(scope: Scope, request: ExecuteTransactionRequest, statements: list[Statement], meter: Meter) -> Reply:
    """Commit all statements in one commit."""
    content = begin_digest(request)
    writes = _checked_writes(statements, request.TransactStatements, content)
    steps = _planned_steps(scope, writes, request.TransactStatements)
    transacted = await commit_steps(scope, steps, request.ClientRequestToken, content, meter)
    record_written_usage(meter, transacted, steps, [step.table.name for step in steps])
    return {"Responses": []}


def _checked_writes(
    statements: list[Statement], requests: list[ParameterizedStatement], content: ContentDigest | None
) -> list[StatementWrite]:
    """Writes of the request, in its order, each checked by itself. Adds each of `requests` to `content`, the digest for
    the ClientRequestToken.

    Raises ApiError or Malformed for the first fault, then ValidationException for inserted items that are too large
    together.
    """
    writes = []
    inserted_bytes = 0
    for position, (statement, request) in enumerate(zip(statements, requests, strict=True)):
        try:
            write = check_write(statement, request.Parameters)
        except RequestFault as fault:
            raise _numbered(position, request, fault) from None
        writes.append(write)
        if content is not None:
            content.add(request)
        inserted_bytes += 0 if write.insert is None else write.insert.size_bytes
    if inserted_bytes > TRANSACTION_SIZE_MAX_BYTES:
        raise ValidationException(TRANSACTION_TOO_LARGE)
    return writes


def _planned_steps(
    scope: Scope, writes: list[StatementWrite], requests: list[ParameterizedStatement]
) -> list[TransactionStep]:
    """Transaction steps of the statements.

    Raises ApiError for the first statement whose table is missing, that does not fit it, that transactions do not
    support, or whose inserted item has more than ROW_MAX_BYTES of JSON; then for items named twice.
    """
    steps = []
    places = []
    for position, (write, request) in enumerate(zip(writes, requests, strict=True)):
        table, action = _bound(scope, position, write, request.ReturnValuesOnConditionCheckFailure)
        step = step_of(table, action)
        if step.key is None:
            _check_refused_key(position, table, action)
        steps.append(step)
        if step.key is not None:
            places.append(table.source_id + step.key)
    if len(set(places)) < len(places):
        raise ValidationException(SAME_ITEM_TWICE)
    return steps


def _check_refused_key(position: int, table: OpenTable, action: Action) -> None:
    """Refuse the transaction for a key of a wrong type in an INSERT, or of a type that no key has in another write.

    Other faults of a key are cancellation reasons.
    """
    if action.kind == "put" or any(map(has_no_key_type, action.item.values())):
        try:
            check_write_key(table, action)
        except ValidationException as refusal:
            raise _fault(position, refusal.message or "") from None


def _bound(scope: Scope, position: int, write: StatementWrite, on_failure: str | None) -> tuple[OpenTable, Action]:
    """Table and action of a write. Raises ApiError for a missing table, and for a write that does not fit the table or
    that transactions do not support.
    """
    statement = write.statement
    if statement.returning is not None:
        raise _fault(position, say.TRANSACTION_RETURNING)
    is_check = statement.kind == "EXISTS"
    if is_check and statement.index_name is not None:
        raise _fault(position, say.TRANSACTION_INDEX)
    table = find_statement_table(scope, statement)
    try:
        action = bind_write(table, write, on_failure)
    except ValidationException as refusal:
        raise _fault(position, say.EXISTS_WITHOUT_CONDITION if is_check else refusal.message or "") from None
    if is_check and action.condition is None:
        raise _fault(position, say.EXISTS_WITHOUT_CONDITION)
    return table, action


OPERATION = Operation(
    "ExecuteTransaction",
    ExecuteTransactionRequest,
    execute_transaction,
    JsonWire(wording="older"),
    capacity="transaction",
    tables=lambda request: statement_tables(request.TransactStatements),
    writes=True,
)
