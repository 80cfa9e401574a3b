"""Is this request the same transaction as an earlier one? The ClientRequestToken, with what was asked for and what to tell again."""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from hashrange.items.rows import row_size_bytes
from hashrange.limits import TOKEN_LIFE_SECONDS
from hashrange.operations.operation import Scope
from hashrange.operations.replies import ENCODER
from hashrange.store.interface import Token
from hashrange.tables.change import Change
from hashrange.tables.transaction_capacity import TableUnits, transaction_read_units

DIGEST_BYTES = 16
_encode_canonically = msgspec.json.Encoder(order="deterministic").encode
_decode_report = msgspec.json.Decoder(TableUnits).decode


def token_of(scope: Scope, client_token: str, request: msgspec.Struct) -> Token:
    """The token of a request: the same for the same content, in whatever order its JSON stood. 5 µs for 2 KB."""
    now_seconds = scope.clock.service_time()
    return Token(
        name=f"{scope.account}\x00{scope.region}\x00{client_token}".encode(),
        digest=blake2b(_encode_canonically(request), digest_size=DIGEST_BYTES).digest(),
        now_seconds=now_seconds,
        expires_at_seconds=now_seconds + TOKEN_LIFE_SECONDS,
        report=_report,
    )


def replay_units(report: bytes) -> TableUnits:
    """What a replay is charged: as much as reading the items."""
    return _decode_report(report)


def _report(changes: Sequence[Change]) -> bytes:
    sizes = [(change.table.name, 0 if change.new is None else row_size_bytes(change.new)) for change in changes]
    return ENCODER.encode(transaction_read_units(sizes))
