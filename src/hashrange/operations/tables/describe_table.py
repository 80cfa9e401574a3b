"""DescribeTable: describe a table. Order of checks: name → table exists."""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException
from hashrange.messages import tables as say
from hashrange.operations.lookup import find_table, table_name
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import TableName as NameOrArn
from hashrange.tables.description import described_sources
from hashrange.tables.description import table_description as describe


class DescribeTableRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""

    TableName: NameOrArn


async def describe_table(scope: Scope, request: DescribeTableRequest) -> Reply:
    """The table's current description, with the statistics that the store reports now."""
    table = await find_table(scope, request.TableName)
    if table is None:
        raise ResourceNotFoundException(say.TABLE_NOT_FOUND.format(name=table_name(request.TableName)))
    statistics = await scope.store.statistics(described_sources(table))
    return {"Table": describe(table, scope.clock.service_time(), statistics)}


OPERATION = Operation(
    "DescribeTable", DescribeTableRequest, describe_table, JsonWire(rules=TABLE_NAME_FIRST), tables=by_table_name
)
