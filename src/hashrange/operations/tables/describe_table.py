"""DescribeTable: describe a table. Order of checks: name → table exists."""

from hashrange.operations.lookup import TableRequest, described_table
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.tables.description import described_sources
from hashrange.tables.description import table_description as describe


async def describe_table(scope: Scope, request: TableRequest) -> Reply:
    """The table's current description, with the statistics that the store reports now."""
    table = await described_table(scope, request.TableName)
    statistics = await scope.store.statistics(described_sources(table))
    return {"Table": describe(table, scope.clock.service_time(), statistics)}


OPERATION = table_operation("DescribeTable", describe_table)
