"""Which error does a throttled request get? The exception, reason and resource of the service."""

from hashrange.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
)
from hashrange.faults.fault import Fault
from hashrange.messages import throttling as sentences
from hashrange.tables.open_table import OpenTable

_EXCEPTIONS: dict[str, type[ApiError]] = {
    "ProvisionedThroughputExceededException": ProvisionedThroughputExceededException,
    "ThrottlingException": ThrottlingException,
    "RequestLimitExceeded": RequestLimitExceeded,
}
_REASONS = {
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "KeyRangeThroughputExceeded",
    "RequestLimitExceeded": "AccountLimitExceeded",
}


def throttled(fault: Fault, table: OpenTable, index: str | None, *, is_write: bool) -> ApiError:
    """The error for a request that a table, or one of its indexes, has no capacity for.

    By default that of the table's billing mode: ProvisionedThroughputExceededException, or ThrottlingException for an
    on-demand table. Reads of a local index use the capacity of its table.
    """
    if index not in {found.name for found, _ in table.index_keys if found.is_global}:
        index = None
    is_provisioned = table.schema.billing_mode == "PROVISIONED"
    code = fault.exception or ("ProvisionedThroughputExceededException" if is_provisioned else "ThrottlingException")
    reason = f"{'Table' if index is None else 'Index'}{'Write' if is_write else 'Read'}{fault.reason or _REASONS[code]}"
    resource = table.schema.arn if index is None else f"{table.schema.arn}/index/{index}"
    member = "throttlingReasons" if code == "ThrottlingException" else "ThrottlingReasons"
    error = _EXCEPTIONS[code]
    return error(_message(code, is_index=index is not None), **{member: [{"reason": reason, "resource": resource}]})


def _message(code: str, *, is_index: bool) -> str:
    if code == "RequestLimitExceeded":
        return sentences.ACCOUNT_LIMIT
    if code == "ThrottlingException":
        return sentences.INDEX_ON_DEMAND if is_index else sentences.TABLE_ON_DEMAND
    return sentences.INDEX_PROVISIONED if is_index else sentences.TABLE_PROVISIONED
