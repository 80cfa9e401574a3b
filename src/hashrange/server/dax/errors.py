"""How does a DAX node report what went wrong? By codes, a message, and the name of DynamoDB's error.

The codes are a list of numbers, the most general first, which clients turn into their exceptions. Source: dax.md 2.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hashrange.dax.attribute_lists import TooManyLists
from hashrange.errors import (
    ApiError,
    InternalServerError,
    LimitExceededException,
    MissingAuthenticationTokenException,
    ValidationException,
)
from hashrange.messages.dax import NESTED_TOO_DEEP, NODE_UNAUTHORIZED, REQUEST_MALFORMED, TOO_MANY_LISTS
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.operations.operation import Wording
from hashrange.operations.reply import Structure, plain_values
from hashrange.server.dax import results
from hashrange.server.protocols.dynamodb_json.writing import error_message
from hashrange.wire.dax.reading import BadBytes
from hashrange.wire.dax.writing import NULL, as_cbor
from hashrange.wire.identifiers import next_number, request_id_of

_log = logging.getLogger("hashrange.dax")

WriteItem = Callable[[int, Mapping[str, Any]], bytes]
"""Place of an action in its transaction, and an item → the item for the client."""
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
    "InternalServerError": (3, 37, 54),  # clients do not try again
}
"""By the name of an error in DynamoDB's API."""
AUTHENTICATION_REQUIRED: Sequence[int] = (4, 23, 31, 33)
OTHER: Sequence[int] = (*_SERVICE, 46)
"""For errors of DynamoDB that DAX has no code for: its clients show the name that comes with it."""


def unauthorized(refusal: ApiError | None) -> bytes:
    """The reply to a client that is not let in, or has not said who it is."""
    found = refusal or MissingAuthenticationTokenException(NODE_UNAUTHORIZED)
    return results.error(AUTHENTICATION_REQUIRED, found.message or "", _request_id(), found.code, 400)


def dax_error(error: BaseException, wording: Wording, write_item: WriteItem | None = None) -> bytes:
    """The reply for an error; one that nobody expected is logged. `write_item`: for a transaction's reasons."""
    if isinstance(error, BadBytes | RecursionError):
        fault = error if isinstance(error, BadBytes) else NESTED_TOO_DEEP
        error = ValidationException(REQUEST_MALFORMED.format(fault=fault))
    elif isinstance(error, TooManyLists):
        error = LimitExceededException(TOO_MANY_LISTS)
    elif not isinstance(error, ApiError):
        _log.error("A request to a DAX node failed.", exc_info=error)
        error = InternalServerError(INTERNAL_ERROR)
    reasons = None
    if "CancellationReasons" in error.members:
        reasons = _reasons(plain_values(error.members["CancellationReasons"]), write_item)
    message = error_message(error, wording) or ""
    return results.error(CODES.get(error.code, OTHER), message, _request_id(), error.code, error.http_status, reasons)


def _reasons(reasons: list[Structure], write_item: WriteItem | None) -> list[bytes]:
    """Code, message and item of each action, one after the other."""
    found = []
    for place, reason in enumerate(reasons):
        item = reason.get("Item")
        written = NULL if item is None or write_item is None else write_item(place, item)
        found += [as_cbor(reason.get("Code")), as_cbor(reason.get("Message")), written]
    return found


def _request_id() -> str:
    return request_id_of(next_number()).decode()
