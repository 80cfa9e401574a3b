"""Is a table that was not found there after all? With a catalog whose view may be late, its name is looked up, and the operation run once more.

Nothing of it exists where the view is never late, as on one machine: operations are then run as they are.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.errors import ResourceNotFoundException, TableNotFoundException
from hashrange.operations.meter import Meter
from hashrange.operations.naming import bare_name
from hashrange.operations.operation import Operation, Run, Scope
from hashrange.soon import settled
from hashrange.store.interface import Catalog


def with_second_look(operations: Mapping[str, Operation], catalog: Catalog) -> Mapping[str, Operation]:
    """The operations, each of which looks again where the catalog may be late."""
    if not catalog.is_late:
        return operations
    return {
        name: msgspec.structs.replace(operation, run=_looking_again(operation, catalog))
        for name, operation in operations.items()
    }


def _looking_again(operation: Operation, catalog: Catalog) -> Run:
    """The operation's `run`; once more if it did not find a table that has appeared since.

    What refused because a table was missing has done nothing, or has put and deleted whole items of a batch, which it may do again.
    """
    run = operation.run

    def names_in(request: Any) -> list[str]:
        return [bare_name(name) for name in operation.tables(request)]

    async def run_twice(scope: Scope, request: Any, *meters: Meter) -> Any:
        if operation.tells_missing_tables:
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
