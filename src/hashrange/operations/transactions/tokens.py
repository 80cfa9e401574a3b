"""Does a request repeat an earlier transaction? Its idempotency token says: ClientRequestToken, digest of the request, report for a replay."""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from hashrange.items.canonical import encode_canonically
from hashrange.items.row_layout import row_size_bytes
from hashrange.limits import TOKEN_LIFE_SECONDS
from hashrange.operations.operation import Scope
from hashrange.store.interface import IdempotencyToken
from hashrange.tables.change import Change
from hashrange.tables.transaction_capacity import TableUnits, transaction_read_units

DIGEST_BYTES = 16
_decode_report = msgspec.json.Decoder(TableUnits).decode


class ContentDigest:
    """Digest of a request, computed piece by piece, so that other requests can run in between."""

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)

    def add(self, piece: object) -> None:
        """Add the next piece; the order of its JSON keys does not matter. 1 µs for 400 bytes, 1 ms for 400 KB."""
        self._hash.update(encode_canonically(piece))

    def token(self, scope: Scope, client_token: str) -> IdempotencyToken:
        """The IdempotencyToken of a ClientRequestToken and the pieces added; expires after TOKEN_LIFE_SECONDS."""
        now_seconds = scope.clock.service_time()
        return IdempotencyToken(
            name=f"{scope.account}\x00{scope.region}\x00{client_token}".encode(),
            digest=self._hash.digest(),
            now_seconds=now_seconds,
            expires_at_seconds=now_seconds + TOKEN_LIFE_SECONDS,
            report=_report,
        )


def replay_units(report: bytes) -> TableUnits:
    """Table name → units that a replay consumes: as many as reading the items as the transaction left them."""
    return _decode_report(report)


def _report(changes: Sequence[Change]) -> bytes:
    sizes = [(change.table.name, 0 if change.new is None else row_size_bytes(change.new)) for change in changes]
    return msgspec.json.encode(transaction_read_units(sizes))
