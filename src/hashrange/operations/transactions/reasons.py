"""Why was a transaction cancelled? The refusals of its actions, in their order, as the service lists them.

Source: service behaviour, captures to Oct 2026.
"""

from hashrange.errors import (
    ApiError,
    RequestFault,
    RequestLimitExceeded,
    TransactionCanceledException,
    WholeRequestFault,
)
from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.types import Row
from hashrange.messages.transactions import CANCELLED
from hashrange.operations.reply import Items, Structure

_OTHER_CODES = {"ThrottlingException": "ThrottlingError", "ValidationException": "ValidationError"}


def code_of(refusal: ApiError) -> str:
    """The code of a cancellation reason, or of the error of a statement of BatchExecuteStatement."""
    return _OTHER_CODES.get(refusal.code) or refusal.code.removesuffix("Exception")


def cancelled(refusals: list[ApiError | None]) -> ApiError:
    """The error of a transaction with these refusals, one for each action (None: not refused). The error is the first
    WholeRequestFault or RequestLimitExceeded among them, otherwise a TransactionCanceledException that lists all.
    """
    for refusal in refusals:
        if isinstance(refusal, WholeRequestFault | RequestLimitExceeded):
            return refusal
    reasons = list(map(_reason, refusals))
    message = CANCELLED.format(codes=", ".join([str(reason["Code"]) for reason in reasons]))
    error = TransactionCanceledException(message, CancellationReasons=Items(reasons))
    asked_ms = [one.retry_after_ms for one in refusals if one is not None and one.retry_after_ms is not None]
    error.retry_after_ms = max(asked_ms, default=None)
    return error


def _reason(refusal: ApiError | None) -> Structure:
    if refusal is None:
        return Structure(Code="None")
    return Structure(Code=code_of(refusal), Message=message_of(refusal), **item_member(refusal))


def item_member(refusal: ApiError) -> dict[str, object]:
    """The refusal's member `Item`, if it has one: the only further member of a reason, and of a statement's error."""
    row: Row | None = refusal.members.get("Item")  # type: ignore[assignment]  # members are declared as objects
    return {} if row is None else {"Item": hash_ordered_row(row)}


def message_of(refusal: ApiError) -> str | None:
    """Message of a refusal in the older layer's wording, which transactions and BatchExecuteStatement use."""
    return refusal.older_message if isinstance(refusal, RequestFault) else refusal.message
