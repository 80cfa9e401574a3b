"""Which tables does a request name? For whoever looks again after one of them was not found."""

from collections.abc import Iterator
from typing import Any

from hashrange.expressions.partiql.statement import compile_statement

_ARN_TABLE = ":table/"


def table_names(parsed: Any) -> Iterator[str]:
    """The name of every table in a request, of single operations, batches, transactions and statements; of an ARN the table's name.

    Raises what a faulty statement raises.
    """
    named = [getattr(parsed, "TableName", None), getattr(parsed, "ResourceArn", None)]
    named += getattr(parsed, "RequestItems", None) or ()
    for element in getattr(parsed, "TransactItems", None) or ():
        actions = [getattr(element, kind) for kind in element.__struct_fields__]
        named += [action.TableName for action in actions if action is not None]
    for one in (parsed, *(getattr(parsed, "TransactStatements", None) or ())):
        if hasattr(one, "Statement"):
            named.append(compile_statement(one.Statement, one.Parameters).table_name)
    for name in named:
        if isinstance(name, str):
            yield bare_name(name)


def bare_name(name_or_arn: str) -> str:
    """The table's name."""
    _, mark, rest = name_or_arn.partition(_ARN_TABLE)
    return rest.partition("/")[0] if mark else name_or_arn
