"""Whose turn is it to change a row, when one write takes long? Usually nobody asks: a plan and its commit are one step.

A plan that gave way to others and found its row changed is made again, and must not lose again: it claims its rows, and whoever
else would write them waits until it is done. So does a commit that leaves something for later (`late_entries.py`). Claims are taken all at once
and by nobody who waits, so they cannot lock each other out.
"""

from collections.abc import Collection

from hashrange.store.pause import PAUSE


class Claims:
    """All claimed rows of a store."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        """Their engine keys, and how often each is claimed; empty as good as always, which is all that a usual write looks at."""

    async def others_done(self, engine_keys: Collection[bytes]) -> None:
        """Wait until nobody claims any of these rows."""
        while not self.rows.keys().isdisjoint(engine_keys):
            await PAUSE

    async def claim(self, engine_keys: Collection[bytes]) -> None:
        """Claim these rows as soon as nobody else does, until `release`."""
        await self.others_done(engine_keys)
        self.take(engine_keys)

    def take(self, engine_keys: Collection[bytes]) -> None:
        """Claim rows that nobody else claims, or once more what is claimed for the same write."""
        for engine_key in engine_keys:
            self.rows[engine_key] = self.rows.get(engine_key, 0) + 1

    def release(self, engine_keys: Collection[bytes]) -> None:
        """Let others go on."""
        for engine_key in engine_keys:
            count = self.rows.pop(engine_key) - 1
            if count:
                self.rows[engine_key] = count
