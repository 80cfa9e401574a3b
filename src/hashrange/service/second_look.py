"""Is a table that was not found there after all? With a catalog whose view may be late, its name is looked up, and the operation run once more.

Nothing of it exists where the view is never late, as on one machine: operations are then run as they are.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hashrange.errors import ApiError, ResourceNotFoundException, TableNotFoundException
from hashrange.expressions.partiql.statement import compile_statement
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Operation, Run, Scope
from hashrange.service.table_names import bare_name, table_names
from hashrange.store.interface import Catalog


def with_second_look(operations: Mapping[str, Operation], catalog: Catalog) -> Mapping[str, Operation]:
    """The operations, each of which looks again where the catalog may be late."""
    if not catalog.is_late:
        return operations
    return {
        name: msgspec.structs.replace(operation, run=_looking_again(operation.run, catalog))
        for name, operation in operations.items()
    }


def _looking_again(run: Run, catalog: Catalog) -> Run:
    """`run`; once more if it did not find a table that has appeared since.

    What refused because a table was missing has done nothing, or has put and deleted whole items of a batch, which it may do again.
    """

    async def run_twice(scope: Scope, parsed: Any, *meter: Meter) -> Any:
        missing = [name for name in _batch_names(getattr(parsed, "Statements", ())) if name not in scope.tables]
        if missing:
            await catalog.look_up(scope.account, scope.region, missing)
        try:
            return await run(scope, parsed, *meter)
        except (ResourceNotFoundException, TableNotFoundException):
            if not await catalog.look_up(scope.account, scope.region, list(table_names(parsed))):
                raise
        return await run(scope, parsed, *meter)

    return run_twice


def _batch_names(statements: Iterable[Any]) -> Iterable[str]:
    """The tables of BatchExecuteStatement, which tells in its reply what it did not find, so they are looked up before."""
    for one in statements:
        try:
            yield bare_name(compile_statement(one.Statement, one.Parameters).table_name)
        except ApiError:
            continue  # it is told in the reply too
