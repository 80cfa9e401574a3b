"""Which error does a request get that meets a fault of the kind `throttle`?
That of the fault, or the usual one of the table's billing mode.
"""

from hashrange.errors import ApiError
from hashrange.faults.fault import Fault
from hashrange.items.types import Key
from hashrange.tables.open_table import OpenTable
from hashrange.tables.throttling import (
    ThrottleEvent,
    ThrottleEvents,
    ThrottlingCode,
    ThroughputLimit,
    throttling_error,
    usual_code,
)

_LIMITS: dict[ThrottlingCode, ThroughputLimit] = {
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "KeyRangeThroughputExceeded",
    "RequestLimitExceeded": "AccountLimitExceeded",
}


def throttled(
    fault: Fault, table: OpenTable, index: str | None, key: Key | None, events: ThrottleEvents | None, *, is_write: bool
) -> ApiError:
    """The error for a part of a request that a table, or one of its indexes, has no capacity for. Tells `events` of it.

    `key`: that of the table's item; None if it is not known.
    By default that of the table's billing mode: ProvisionedThroughputExceededException, or ThrottlingException for an
    on-demand table. Reads of a local index use the capacity of its table.
    """
    if index not in {found.name for found, _ in table.index_keys if found.is_global}:
        index = None
    code = fault.exception or usual_code(table, "KeyRangeThroughputExceeded")
    limit = fault.reason or _LIMITS[code]
    if events is not None:
        events.tell(ThrottleEvent(table, index, limit, is_write, key if index is None else None))
    error = throttling_error(table, index, code, limit, is_write=is_write)
    error.retry_after_ms = fault.retry_after_ms
    return error
