"""Does a request repeat an earlier transaction? Its idempotency token says: ClientRequestToken, and a digest of what must be equal.

The digest covers the members that decide what the reply holds (ReturnConsumedCapacity, ReturnItemCollectionMetrics),
then all actions or statements. Here is also what a repeated request, a replay, consumes.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

import msgspec

from hashrange.items.canonical import encode_canonically
from hashrange.items.row_layout import row_size_bytes
from hashrange.limits import TOKEN_LIFE_SECONDS
from hashrange.operations import shapes
from hashrange.operations.operation import Scope
from hashrange.store.interface import IdempotencyToken
from hashrange.tables.change import Change
from hashrange.tables.transaction_capacity import TableUnits, transaction_read_units

DIGEST_BYTES = 16


class TokenRequest(Protocol):
    """A request with a ClientRequestToken; that of TransactWriteItems also has ReturnItemCollectionMetrics."""

    @property
    def ClientRequestToken(self) -> str | None: ...  # noqa: N802
    @property
    def ReturnConsumedCapacity(self) -> shapes.ReturnConsumedCapacity | None: ...  # noqa: N802


_decode_report = msgspec.json.Decoder(TableUnits).decode


class ContentDigest:
    """Digest of a transaction request, to which the caller adds each action or statement.

    Other requests can run between two calls of `add`.
    """

    __slots__ = ("_hash",)

    def __init__(self, request: TokenRequest) -> None:
        """The digest of the request's members that determine what its reply holds."""
        self._hash = blake2b(digest_size=DIGEST_BYTES)
        self.add((request.ReturnConsumedCapacity, getattr(request, "ReturnItemCollectionMetrics", None)))

    def add(self, piece: object) -> None:
        """Add an action or a statement; the order of JSON keys does not matter. 1 µs for 400 bytes, 1 ms for 400 KB."""
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


def begin_digest(request: TokenRequest) -> ContentDigest | None:
    """The digest of a request with a ClientRequestToken, to which its actions or statements are still to be added.

    None for a request without a token.
    """
    return None if request.ClientRequestToken is None else ContentDigest(request)


def replay_units(report: bytes) -> TableUnits:
    """Table name → read units that a replay consumes, decoded from `report`, which the store keeps with the token."""
    return _decode_report(report)


def _report(changes: Sequence[Change]) -> bytes:
    """Encode, for `IdempotencyToken.report`, what a replay consumes: transactional reads of the items as the transaction left them."""
    sizes = [(change.table.name, 0 if change.new is None else row_size_bytes(change.new)) for change in changes]
    return msgspec.json.encode(transaction_read_units(sizes))
