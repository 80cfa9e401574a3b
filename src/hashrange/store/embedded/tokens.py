"""Which transactions with a token have taken place? The store keeps a row for each token,
at least until it expires (docs/formats/store.md).

A token's row, and a row that orders tokens by their expiry, are written in the commit of the transaction. Expired
tokens are deleted in the commits of later transactions with tokens, so no job has to do it and the number of rows stays
bounded.
"""

from typing import NamedTuple

from hashrange.errors import IdempotentParameterMismatchException, StorageBusy, StorageCorruption
from hashrange.items.keys import prefix_upper_bound
from hashrange.messages.transactions import TOKEN_REUSED
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.engine_errors import storage_error
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.ordered_queue import OrderedQueue
from hashrange.store.interface import IdempotencyToken

SWEPT_ROWS_MAX = 32
"""One commit deletes at most this many expired tokens."""
SWEEP_PAUSE_SECONDS = 1.0
"""Least service time to the next sweep, after one that found fewer than SWEPT_ROWS_MAX expired tokens."""
CLOGGED_PAUSE_SECONDS = 30.0
"""Least service time to the next sweep, after one that gave up because it met too many deleted rows."""

EXPIRY_BYTES = 8
"""Length of the expiry in a token's row: a number of milliseconds of service time, stored before the digest."""
_DIGEST_BYTES = 16
_HEADER_BYTES = EXPIRY_BYTES + _DIGEST_BYTES


class StoredToken(NamedTuple):
    """What the store holds about an earlier use of a token when a transaction with this token begins."""

    row: bytes | None
    """The token's row, even if the token has expired; None if it has no row."""
    report: bytes | None
    """Stored result of `IdempotencyToken.report`, for replies to repeated requests;
    None if the token is not stored or has expired."""


class Tokens:
    """The idempotency tokens of a store. Methods raise the engine's exceptions, not converted to StorageError."""

    def __init__(self, housekeeper: Housekeeper) -> None:
        self._housekeeper = housekeeper
        self._expiries = OrderedQueue(layout.TOKEN_EXPIRY_PREFIX)
        self._next_sweep_seconds = float("-inf")

    def load(self) -> None:
        """Prepare for a newly opened engine: the next transaction with a token looks for expired tokens at once."""
        self._expiries.load()
        self._next_sweep_seconds = float("-inf")

    def look(self, engine: Engine, token: IdempotencyToken) -> StoredToken:
        """Find an earlier use of the token, expired or not.

        Raises IdempotentParameterMismatchException if it has not expired and was for another request, StorageCorruption
        for a row that is too short.
        """
        row: bytes | None = engine.get(layout.TOKEN_PREFIX + token.name)
        if row is None:
            return StoredToken(None, None)
        if len(row) < _HEADER_BYTES:
            raise StorageCorruption(f"a token's row has {len(row)} bytes, fewer than its header")
        if int.from_bytes(row[:EXPIRY_BYTES], "big") <= _milliseconds(token.now_seconds):
            return StoredToken(row, None)
        if row[EXPIRY_BYTES:_HEADER_BYTES] != token.digest:
            raise IdempotentParameterMismatchException(TOKEN_REUSED)
        return StoredToken(row, row[_HEADER_BYTES:])

    def add(self, draft: Draft, token: IdempotencyToken, former: StoredToken) -> None:
        """Add the token's rows to the commit of its transaction, and if a sweep is due, delete some expired tokens.

        `former`: the result of `look`; the rows of an expired use are replaced.
        """
        assert len(token.digest) == _DIGEST_BYTES
        if token.now_seconds >= self._next_sweep_seconds:
            self._sweep(draft, token.now_seconds)
        if former.row is not None:
            self._expiries.delete(draft.batch, former.row[:EXPIRY_BYTES] + token.name)
        expiry = _milliseconds(token.expires_at_seconds).to_bytes(EXPIRY_BYTES, "big")
        draft.batch.put(layout.TOKEN_PREFIX + token.name, expiry + token.digest + token.report(draft.changes))
        self._expiries.put(draft.batch, expiry + token.name, b"")

    def _sweep(self, draft: Draft, now_seconds: float) -> None:
        before = (_milliseconds(now_seconds) + 1).to_bytes(EXPIRY_BYTES, "big")
        try:
            expired = self._expiries.first(draft.engine, SWEPT_ROWS_MAX, before=before)
        except Exception as error:
            if not isinstance(storage_error(error, ""), StorageBusy):
                raise
            self._next_sweep_seconds = now_seconds + CLOGGED_PAUSE_SECONDS
            prefix = layout.TOKEN_EXPIRY_PREFIX
            self._housekeeper.compact(draft.engine, prefix, prefix_upper_bound(prefix))
            return
        for one in expired:
            draft.batch.delete(layout.TOKEN_PREFIX + one.key[EXPIRY_BYTES:])
        self._expiries.take(draft, expired)
        if len(expired) < SWEPT_ROWS_MAX:
            self._next_sweep_seconds = now_seconds + SWEEP_PAUSE_SECONDS


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
