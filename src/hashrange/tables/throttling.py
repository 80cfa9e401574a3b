"""Which error does a request get for which a table, or one of its indexes, has no capacity left?
The exception, reason and resource of the service.

Also what others are told of it. Source: errors.md 9; API reference, *ThrottlingReason*.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from hashrange.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
)
from hashrange.items.types import Key
from hashrange.messages import throttling as sentences
from hashrange.tables.open_table import OpenTable

ThrottlingCode = Literal["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
ThroughputLimit = Literal[
    "ProvisionedThroughputExceeded",
    "KeyRangeThroughputExceeded",
    "AccountLimitExceeded",
    "MaxOnDemandThroughputExceeded",
]
"""What was exceeded: the end of a reason, which begins with `Table` or `Index` and `Read` or `Write`."""
EXCEPTIONS: dict[ThrottlingCode, type[ApiError]] = {
    "ProvisionedThroughputExceededException": ProvisionedThroughputExceededException,
    "ThrottlingException": ThrottlingException,
    "RequestLimitExceeded": RequestLimitExceeded,
}


class ThrottleEvent(NamedTuple):
    """One part of a request, such as one item of a batch, that was throttled."""

    table: OpenTable
    index_name: str | None
    """The global index that has no units; None: the table."""
    limit: ThroughputLimit
    is_write: bool
    key: Key | None
    """Key of the table's item, or of the index's entry; of a page, the key that it begins at,
    which need not be that of an item.

    None: it concerns no certain one, or its key is not known.
    """
    operation: str
    """Name of the request's operation."""


SeeThrottled = Callable[[ThrottleEvent], None]
"""Is told of each throttled part of a request, on the thread of the event loop."""


def usual_code(table: OpenTable, limit: ThroughputLimit) -> ThrottlingCode:
    """The exception with which the service refuses a request to this table for this limit."""
    if limit == "AccountLimitExceeded":
        return "RequestLimitExceeded"
    if table.schema.billing_mode == "PROVISIONED":
        return "ProvisionedThroughputExceededException"
    return "ThrottlingException"


def throttling_error(
    table: OpenTable, index_name: str | None, code: ThrottlingCode, limit: ThroughputLimit, *, is_write: bool
) -> ApiError:
    """The error of a request to a table (`index_name` None) or to one of its global indexes."""
    reason = f"{'Table' if index_name is None else 'Index'}{'Write' if is_write else 'Read'}{limit}"
    resource = table.schema.arn if index_name is None else f"{table.schema.arn}/index/{index_name}"
    member = "throttlingReasons" if code == "ThrottlingException" else "ThrottlingReasons"
    message = _message(code, limit, is_index=index_name is not None, is_write=is_write)
    return EXCEPTIONS[code](
        message, **{member: [{"__type": "ThrottlingReason", "reason": reason, "resource": resource}]}
    )


def _message(code: ThrottlingCode, limit: ThroughputLimit, *, is_index: bool, is_write: bool) -> str:
    if code == "RequestLimitExceeded":
        return sentences.ACCOUNT_LIMIT
    if code == "ThrottlingException":
        if limit == "MaxOnDemandThroughputExceeded":
            return sentences.MAXIMUM_ON_DEMAND
        return sentences.INDEX_ON_DEMAND if is_index and is_write else sentences.TABLE_ON_DEMAND
    return sentences.INDEX_PROVISIONED if is_index else sentences.TABLE_PROVISIONED
