"""What the tests of PartiQL share: short forms of statements, with `{t}` for the quoted table name,
and of their refusals.
"""

from typing import Any

from tests.conformance.item_tables import DataTable, Value
from tests.conformance.tables import fault, validation


def statement(table: DataTable, text: str, *parameters: Value) -> dict[str, Any]:
    """Statement and Parameters, as every operation of PartiQL takes them."""
    members: dict[str, Any] = {"Statement": text.replace("{t}", f'"{table.name}"')}
    return members | ({"Parameters": list(parameters)} if parameters else {})


def execute(table: DataTable, text: str, *parameters: Value, **members: Any) -> Any:
    """The reply of a statement, which must succeed."""
    reply = table.raw("ExecuteStatement", statement(table, text, *parameters) | members)
    assert reply.status == 200, (text, reply.body)
    return reply.json()


def items(table: DataTable, text: str, *parameters: Value, **members: Any) -> Any:
    """The items that a statement returns, read consistently by default."""
    return execute(table, text, *parameters, **({"ConsistentRead": True} | members))["Items"]


def refused(table: DataTable, text: str, *parameters: Value, **members: Any) -> str | None:
    """Message of a statement's ValidationException."""
    return validation(table.raw, "ExecuteStatement", statement(table, text, *parameters) | members)


def failure(table: DataTable, text: str, *parameters: Value, **members: Any) -> tuple[str, str | None]:
    """Code and message of a statement's refusal."""
    return fault(table.raw, "ExecuteStatement", statement(table, text, *parameters) | members)
