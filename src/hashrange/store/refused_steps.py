"""How are steps of a transaction refused in front of a store? Their plans raise the errors, once the store knows
that the transaction is no replay.
"""

from collections.abc import Callable, Sequence
from functools import partial

from hashrange.errors import ApiError, InternalServerError, without_frames
from hashrange.items.types import Row
from hashrange.messages.http import INTERNAL_ERROR
from hashrange.store.interface import TransactionStep
from hashrange.tables.change import Plan, Planned

RefuseSteps = Callable[[], list[ApiError | None]]
"""Returns the error that refuses each step, or None.
Raises InternalServerError if the transaction is not to be carried out."""


class RefusedSteps:
    """The refusals of one transaction, found when the first of its plans is called."""

    def __init__(self, find: RefuseSteps) -> None:
        self._find = find
        self._reasons: list[ApiError | None] | None = None
        self.error: ApiError | None = None
        """The error to raise instead of carrying out the transaction; None if there is none,
        or nothing has been found yet."""

    @property
    def is_found(self) -> bool:
        """True once a plan has been called; False still if the transaction turned out to be a replay."""
        return self._reasons is not None or self.error is not None

    def wrapped(self, steps: Sequence[TransactionStep]) -> list[TransactionStep]:
        """The steps with plans that raise the step's refusal, if there is one, and else call the step's own plan."""
        return [step._replace(plan=partial(self._plan, place, step.plan)) for place, step in enumerate(steps)]

    def _plan(self, place: int, plan: Plan, old: Row | None) -> Planned | Row | None:
        """Call a step's plan. Raises the step's refusal, or the plan's."""
        if not self.is_found:
            try:
                self._reasons = self._find()
            except InternalServerError as error:
                self.error = without_frames(error)
        if self.error is not None:
            raise InternalServerError(INTERNAL_ERROR)
        assert self._reasons is not None
        reason = self._reasons[place]
        if reason is not None:
            raise reason
        return plan(old)
