"""Why was a transaction cancelled? The refusals of its actions, in their order, as the service lists them.

Source: service behaviour, captures to Oct 2026.
"""

from hashrange.errors import ApiError, RequestFault, TransactionCanceledException
from hashrange.messages.transactions import CANCELLED

CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ItemCollectionSizeLimitExceededException": "ItemCollectionSizeLimitExceeded",
    "TransactionConflictException": "TransactionConflict",
    "ValidationException": "ValidationError",
}
"""Code of an error → code of a reason."""


def cancelled(refusals: list[ApiError | None]) -> TransactionCanceledException:
    """The error that tells all refusals; None stands for an action that had nothing against it."""
    reasons = [_reason(refusal) for refusal in refusals]
    message = CANCELLED.format(codes=", ".join([str(reason["Code"]) for reason in reasons]))
    return TransactionCanceledException(message, CancellationReasons=reasons)


def _reason(refusal: ApiError | None) -> dict[str, object]:
    if refusal is None:
        return {"Code": "None"}
    message = refusal.older if isinstance(refusal, RequestFault) else refusal.message
    return {"Code": CODES[refusal.code], "Message": message, **refusal.members}
