"""Does a table that was not found exist after all, or one that was found no longer? If other servers may have changed
it, look its name up and run the operation again.

If no other server changes tables (`Catalog.is_late` is False), operations run unchanged.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation, Run
from hashrange.errors import IndexNotFound, ResourceInUseException, ResourceNotFoundException, TableNotFoundException
from hashrange.operations.meter import Meter
from hashrange.operations.naming import bare_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.soon import settled
from hashrange.store.interface import Catalog


def with_second_look(
    operations: Mapping[str, Operation[JsonWire]], catalog: Catalog
) -> Mapping[str, Operation[JsonWire]]:
    """Return the operations; if `catalog.is_late`, wrapped to look tables up that were not found."""
    if not catalog.is_late:
        return operations
    return {
        name: msgspec.structs.replace(operation, run=_looking_again(operation, catalog))
        for name, operation in operations.items()
    }


def _looking_again(operation: Operation[JsonWire], catalog: Catalog) -> Run:
    """Return an `Operation.run` that runs the operation again if it did not find a table or index, or found one in use,
    and the view of the catalog was out of date.

    For an operation that reports missing tables in its reply, tables are looked up before the first run. Running twice
    is safe: an operation that lacked a table has done nothing, or has put and deleted whole items of a batch.
    """
    run = operation.run

    def names_in(request: Any) -> list[str]:
        return [bare_name(name) for name in operation.tables(request)]

    async def run_twice(scope: Scope, request: Any, *meters: Meter) -> Any:
        if operation.reports_missing_tables:
            await catalog.look_up(scope.account, scope.region, names_in(request))
        try:
            return await settled(run(scope, request, *meters))
        except (IndexNotFound, ResourceInUseException, ResourceNotFoundException, TableNotFoundException):
            if not await catalog.look_up(scope.account, scope.region, names_in(request)):
                raise
        for meter in meters:
            meter.clear()
        return await settled(run(scope, request, *meters))

    return run_twice
