"""Items that a refused transaction tells: no more than a transaction may hold, whatever its conditions ask for."""

import pytest

from hashrange.errors import ConditionalCheckFailedException, ValidationException
from hashrange.items.types import Key, Row
from hashrange.limits import ITEM_SIZE_MAX_BYTES, TRANSACTION_SIZE_MAX_BYTES
from hashrange.store.interface import Step, TransactionRefused
from hashrange.store.steps import plan_steps
from tests.support.samples import row_of, table_maker

TABLE = table_maker("orders")(1)
FITTING = TRANSACTION_SIZE_MAX_BYTES // ITEM_SIZE_MAX_BYTES


def telling(old: Row | None) -> Row:
    raise ConditionalCheckFailedException("no", Item=Row(b"{}"))


def silent(old: Row | None) -> Row:
    raise ConditionalCheckFailedException("no")


def plan(count: int, refuse: object) -> None:
    steps = [Step(TABLE, Key(b"%d" % number), refuse) for number in range(count)]  # type: ignore[arg-type]
    plan_steps(steps, [row_of(ITEM_SIZE_MAX_BYTES)] * count)


def test_items_that_fit_a_transaction_are_told() -> None:
    with pytest.raises(TransactionRefused):
        plan(FITTING, telling)


def test_more_are_refused_as_too_large() -> None:
    with pytest.raises(ValidationException, match="Collection size of items exceeded"):
        plan(FITTING + 1, telling)


def test_what_is_not_told_does_not_count() -> None:
    with pytest.raises(TransactionRefused):
        plan(FITTING + 1, silent)
