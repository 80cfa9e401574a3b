"""What became of a commit whose reply was lost? Its outcome is looked for by the commit's request id,
until it is known or too many looks failed.

For stores whose commits happen on other servers; for tests, a seed decides which requests to commit, and which replies
to them, are lost. A commit that took place is found by a *look*, and its outcome (`Change` or `Transacted`) returned
like a reply; a commit that never took place is carried out again. No write happens twice: an outcome is stored with its
commit, and a look that finds no outcome is final, because a lost request never arrives later.
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
"""Share of the commits without a reply that never took place: the request was lost. Of others, the reply was lost."""
UNANSWERED_LOOK_PROBABILITY = 0.5
OUTCOMES_KEPT = 256
"""Number of latest outcomes that are remembered. Far fewer requests run at a time, so no older one is looked for."""

Outcome = Change | Transacted
T = TypeVar("T", Change, Transacted)


class Outcomes:
    """The latest outcomes of a store's commits, in which the outcome of a commit whose reply was lost is looked for."""

    def __init__(self, chance: random.Random, suspend: Callable[[], Awaitable[None]], look_limit: int | None) -> None:
        """`suspend` is awaited before each look for an outcome; `look_limit`: most looks for one; None: no limit."""
        self._chance = chance.random
        self._suspend = suspend
        self._look_limit = look_limit
        self._kept: dict[RequestId, Outcome] = {}
        self.lost = 0
        """Number of requests and replies lost."""

    async def carry_out(self, request_id: RequestId, what: str, commit: Callable[[], Awaitable[T]]) -> T:
        """Make `commit` take place once, however often it must be called, and return its result.

        Raises the errors of `commit`, and OutcomeUnknown, whose message calls the commit `what`.
        """
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
                    pass  # the lost reply was a refusal: nothing took place
            found = await self._look(request_id, what)
            if found is not None:
                return found  # type: ignore[return-value] # an id names one call, and a call has one kind of outcome

    async def _look(self, request_id: RequestId, what: str) -> Outcome | None:
        """Look for a commit's outcome; None if it did not take place. Raises OutcomeUnknown if no look was answered."""
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
