"""A long page between its slices: short ones while others have work for the loop, longer ones while nobody is there."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.clock import VirtualClock
from hashrange.operations.items import put_item, scan
from hashrange.operations.items.read_page import (
    DECODED_SLICE_ROWS_MAX,
    FIRST_SLICE_ROWS,
    QUIET_PAUSE_SECONDS,
    RAW_SLICE_ROWS_MAX,
    SLICE_ROWS_MIN,
)
from hashrange.operations.operation import Scope
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.asking import run_operation
from tests.support.samples import finish, table_maker

ROWS = 1201


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[Scope, VirtualClock]]:
    """A scope with a table of ROWS items, and its clock."""
    clock = VirtualClock()
    store = open_store(None, clock, None)
    finish(store.catalog.create(table_maker("orders")))
    scope = Scope("000000000000", "us-east-1", store, clock, Settings())
    for number in range(ROWS):
        item = {"pk": {"S": f"{number % 7}"}, "sk": {"S": f"{number:06}"}, "n": {"N": str(number)}}
        finish(run_operation(scope, put_item.OPERATION, {"TableName": "orders", "Item": item}))
    yield scope, clock
    store.close_now()


def read(scope: Scope, between: Callable[[], None], **members: Any) -> tuple[int, list[str]]:
    """How often a Scan of everything hands the loop back, and the sort keys that it finds."""
    coroutine = run_operation(scope, scan.OPERATION, {"TableName": "orders"} | members)
    pauses = 0
    while True:
        try:
            assert coroutine.send(None) is None
        except StopIteration as stop:
            return pauses, [item["sk"]["S"] for item in stop.value["Items"]]
        pauses += 1
        between()


def slices(rows: int, longest: int) -> int:
    """So many slices has a page when each is twice as long as the one before."""
    count, length = 0, FIRST_SLICE_ROWS
    while rows > 0:
        rows -= length
        count, length = count + 1, min(2 * length, longest)
    return count


FILTER = {"FilterExpression": "n >= :zero", "ExpressionAttributeValues": {":zero": {"N": "0"}}}


@pytest.mark.parametrize(("members", "longest"), [({}, RAW_SLICE_ROWS_MAX), (FILTER, DECODED_SLICE_ROWS_MAX)])
def test_slices_grow_while_nobody_is_there(
    filled: tuple[Scope, VirtualClock], members: dict[str, Any], longest: int
) -> None:
    scope, _ = filled
    pauses, found = read(scope, lambda: None, **members)
    assert pauses == slices(ROWS, longest) - 1
    assert sorted(found) == [f"{number:06}" for number in range(ROWS)]


@pytest.mark.parametrize("members", [{}, FILTER])
def test_slices_are_short_while_others_work(filled: tuple[Scope, VirtualClock], members: dict[str, Any]) -> None:
    scope, clock = filled
    pauses, found = read(scope, lambda: clock.advance_all(10 * QUIET_PAUSE_SECONDS), **members)
    assert pauses == -(-(ROWS - FIRST_SLICE_ROWS) // SLICE_ROWS_MIN)
    assert sorted(found) == [f"{number:06}" for number in range(ROWS)]


def test_a_limit_counts_over_slices(filled: tuple[Scope, VirtualClock]) -> None:
    scope, clock = filled
    everything = read(scope, lambda: None)[1]
    for limit in (1, SLICE_ROWS_MIN, SLICE_ROWS_MIN + 1, 5 * SLICE_ROWS_MIN, 1000):
        for seconds in (0.0, 1.0):
            assert read(scope, lambda seconds=seconds: clock.advance_all(seconds), Limit=limit)[1] == everything[:limit]  # type: ignore[misc]
