"""What became of a commit whose reply was lost? It is looked for by its request id, until it is known.

For stores whose commits happen elsewhere; here, by a seed, some requests and some replies are lost on purpose. What was found is
told as if its reply had come; what never took place is carried out again. Why no write happens twice: an outcome is kept with
its commit, and a look that finds none is final, because nothing is on its way any more.
"""

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hashrange.errors import ApiError, OutcomeUnknown
from hashrange.store.interface import Transacted, TransactionRefused
from hashrange.store.request_ids import RequestId
from hashrange.tables.change import Change

LOST_PROBABILITY = 0.25
NEVER_TOOK_PLACE_PROBABILITY = 0.5
"""Of what is lost, so much is lost on its way to the commit; of the rest, the reply."""
UNANSWERED_LOOK_PROBABILITY = 0.5
OUTCOMES_KEPT = 256
"""So many commits later an outcome is forgotten; by then nobody looks for it, with far fewer requests at a time."""

Outcome = Change | Transacted
T = TypeVar("T", Change, Transacted)


class Outcomes:
    """The outcomes of late, and how lost ones are found."""

    def __init__(self, chance: random.Random, suspend: Callable[[], Awaitable[None]], look_limit: int | None) -> None:
        """`suspend` is called before each look; `look_limit` looks are taken at most, None: as many as it takes."""
        self._chance = chance.random
        self._suspend = suspend
        self._look_limit = look_limit
        self._kept: dict[RequestId, Outcome] = {}
        self.lost = 0
        """How many requests and replies were lost."""

    async def carry_out(self, request_id: RequestId, what: str, commit: Callable[[], Awaitable[T]]) -> T:
        """What `commit` returns, of the one time that it took place. Raises what it raises, and OutcomeUnknown, which tells `what`."""
        assert request_id not in self._kept, "two writes have one request id"
        while True:
            if self._chance() >= LOST_PROBABILITY:
                outcome = await commit()
                self._keep(request_id, outcome)
                return outcome
            self.lost += 1
            if self._chance() >= NEVER_TOOK_PLACE_PROBABILITY:
                try:
                    self._keep(request_id, await commit())
                except (ApiError, TransactionRefused):
                    pass  # that was the reply: nothing took place
            found = await self._look(request_id, what)
            if found is not None:
                return found  # type: ignore[return-value] # an id names one call, and a call has one kind of outcome

    async def _look(self, request_id: RequestId, what: str) -> Outcome | None:
        """The outcome, or None if the commit did not take place. Raises OutcomeUnknown when no look was answered."""
        looks = 0
        while self._look_limit is None or looks < self._look_limit:
            looks += 1
            await self._suspend()
            if self._chance() >= UNANSWERED_LOOK_PROBABILITY:
                return self._kept.get(request_id)
        raise OutcomeUnknown(
            f"It is not known whether {what} took place: its reply was lost, and {looks} looks for request id"
            f" {request_id.hex()} were not answered. Its client has heard of an error and may ask what is stored."
        )

    def _keep(self, request_id: RequestId, outcome: Outcome) -> None:
        self._kept[request_id] = outcome
        if len(self._kept) > OUTCOMES_KEPT:
            del self._kept[next(iter(self._kept))]
