"""Which operations are there? All records, by name."""

from hashrange.operations.items import delete_item, get_item, put_item, query, scan, update_item
from hashrange.operations.operation import Operation
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

OPERATIONS: dict[str, Operation] = {
    module.OPERATION.name: module.OPERATION
    for module in (
        create_table,
        delete_item,
        delete_table,
        describe_endpoints,
        describe_limits,
        describe_table,
        get_item,
        list_tables,
        list_tags_of_resource,
        put_item,
        query,
        scan,
        tag_resource,
        untag_resource,
        update_item,
        update_table,
    )
}
