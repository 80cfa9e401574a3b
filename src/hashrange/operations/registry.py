"""Which operations exist? `OPERATIONS` holds the records of the implemented ones by name,
`ALL_OPERATIONS` those of the whole API.
"""

from hashrange.aws_services.operation import Operation
from hashrange.operations.backups import describe_continuous_backups, list_backups, update_continuous_backups
from hashrange.operations.global_tables import describe_table_replica_auto_scaling, list_global_tables
from hashrange.operations.insights import (
    describe_contributor_insights,
    list_contributor_insights,
    update_contributor_insights,
)
from hashrange.operations.items import (
    batch_get_item,
    batch_write_item,
    delete_item,
    get_item,
    put_item,
    query,
    scan,
    update_item,
)
from hashrange.operations.operation import JsonWire
from hashrange.operations.partiql import batch_execute_statement, execute_statement, execute_transaction
from hashrange.operations.pending import PENDING
from hashrange.operations.policies import delete_resource_policy, get_resource_policy, put_resource_policy
from hashrange.operations.streaming import (
    describe_kinesis_streaming_destination,
    disable_kinesis_streaming_destination,
    enable_kinesis_streaming_destination,
    update_kinesis_streaming_destination,
)
from hashrange.operations.streams import describe_stream, get_records, get_shard_iterator, list_streams
from hashrange.operations.tables import (
    create_table,
    delete_table,
    describe_endpoints,
    describe_limits,
    describe_table,
    list_tables,
    list_tags_of_resource,
    tag_resource,
    untag_resource,
    update_table,
)
from hashrange.operations.time_to_live import describe_time_to_live, update_time_to_live
from hashrange.operations.transactions import transact_get_items, transact_write_items
from hashrange.operations.transfers import list_bulk_operations, list_exports, list_imports

OPERATIONS: dict[str, Operation[JsonWire]] = {
    module.OPERATION.name: module.OPERATION
    for module in (
        batch_execute_statement,
        batch_get_item,
        batch_write_item,
        create_table,
        delete_item,
        delete_resource_policy,
        delete_table,
        describe_continuous_backups,
        describe_contributor_insights,
        describe_endpoints,
        describe_kinesis_streaming_destination,
        describe_limits,
        describe_stream,
        describe_table,
        describe_table_replica_auto_scaling,
        describe_time_to_live,
        disable_kinesis_streaming_destination,
        enable_kinesis_streaming_destination,
        execute_statement,
        execute_transaction,
        get_item,
        get_records,
        get_resource_policy,
        get_shard_iterator,
        list_backups,
        list_bulk_operations,
        list_contributor_insights,
        list_exports,
        list_global_tables,
        list_imports,
        list_streams,
        list_tables,
        list_tags_of_resource,
        put_item,
        put_resource_policy,
        query,
        scan,
        tag_resource,
        transact_get_items,
        transact_write_items,
        untag_resource,
        update_continuous_backups,
        update_contributor_insights,
        update_item,
        update_kinesis_streaming_destination,
        update_table,
        update_time_to_live,
    )
}
"""Name → record of each implemented operation."""

ALL_OPERATIONS: dict[str, Operation[JsonWire]] = PENDING | OPERATIONS
"""Name → record of every operation of the API; operations that are not implemented yet refuse every request."""
