"""A long page is read in slices: short ones while other requests wait for the loop, longer ones while none do."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.aws_services.operation import Operation
from hashrange.operations.items import scan
from hashrange.operations.items.read_page import DECODED_SLICE_ROWS_MAX, RAW_SLICE_ROWS_MAX
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.partiql import execute_statement
from hashrange.operations.partiql.select_reads import SLICE_SPANS_MAX
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from hashrange.store.pause import FIRST_SLICE, QUIET_PAUSE_SECONDS, SLICE_MIN
from tests.support.asking import run_operation
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, table_maker
from tests.support.scopes import scope_of

ROWS = 1201


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[Scope, VirtualClock]]:
    """A scope with a table of ROWS items, and its clock."""
    clock = VirtualClock()
    store = open_store(None, clock, None)
    finish(store.catalog.create(table_maker("orders")))
    scope = scope_of(store, clock)
    for number in range(ROWS):
        item = {"pk": {"S": f"{number % 7}"}, "sk": {"S": f"{number:06}"}, "n": {"N": str(number)}}
        finish(run_operation(scope, OPERATIONS["PutItem"], {"TableName": "orders", "Item": item}))
    yield scope, clock
    store.close_now()


def read(scope: Scope, between: Callable[[], None], **members: Any) -> tuple[int, list[str]]:
    """Scan the table; return how often the scan gives way, and the sort keys found."""
    return driven(scope, scan.OPERATION, {"TableName": "orders"} | members, between)


def driven(
    scope: Scope, operation: Operation[JsonWire], request: dict[str, Any], between: Callable[[], None]
) -> tuple[int, list[str]]:
    """Run a read; return how often it gives way, and the sort keys found. `between` runs each time."""
    coroutine = run_operation(scope, operation, request)
    pauses = 0
    while True:
        try:
            assert coroutine.send(None) is None
        except StopIteration as stop:
            return pauses, [item["sk"]["S"] for item in stop.value["Items"]]
        pauses += 1
        between()


def slices(rows: int, longest: int) -> int:
    """The number of slices of a page of `rows` rows if each slice is twice as long as the one before, up to
    `longest`."""
    count, length = 0, FIRST_SLICE
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
    assert pauses == -(-(ROWS - FIRST_SLICE) // SLICE_MIN)
    assert sorted(found) == [f"{number:06}" for number in range(ROWS)]


def test_a_limit_counts_over_slices(filled: tuple[Scope, VirtualClock]) -> None:
    scope, clock = filled
    everything = read(scope, lambda: None)[1]
    for limit in (1, SLICE_MIN, SLICE_MIN + 1, 5 * SLICE_MIN, 1000):
        for seconds in (0.0, 1.0):
            assert (
                read(scope, lambda seconds=seconds: clock.advance_all(seconds), Limit=limit)[1]  # type: ignore[misc]
                == everything[:limit]
            )


STATEMENT = "SELECT * FROM orders WHERE pk IN [{}] AND sk IN [{}]"
PARTITIONS, SORTS = 50, 40


def select(scope: Scope, between: Callable[[], None]) -> tuple[int, list[str]]:
    """Run a SELECT with one span for each of very many keys; return how often it gives way, and the sort keys found."""
    partitions, sorts = (
        ", ".join([f"'{number:{form}}'" for number in range(count)])
        for count, form in ((PARTITIONS, ""), (SORTS, "06"))
    )
    return driven(scope, execute_statement.OPERATION, {"Statement": STATEMENT.format(partitions, sorts)}, between)


def test_a_statement_of_many_spans_hands_the_loop_back_as_a_page_does(filled: tuple[Scope, VirtualClock]) -> None:
    scope, clock = filled
    expected = [f"{number:06}" for number in range(SORTS)]
    pauses, found = select(scope, lambda: None)
    assert (pauses, sorted(found)) == (slices(PARTITIONS * SORTS, SLICE_SPANS_MAX) - 1, expected)
    pauses, found = select(scope, lambda: clock.advance_all(10 * QUIET_PAUSE_SECONDS))
    assert (pauses, sorted(found)) == (-(-(PARTITIONS * SORTS - FIRST_SLICE) // SLICE_MIN), expected)
