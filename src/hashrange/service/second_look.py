"""Does a table that was not found exist after all? If other servers may have created it,
look its name up and run the operation again.

If no other server creates tables (`Catalog.is_late` is False), operations run unchanged.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation, Run
from hashrange.errors import ResourceNotFoundException, TableNotFoundException
from hashrange.operations.meter import Meter
from hashrange.operations.naming import bare_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.soon import settled
from hashrange.store.interface import Catalog


def with_second_look(
    operations: Mapping[str, Operation[JsonWire]], catalog: Catalog
) -> Mapping[str, Operation[JsonWire]]:
    """Return the operations; if `catalog.is_late`, wrapped to look missing tables up."""
    if not catalog.is_late:
        return operations
    return {
        name: msgspec.structs.replace(operation, run=_looking_again(operation, catalog))
        for name, operation in operations.items()
    }


def _looking_again(operation: Operation[JsonWire], catalog: Catalog) -> Run:
    """Return an `Operation.run` that runs the operation again if it did not find a table that the catalog then finds.

    For an operation that reports missing tables in its reply, unknown tables are looked up before
    the first run. Running twice is safe: an operation that lacked a table has done nothing,
    or has put and deleted whole items of a batch.
    """
    run = operation.run

    def names_in(request: Any) -> list[str]:
        return [bare_name(name) for name in operation.tables(request)]

    async def run_twice(scope: Scope, request: Any, *meters: Meter) -> Any:
        if operation.reports_missing_tables:
            missing = [name for name in names_in(request) if name not in scope.tables]
            if missing:
                await catalog.look_up(scope.account, scope.region, missing)
        try:
            return await settled(run(scope, request, *meters))
        except (ResourceNotFoundException, TableNotFoundException):
            if not await catalog.look_up(scope.account, scope.region, names_in(request)):
                raise
        for meter in meters:
            meter.clear()
        return await settled(run(scope, request, *meters))

    return run_twice
