"""Which operations on functions are served? All `OPERATION`s of this package."""

from hashrange.functions.api import concurrency, configurations, invoke, not_there, permissions, stored_functions

OPERATIONS = (
    *stored_functions.OPERATIONS,
    *configurations.OPERATIONS,
    invoke.OPERATION,
    *concurrency.OPERATIONS,
    *permissions.OPERATIONS,
    *not_there.OPERATIONS,
)
