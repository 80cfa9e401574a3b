"""Which error messages concern transactions? The service's, except those marked as our own.

Source: service behaviour, captures to Oct 2026; fields in braces are filled in where the error is raised.
"""

CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
CONFLICT = "Transaction is ongoing for the item"
# S105: no secret
TOKEN_REUSED = "The request uses the same client token as a previous, but non-identical request."  # noqa: S105
"""Our own wording: the service's is not known."""

SAME_ITEM_TWICE = "Transaction request cannot include multiple operations on one item"
ONE_ACTION_ONLY = "TransactItems can only contain one of Check, Put, Update or Delete"
NO_ACTION = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
"""One public list of answers has it; the service was also seen to report a value '' at 'transactItems'."""
TRANSACTION_TOO_LARGE = (
    "Collection size of items exceeded, which can also be caused by the aggregate size of the items in the transaction"
    " exceeding the 4MB limit"
)
"""Unconfirmed: no capture covers this message."""
