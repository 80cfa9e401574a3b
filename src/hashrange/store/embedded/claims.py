"""Whose turn is it to change a row, when one plan takes long? Usually nobody asks: a plan and its commit are one step.

A plan that gave way to others and found its row changed is made again, and must not lose again: it claims its rows, and whoever
else would write them waits until it is done. Claims are taken all at once and by nobody who waits, so they cannot lock each other out.
"""

from collections.abc import Collection

from hashrange.store.pause import PAUSE


class Claim:
    """Some rows that only its owner may change."""

    __slots__ = ("_claims", "_engine_keys")

    def __init__(self, claims: "Claims", engine_keys: Collection[bytes]) -> None:
        self._claims = claims
        self._engine_keys = engine_keys

    def release(self) -> None:
        """Let the others go on."""
        self._claims.rows.difference_update(self._engine_keys)


class Claims:
    """All claimed rows of a store."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: set[bytes] = set()
        """Their engine keys; empty as good as always, which is all that a usual write looks at."""

    async def others_done(self, engine_keys: Collection[bytes]) -> None:
        """Wait until nobody claims any of these rows."""
        while not self.rows.isdisjoint(engine_keys):
            await PAUSE

    async def claim(self, engine_keys: Collection[bytes]) -> Claim:
        """Claim these rows as soon as nobody else does."""
        await self.others_done(engine_keys)
        self.rows.update(engine_keys)
        return Claim(self, engine_keys)
