"""Which operations exist? `OPERATIONS` holds the records of the implemented ones by name,
`ALL_OPERATIONS` those of the whole API.
"""

from hashrange.aws_services.operation import Operation
from hashrange.operations import account
from hashrange.operations.backups import continuous_backups, on_demand_backups, restores
from hashrange.operations.insights import contributor_insights
from hashrange.operations.items import (
    batch_get_item,
    batch_write_item,
    get_item,
    query,
    scan,
    search_vectors,
    write_item,
)
from hashrange.operations.operation import JsonWire
from hashrange.operations.partiql import batch_execute_statement, execute_statement, execute_transaction
from hashrange.operations.pending import PENDING
from hashrange.operations.policies import resource_policies
from hashrange.operations.streams import iterators, stream
from hashrange.operations.tables import (
    create_table,
    delete_table,
    describe_table,
    describe_table_replica_auto_scaling,
    kinesis_streaming,
    list_global_tables,
    list_tables,
    tags,
    time_to_live,
    update_table,
)
from hashrange.operations.transactions import transact_get_items, transact_write_items
from hashrange.operations.transfers import bulk_puts, exports, imports

OPERATIONS: dict[str, Operation[JsonWire]] = {
    operation.name: operation
    for operation in (
        *account.OPERATIONS,
        batch_execute_statement.OPERATION,
        batch_get_item.OPERATION,
        batch_write_item.OPERATION,
        *contributor_insights.OPERATIONS,
        *continuous_backups.OPERATIONS,
        *bulk_puts.OPERATIONS,
        create_table.OPERATION,
        delete_table.OPERATION,
        describe_table.OPERATION,
        describe_table_replica_auto_scaling.OPERATION,
        execute_statement.OPERATION,
        execute_transaction.OPERATION,
        *exports.OPERATIONS,
        get_item.OPERATION,
        *imports.OPERATIONS,
        *iterators.OPERATIONS,
        *kinesis_streaming.OPERATIONS,
        list_global_tables.OPERATION,
        list_tables.OPERATION,
        *on_demand_backups.OPERATIONS,
        query.OPERATION,
        *resource_policies.OPERATIONS,
        *restores.OPERATIONS,
        scan.OPERATION,
        search_vectors.OPERATION,
        *stream.OPERATIONS,
        *tags.OPERATIONS,
        *time_to_live.OPERATIONS,
        transact_get_items.OPERATION,
        transact_write_items.OPERATION,
        update_table.OPERATION,
        *write_item.OPERATIONS,
    )
}
"""Name → record of each implemented operation."""

ALL_OPERATIONS: dict[str, Operation[JsonWire]] = PENDING | OPERATIONS
"""Name → record of every operation of the API; operations that are not implemented yet refuse every request."""
