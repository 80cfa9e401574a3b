"""Which error does a request get for which a table, or one of its indexes, has no capacity left? The exception, reason and resource of the service.

Source: errors.md 9; API reference, *ThrottlingReason*.
"""

from typing import Literal

from hashrange.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
)
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
    message = _message(code, is_index=index_name is not None)
    return EXCEPTIONS[code](message, **{member: [{"reason": reason, "resource": resource}]})


def _message(code: ThrottlingCode, *, is_index: bool) -> str:
    if code == "RequestLimitExceeded":
        return sentences.ACCOUNT_LIMIT
    if code == "ThrottlingException":
        return sentences.INDEX_ON_DEMAND if is_index else sentences.TABLE_ON_DEMAND
    return sentences.INDEX_PROVISIONED if is_index else sentences.TABLE_PROVISIONED
