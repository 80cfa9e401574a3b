"""How does a write that takes long keep other writes from its rows? It claims the rows; most writes need no claim.

A plan, or a read of several rows, is overtaken if its rows may have changed while it gave way. It is then repeated with
its rows claimed, so that no write overtakes it again: other writes of these rows wait. A commit with late index entries
(`late_entries.py`) claims its items until the entries are written. A write claims all its rows at once, and holds no
claim while it waits for other claims, so there are no deadlocks.
"""

from collections.abc import Collection

from hashrange.store.pause import PAUSE


class Claims:
    """The claimed rows of a store: other writes of these rows wait until the claims are released."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        """Engine key of a claimed row → number of claims: other writes of the row wait until none is left. Almost
        always empty, which is all that most writes check.
        """

    async def others_done(self, engine_keys: Collection[bytes]) -> None:
        """Wait until none of these rows is claimed."""
        while not self.rows.keys().isdisjoint(engine_keys):
            await PAUSE

    async def claim(self, engine_keys: Collection[bytes]) -> None:
        """Wait until none of these rows is claimed, then claim them until `release`."""
        await self.others_done(engine_keys)
        self.take(engine_keys)

    def take(self, engine_keys: Collection[bytes]) -> None:
        """Claim these rows without waiting or checking: the caller knows that no other write has claimed them. The same
        write may claim a row twice.
        """
        for engine_key in engine_keys:
            self.rows[engine_key] = self.rows.get(engine_key, 0) + 1

    def release(self, engine_keys: Collection[bytes]) -> None:
        """Release one claim on each of these rows."""
        for engine_key in engine_keys:
            count = self.rows.pop(engine_key) - 1
            if count:
                self.rows[engine_key] = count
