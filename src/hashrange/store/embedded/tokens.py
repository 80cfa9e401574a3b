"""Which transactions have taken place? A row for each token, for as long as a replay may come (docs/formats/store.md).

A token's row and a row that orders tokens by their expiry are written in the commit of the transaction; what has expired is deleted
in passing, in the commits of later ones, so nothing has to run for it and nothing grows for ever.
"""

from collections.abc import Sequence

from hashrange.errors import IdempotentParameterMismatchException, StorageBusy, StorageCorruption
from hashrange.messages.transactions import TOKEN_REUSED
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.faults import storage_error
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.reading import Cursor
from hashrange.store.interface import Token
from hashrange.tables.change import Change

SWEPT_ROWS_MAX = 32
"""Expired tokens that one commit deletes."""
SWEEP_PAUSE_SECONDS = 1.0
"""Service time until the next look once a look has found fewer."""
CLOGGED_PAUSE_SECONDS = 30.0
"""Service time until the next look once deleted rows, left by an earlier process, stood in the way."""

EXPIRY_BYTES = 8
"""Of a token's row: milliseconds of service time, before the digest."""
_DIGEST_BYTES = 16
_HEADER_BYTES = EXPIRY_BYTES + _DIGEST_BYTES


class Tokens:
    """The tokens of a store. Raises the engine's bare exceptions."""

    def __init__(self, housekeeper: Housekeeper) -> None:
        self._housekeeper = housekeeper
        self._horizon = layout.EXPIRY_PREFIX
        """Before it no token is left, only deleted rows that a seek would have to pass over."""
        self._swept_to: bytes | None = None
        self._former: bytes | None = None
        """The row that the last `replayed_report` found."""
        self._next_sweep_seconds = float("-inf")

    def replayed_report(self, engine: Engine, token: Token) -> bytes | None:
        """What is to be told of the token's transaction; None when it has none, or one that has expired.

        Raises IdempotentParameterMismatchException when the token was used for something else.
        """
        row: bytes | None = engine.get(layout.TOKEN_PREFIX + token.name)
        self._former = row
        if row is None:
            return None
        if len(row) < _HEADER_BYTES:
            raise StorageCorruption(f"a token's row has {len(row)} bytes, fewer than its header")
        if int.from_bytes(row[:EXPIRY_BYTES], "big") <= _milliseconds(token.now_seconds):
            return None
        if row[EXPIRY_BYTES:_HEADER_BYTES] != token.digest:
            raise IdempotentParameterMismatchException(TOKEN_REUSED)
        return row[_HEADER_BYTES:]

    def add(self, engine: Engine, batch: Engine, token: Token, changes: Sequence[Change]) -> None:
        """Put the token's rows into `batch`, and with them the deletion of some that have expired.

        `replayed_report` of the same token has been asked just before.
        """
        assert len(token.digest) == _DIGEST_BYTES
        if token.now_seconds >= self._next_sweep_seconds:
            self._sweep(engine, batch, token.now_seconds)
        if self._former is not None:
            batch.delete(layout.EXPIRY_PREFIX + self._former[:EXPIRY_BYTES] + token.name)
        expiry = _milliseconds(token.expires_at_seconds).to_bytes(EXPIRY_BYTES, "big")
        batch.put(layout.TOKEN_PREFIX + token.name, expiry + token.digest + token.report(changes))
        batch.put(layout.EXPIRY_PREFIX + expiry + token.name, b"")

    def committed(self) -> None:
        """The batch of the last `add` has been written."""
        if self._swept_to is not None:
            self._horizon, self._swept_to = self._swept_to, None

    def _sweep(self, engine: Engine, batch: Engine, now_seconds: float) -> None:
        upper = layout.EXPIRY_PREFIX + (_milliseconds(now_seconds) + 1).to_bytes(EXPIRY_BYTES, "big")
        if upper <= self._horizon:
            return
        cursor = Cursor(engine, self._horizon, upper, is_reverse=False)
        try:
            expired = cursor.read(SWEPT_ROWS_MAX)
        except Exception as error:
            if not isinstance(storage_error(error, ""), StorageBusy):
                raise
            self._next_sweep_seconds = now_seconds + CLOGGED_PAUSE_SECONDS
            self._housekeeper.compact(engine, layout.EXPIRY_PREFIX, layout.prefix_end(layout.EXPIRY_PREFIX))
            return
        finally:
            cursor.drop()
        prefix_bytes = len(layout.EXPIRY_PREFIX) + EXPIRY_BYTES
        for engine_key, _ in expired:
            batch.delete(engine_key)
            batch.delete(layout.TOKEN_PREFIX + engine_key[prefix_bytes:])
        if len(expired) < SWEPT_ROWS_MAX:
            self._next_sweep_seconds = now_seconds + SWEEP_PAUSE_SECONDS
        if expired:
            self._swept_to = expired[-1][0] + b"\x00"


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
