"""How does a request name its tables? Functions and rules for operation records (`Operation`): TableName, TableArn,
ResourceArn, StreamArn or BackupArn holds the name.
"""

from collections.abc import Callable, Iterable
from typing import Any

from hashrange.aws_services.operation import Operation, Run
from hashrange.messages.requests import TABLE_ARN_REQUIRED, TABLE_NAME_REQUIRED
from hashrange.operations.operation import JsonWire
from hashrange.wire.rules import RequestRules, RequiredMember

TABLE_NAME_FIRST = RequestRules(required=RequiredMember("TableName", TABLE_NAME_REQUIRED))
"""Rule: presence and length of TableName are checked before all other constraints."""
GIVEN_TABLE_NAME_FIRST = RequestRules(required=RequiredMember("TableName", None))
"""Rule: TableName may be absent; if given, its length is checked before all other constraints."""
TABLE_ARN_FIRST = RequestRules(required=RequiredMember("ResourceArn", TABLE_ARN_REQUIRED, is_table_name=False))
"""Rule: presence of ResourceArn, a table's ARN, is checked before all other constraints."""

_ARN_TABLE = ":table/"


def by_table_name(request: Any) -> Iterable[str]:
    """The name or ARN in `TableName`, if given."""
    name = request.TableName
    return () if name is None else (name,)


def _by_arn(member: str) -> Callable[[Any], Iterable[str]]:
    """A function that returns the ARN in this member of a request, if given: an ARN that contains the table's name."""

    def names(request: Any) -> Iterable[str]:
        arn = getattr(request, member)
        return () if arn is None else (arn,)

    return names


by_table_arn = _by_arn("TableArn")
by_resource_arn = _by_arn("ResourceArn")
by_stream_arn = _by_arn("StreamArn")
by_backup_arn = _by_arn("BackupArn")
by_export_arn = _by_arn("ExportArn")
by_import_arn = _by_arn("ImportArn")
by_bulk_operation_arn = _by_arn("BulkOperationArn")


def bare_name(name_or_arn: str) -> str:
    """The table name in `name_or_arn`: a plain name, or the ARN of a table, stream or index."""
    _, mark, rest = name_or_arn.partition(_ARN_TABLE)
    return rest.partition("/")[0] if mark else name_or_arn


def table_operation(
    name: str, run: Run, rules: RequestRules = TABLE_NAME_FIRST, *, writes: bool = False, reaches_out: bool = False
) -> Operation[JsonWire]:
    """The record of an operation on one table, which consumes no capacity; usually TableName is checked first.

    The struct of its requests is the one that the signature of `run` says.
    """
    request = run.__annotations__["request"]
    wire = JsonWire(rules=rules, reaches_out=reaches_out)
    return Operation(name, request, run, wire, tables=by_table_name, writes=writes)


def reading_operation(name: str, run: Run, rules: RequestRules, *, is_quick: bool = False) -> Operation[JsonWire]:
    """The record of an operation that reads items of one table, consistently only if its ConsistentRead is true.

    The struct of its requests is the one that the signature of `run` says.
    """
    return Operation(
        name,
        run.__annotations__["request"],
        run,
        JsonWire(rules=rules, is_quick=is_quick),
        capacity="one",
        tables=by_table_name,
        is_eventual=lambda request: request.ConsistentRead is not True,
    )
