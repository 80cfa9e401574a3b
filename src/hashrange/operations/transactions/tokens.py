"""Does a request repeat an earlier transaction? Its idempotency token says: ClientRequestToken, digest of the request, units of a replay."""

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
    """Digest of a transaction request, computed from its options, then from each action or statement.

    Other requests can run between two calls of `add`.
    """

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)

    def add(self, piece: object) -> None:
        """Add options, an action or a statement; JSON keys may be in any order. 1 µs for 400 bytes, 1 ms for 400 KB."""
        self._hash.update(encode_canonically(piece))

    def token(self, scope: Scope, client_token: str) -> IdempotencyToken:
        """The IdempotencyToken of a ClientRequestToken and the content added; expires after TOKEN_LIFE_SECONDS."""
        now_seconds = scope.clock.service_time()
        return IdempotencyToken(
            name=f"{scope.account}\x00{scope.region}\x00{client_token}".encode(),
            digest=self._hash.digest(),
            now_seconds=now_seconds,
            expires_at_seconds=now_seconds + TOKEN_LIFE_SECONDS,
            report=_report,
        )


def replay_units(report: bytes) -> TableUnits:
    """Table name → units that a replay consumes, from `Transacted.report`: those of reading the items as written."""
    return _decode_report(report)


def _report(changes: Sequence[Change]) -> bytes:
    sizes = [(change.table.name, 0 if change.new is None else row_size_bytes(change.new)) for change in changes]
    return msgspec.json.encode(transaction_read_units(sizes))
