"""Size limits of a transaction: the items that its cancellation reasons return, and the bytes of its commit."""

import msgspec
import pytest

from hashrange.errors import ConditionalCheckFailedException, ValidationException
from hashrange.items.types import Key, Row
from hashrange.limits import (
    ITEM_SIZE_MAX_BYTES,
    TRANSACTION_COMMIT_MAX_BYTES,
    TRANSACTION_PLANNED_MAX_BYTES,
    TRANSACTION_SIZE_MAX_BYTES,
)
from hashrange.store.interface import TransactionRefused, TransactionStep
from hashrange.store.transaction_steps import plan_steps
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import StreamViewType
from tests.support.samples import row_of, table_maker

TABLE = table_maker("orders")(1)
FITTING = TRANSACTION_SIZE_MAX_BYTES // ITEM_SIZE_MAX_BYTES


def telling(old: Row | None) -> Row:
    raise ConditionalCheckFailedException("no", Item=Row(b"{}"))


def silent(old: Row | None) -> Row:
    raise ConditionalCheckFailedException("no")


def plan(count: int, refuse: object) -> None:
    steps = [TransactionStep(TABLE, Key(b"%d" % number), refuse) for number in range(count)]  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    ("view_type", "copies"),
    [(None, 1), ("KEYS_ONLY", 1), ("OLD_IMAGE", 2), ("NEW_IMAGE", 2), ("NEW_AND_OLD_IMAGES", 3)],
)
def test_rows_that_are_far_longer_than_their_items_are_bounded_with_their_images(
    view_type: StreamViewType | None, copies: int
) -> None:
    table = OpenTable(msgspec.structs.replace(TABLE, stream_view_type=view_type, stream_label=view_type and "label"))
    row = row_of(1, b'{"pk":{"S":"a"},"sk":{"S":"b"},"v":{"S":"%b"}}' % (b"x" * 100_000))
    fitting = TRANSACTION_COMMIT_MAX_BYTES // (copies * len(row))

    def write(count: int) -> int:
        steps = [TransactionStep(table, Key(b"%d" % number), lambda old: row) for number in range(count)]
        return len(plan_steps(steps, [row] * count).changes)

    assert write(fitting) == fitting
    with pytest.raises(ValidationException, match="Collection size of items exceeded"):
        write(fitting + 1)


@pytest.mark.parametrize(("refused_at", "is_refused"), [(None, False), (0, True), (15, True), (19, True), (30, False)])
def test_planning_ends_once_the_items_are_far_too_large(refused_at: int | None, is_refused: bool) -> None:
    """A refusal goes before the size, unless twice the greatest size is planned before it."""
    row, planned = row_of(ITEM_SIZE_MAX_BYTES), []

    def step(number: int) -> TransactionStep:
        def plan(old: Row | None) -> Row:
            planned.append(number)
            return silent(old) if number == refused_at else row

        return TransactionStep(OpenTable(TABLE), Key(b"%d" % number), plan)

    most = TRANSACTION_PLANNED_MAX_BYTES // ITEM_SIZE_MAX_BYTES
    count = 100 if not is_refused else most + 1
    with pytest.raises(TransactionRefused if is_refused else ValidationException):
        plan_steps([step(number) for number in range(count)], [row] * count)
    assert planned == list(range(most + 1))
