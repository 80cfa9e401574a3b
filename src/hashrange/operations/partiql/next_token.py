"""Where does the next page of a SELECT begin? The NextToken says;
it is valid only for one statement with its parameters.

Form (opaque to clients): base64 of 16 bytes signature ‖ JSON [number of the span in reading order, last evaluated key
or null]. The signature is an HMAC over statement, parameters and that JSON, keyed by the table's UUID. So a token
survives a restart, needs no storage, is invalid once its table is deleted, and fits no other statement. Numbers among
the parameters need equal value and scale (`1e2` and `1E2`, but not `100`), sets equal members; with a list or map among
them, a token fits nothing. Source: service behaviour, captures to 23 October 2026. Clients that
may describe the table know its UUID and can forge a signature: therefore the content of a token is checked like an
ExclusiveStartKey, and no token leads outside of what its statement reads anyway.
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import msgspec

from hashrange.errors import Malformed, RequestFault, ValidationException
from hashrange.expressions.partiql.statement import RawParameters
from hashrange.items.canonical import encode_canonically
from hashrange.items.steps import walk
from hashrange.items.types import SET_TYPES, Item
from hashrange.items.values import check_item, check_value
from hashrange.messages.partiql import TOKEN_MISMATCH
from hashrange.tables.open_table import OpenTable

SIGNATURE_BYTES = 16
QUICK_CHARACTERS = 256
"""Longer texts of numbers are compared as texts, because to read one takes long."""
_SETS = frozenset(SET_TYPES)


class Continuation(NamedTuple):
    """The beginning of the next page: a span, and the item after which to read it."""

    span_number: int
    last_key: Item | None
    """Key attributes of the last evaluated item; None at the beginning of the span."""


_decode = msgspec.json.Decoder(tuple[int, dict[str, Any] | None]).decode


def make_token(table: OpenTable, statement: str, parameters: RawParameters | None, continuation: Continuation) -> str:
    """The NextToken for a continuation of this statement."""
    content = encode_canonically(continuation)
    return b64encode(_signature(table, statement, parameters, content) + content).decode()


def read_token(table: OpenTable, statement: str, parameters: RawParameters | None, token: str) -> Continuation:
    """The continuation in a token.

    Raises ValidationException for a malformed token, or one of another statement, other parameters or another table.
    """
    if any("L" in parameter or "M" in parameter for parameter in parameters or ()):
        raise ValidationException(TOKEN_MISMATCH)
    try:
        signed = b64decode(token, validate=True)
        content = signed[SIGNATURE_BYTES:]
        if not hmac.compare_digest(signed[:SIGNATURE_BYTES], _signature(table, statement, parameters, content)):
            raise ValidationException(TOKEN_MISMATCH)
        span_number, last_key = _decode(content)
        return Continuation(span_number, None if last_key is None else check_item(last_key)[0])
    except (Base64Error, ValueError, msgspec.MsgspecError, Malformed):
        raise ValidationException(TOKEN_MISMATCH) from None


def _signature(table: OpenTable, statement: str, parameters: RawParameters | None, content: bytes) -> bytes:
    comparable = None if parameters is None else [_comparable(parameter) for parameter in walk(parameters)]
    signed = encode_canonically((statement, comparable)) + b"\x00" + content
    return hmac.digest(table.schema.uuid.encode(), signed, "sha256")[:SIGNATURE_BYTES]


def _comparable(parameter: dict[str, Any]) -> dict[str, Any]:
    """A parameter in a form that is equal for all parameters that a token takes for the same."""
    number = parameter.get("N")
    try:
        if number is None:
            return check_value(parameter)[0] if not _SETS.isdisjoint(parameter) else parameter
        if number.__class__ is not str or len(number) > QUICK_CHARACTERS:
            return parameter
        is_negative, digits, exponent = Decimal(number).as_tuple()
    except (InvalidOperation, RequestFault, Malformed):  # a parameter that the statement does not use
        return parameter
    return {"N": [bool(is_negative and any(digits)), digits, exponent]}
