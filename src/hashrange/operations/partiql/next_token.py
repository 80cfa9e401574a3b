"""Where does the next page of a SELECT begin? A NextToken tells, and belongs to one statement with its parameters.

Form (opaque to clients): base64 of 16 bytes signature ‖ JSON [number of the span, last evaluated key or null]. The signature is
an HMAC over statement, parameters and that JSON, keyed by the table's own id. So a token outlives a restart, needs nothing stored,
ends with its table, and fits no other statement. The table's id is no secret to who may describe the table: what a token says is
checked again as an ExclusiveStartKey is, and no token leads outside of what its statement reads anyway.
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
    """Where to go on: in which span, and behind which item."""

    span_number: int
    last_key: Item | None
    """Attributes of the last evaluated item's key; None at the beginning of the span."""


_decode = msgspec.json.Decoder(tuple[int, dict[str, Any] | None]).decode


def make_token(table: OpenTable, statement: str, parameters: RawParameters | None, continuation: Continuation) -> str:
    """The token of a page's end."""
    content = encode_canonically(continuation)
    return b64encode(_signature(table, statement, parameters, content) + content).decode()


def read_token(table: OpenTable, statement: str, parameters: RawParameters | None, token: str) -> Continuation:
    """What a token says; raises ValidationException for one that was not given for this statement."""
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
