"""Which numbers stand for an error in DAX's protocol? A list of codes, which clients turn into their exceptions,
the most general first. Source: dax.md 2.
"""

from collections.abc import Sequence

_SERVICE = (4, 37, 38, 39)
"""An error of DynamoDB, passed on."""
CODES: dict[str, Sequence[int]] = {
    "ProvisionedThroughputExceededException": (*_SERVICE, 40),
    "ResourceNotFoundException": (*_SERVICE, 41),
    "ConditionalCheckFailedException": (*_SERVICE, 43),
    "ResourceInUseException": (*_SERVICE, 45),
    "ValidationException": (*_SERVICE, 46),
    "ItemCollectionSizeLimitExceededException": (*_SERVICE, 48),
    "LimitExceededException": (*_SERVICE, 49),
    "ThrottlingException": (*_SERVICE, 50),
    "TransactionConflictException": (*_SERVICE, 57),
    "TransactionCanceledException": (*_SERVICE, 58),
    "TransactionInProgressException": (*_SERVICE, 59),
    "IdempotentParameterMismatchException": (*_SERVICE, 60),
    "RequestLimitExceeded": (*_SERVICE, 61),
    "AccessDeniedException": (4, 37, 38, 42),
}
AUTHENTICATION_REQUIRED: Sequence[int] = (4, 23, 31, 33)
NOT_IMPLEMENTED: Sequence[int] = (4, 37, 38, 44)
INTERNAL: Sequence[int] = (3, 37, 54)
"""Clients do not try again."""
OTHER: Sequence[int] = (*_SERVICE, 46)
"""For errors of DynamoDB that DAX has no code for: its clients show the name that comes with it."""


def codes_of(error_code: str) -> Sequence[int]:
    """The codes of an error by its name in DynamoDB's API."""
    if error_code == "InternalServerError":
        return INTERNAL
    return CODES.get(error_code, OTHER)
