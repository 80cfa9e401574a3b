"""What do the PartiQL operations share? Types of Statement and Parameters, the lookup of a statement's table,
and for records: tables named, is it a SELECT?
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from msgspec import Meta

from hashrange.errors import ApiError, Malformed, ResourceNotFoundException
from hashrange.expressions.partiql.statement import Statement, compile_statement
from hashrange.limits import STATEMENT_LENGTH_MAX
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Scope
from hashrange.tables.open_table import OpenTable

StatementText = Annotated[str, Meta(min_length=1, max_length=STATEMENT_LENGTH_MAX)]
StatementParameters = Annotated[list[shapes.AttributeValue], Meta(min_length=1)]


def find_statement_table(scope: Scope, statement: Statement) -> OpenTable:
    """The table that the statement names. Raises ResourceNotFoundException, also for a name that no table can have."""
    try:
        table = find_active_table(scope, statement.table_name)
    except Malformed:
        table = None
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    return table


def statement_tables(requests: Iterable[Any]) -> Iterator[str]:
    """Table names or ARNs in the statements of `requests` (one request, or elements), except statements with faults.

    Compiles uncached statements.
    """
    for request in requests:
        try:
            yield compile_statement(request.Statement, request.Parameters).table_name
        except (ApiError, Malformed):
            continue


def is_select_text(text: str) -> bool:
    """True for a text that can only be a SELECT; a SELECT after a comment is not recognised."""
    return text[:6].upper() == "SELECT" or text.lstrip()[:6].upper() == "SELECT"
