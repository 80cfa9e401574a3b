"""Where does the next page of a SELECT begin? The NextToken says; it is valid only for one statement with its parameters.

Form (opaque to clients): base64 of 16 bytes signature ‖ JSON [number of the span in reading order, last evaluated key
or null]. The signature is an HMAC over statement, parameters and that JSON, keyed by the table's UUID. So a token
survives a restart, needs no storage, is invalid once its table is deleted, and fits no other statement. Clients that
may describe the table know its UUID and can forge a signature: therefore the content of a token is checked like an
ExclusiveStartKey, and no token leads outside of what its statement reads anyway.
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any, NamedTuple

import msgspec

from hashrange.errors import Malformed, ValidationException
from hashrange.expressions.partiql.statement import RawParameters
from hashrange.items.canonical import encode_canonically
from hashrange.items.types import Item
from hashrange.items.values import check_item
from hashrange.messages.partiql import TOKEN_MISMATCH
from hashrange.tables.open_table import OpenTable

SIGNATURE_BYTES = 16


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
    signed = encode_canonically((statement, parameters)) + b"\x00" + content
    return hmac.digest(table.schema.uuid.encode(), signed, "sha256")[:SIGNATURE_BYTES]
