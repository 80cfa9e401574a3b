"""How much is done from one turn of a loop to the next?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class CountedTurns:
    """What was noted, by turn of the loop. A count of turns may lie between two things of one turn, never of two."""

    def __init__(self) -> None:
        self.by_turn: list[list[int]] = [[]]

    def note(self, size: int = 1) -> None:
        """Note that something of this size is done in this turn."""
        self.by_turn[-1].append(size)

    @property
    def sizes(self) -> list[int]:
        """All sizes that were noted."""
        return [size for one in self.by_turn for size in one]

    @property
    def most(self) -> int:
        """The largest sum of one turn."""
        return max(map(sum, self.by_turn))

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Meanwhile turns are counted."""
        loop = asyncio.get_running_loop()
        is_over = False

        def tick() -> None:
            self.by_turn.append([])
            if not is_over:
                loop.call_soon(tick)

        tick()
        try:
            yield
        finally:
            is_over = True
