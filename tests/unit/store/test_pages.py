"""Pages: spans are read in order, forward and in reverse, up to either limit, and long reads give way."""

import asyncio
from functools import partial

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.clock import SystemClock
from hashrange.items.types import Key, Row
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, open_store, reading
from hashrange.store.embedded.reading import FIRST_ROWS, READ_BYTES
from hashrange.store.interface import Page
from hashrange.tables.open_table import OpenTable
from hashrange.tables.read_spans import narrow
from hashrange.tables.span import Span
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker
from tests.unit.store.conftest import Run

ALL = Span(b"", b"\xff" * 8)
MANY = 1_000_000


def put(row: Row, _old: Row | None) -> Row:
    return row


def fill(store: EmbeddedStore, table: OpenTable, keys: list[bytes], size_bytes: int = 10) -> None:
    for key in keys:
        finish(store.mutate(table, Key(key), partial(put, row_of(size_bytes, key))))


def read(store: EmbeddedStore, table: OpenTable, span: Span, rows: int = MANY, size_bytes: int = MANY) -> Page:
    return finish(store.page(table.source_id, span, rows, size_bytes, consistent=True))


def keys_of(page: Page) -> list[bytes]:
    return [row[5:] for row in page.rows]


@pytest.fixture
def letters(store: EmbeddedStore, table: OpenTable) -> OpenTable:
    other = finish(store.catalog.create(table_maker("before and after")))
    assert other is not None
    fill(store, other, [b"a", b"z"])
    fill(store, table, [b"a", b"b", b"c", b"d", b"e"])
    return table


def test_a_whole_span_in_order(store: EmbeddedStore, letters: OpenTable) -> None:
    page = read(store, letters, ALL)
    assert keys_of(page) == [b"a", b"b", b"c", b"d", b"e"]
    assert (page.size_bytes, page.last_key) == (50, None)


@pytest.mark.parametrize("is_reverse", [False, True])
def test_a_short_page_is_there_at_once(store: EmbeddedStore, letters: OpenTable, *, is_reverse: bool) -> None:
    span = msgspec.structs.replace(ALL, is_reverse=is_reverse)
    assert isinstance(store.page(letters.source_id, span, 3, MANY, consistent=True), Page)


def test_a_whole_span_in_reverse(store: EmbeddedStore, letters: OpenTable) -> None:
    page = read(store, letters, msgspec.structs.replace(ALL, is_reverse=True))
    assert keys_of(page) == [b"e", b"d", b"c", b"b", b"a"]
    assert page.last_key is None


@pytest.mark.parametrize("is_reverse", [False, True])
def test_lower_is_included_and_upper_is_not(store: EmbeddedStore, letters: OpenTable, is_reverse: bool) -> None:
    page = read(store, letters, Span(b"b", b"d", is_reverse))
    assert sorted(keys_of(page)) == [b"b", b"c"]
    assert page.last_key is None


@pytest.mark.parametrize("is_reverse", [False, True])
def test_bounds_need_not_be_keys(store: EmbeddedStore, letters: OpenTable, is_reverse: bool) -> None:
    assert sorted(keys_of(read(store, letters, Span(b"aa", b"cc", is_reverse)))) == [b"b", b"c"]


@pytest.mark.parametrize("span", [Span(b"f", b"g"), Span(b"c", b"c"), Span(b"d", b"b")])
@pytest.mark.parametrize("is_reverse", [False, True])
def test_an_empty_span(store: EmbeddedStore, letters: OpenTable, span: Span, is_reverse: bool) -> None:
    assert read(store, letters, msgspec.structs.replace(span, is_reverse=is_reverse)) == Page([], 0, None)


@pytest.mark.parametrize("is_reverse", [False, True])
def test_a_limit_of_rows_ends_a_page_even_at_the_last_row(
    store: EmbeddedStore, letters: OpenTable, is_reverse: bool
) -> None:
    page = read(store, letters, msgspec.structs.replace(ALL, is_reverse=is_reverse), rows=5)
    assert (len(page.rows), page.last_key) == (5, b"a" if is_reverse else b"e")
    assert read(store, letters, msgspec.structs.replace(ALL, is_reverse=is_reverse), rows=6).last_key is None


@pytest.mark.parametrize(("limit_bytes", "rows"), [(1, 1), (10, 1), (11, 2), (20, 2), (49, 5), (50, 5)])
def test_the_row_that_reaches_the_limit_of_bytes_is_included(
    store: EmbeddedStore, letters: OpenTable, limit_bytes: int, rows: int
) -> None:
    page = read(store, letters, ALL, size_bytes=limit_bytes)
    assert (len(page.rows), page.size_bytes) == (rows, 10 * rows)
    assert page.last_key == [b"a", b"b", b"c", b"d", b"e"][rows - 1]


def test_pages_of_many_chunks_join_without_gap(store: EmbeddedStore, table: OpenTable) -> None:
    keys = [b"%06d" % number for number in range(3 * reading.CHUNK_ROWS + 7)]
    fill(store, table, keys)
    assert keys_of(read(store, table, ALL)) == keys
    assert keys_of(read(store, table, msgspec.structs.replace(ALL, is_reverse=True))) == keys[::-1]
    assert keys_of(read(store, table, ALL, rows=reading.CHUNK_ROWS)) == keys[: reading.CHUNK_ROWS]


_KEYS = st.lists(st.binary(max_size=3), unique=True, max_size=40)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    keys=_KEYS,
    lower=st.binary(max_size=3),
    upper=st.binary(max_size=3),
    is_reverse=st.booleans(),
    step=st.integers(1, 9),
)
def test_paging_by_continue_keys_gives_every_row_once(
    keys: list[bytes], lower: bytes, upper: bytes, is_reverse: bool, step: int
) -> None:
    store = open_store(None, SystemClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    fill(store, table, keys)
    expected = sorted((key for key in keys if lower <= key < upper), reverse=is_reverse)
    seen: list[bytes] = []
    span = Span(lower, upper, is_reverse)
    while True:
        page = read(store, table, span, rows=step)
        seen += keys_of(page)
        if page.last_key is None:
            break
        span = (
            msgspec.structs.replace(span, upper=page.last_key)
            if is_reverse
            else msgspec.structs.replace(span, lower=page.last_key + b"\x00")
        )
    assert seen == expected
    store.close_now()


class RacingClock(VirtualClock):
    """A clock that advances by ten milliseconds at each reading."""

    def monotonic(self) -> float:
        self.advance_all(0.010)
        return super().monotonic()


def test_a_long_page_lets_others_run_and_misses_nothing(run: Run, loop: asyncio.AbstractEventLoop) -> None:
    store = open_store(None, RacingClock(), loop)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    keys = [b"%06d" % number for number in range(2000)]
    fill(store, table, keys)
    turns = 0
    done = False

    async def others() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await asyncio.sleep(0)

    async def both() -> Page:
        nonlocal done
        beside = asyncio.ensure_future(others())
        page = await settled(store.page(table.source_id, ALL, MANY, MANY, consistent=True))
        done = True
        await beside
        return page

    assert keys_of(run(both())) == keys
    assert turns >= 2000 // reading.CHUNK_ROWS
    store.close_now()


@pytest.mark.parametrize("is_reverse", [False, True])
def test_many_deleted_rows_do_not_hold_the_loop(
    store: EmbeddedStore, table: OpenTable, run: Run, is_reverse: bool
) -> None:
    """A seek over more deleted rows than the limit stops, lets a thread clear them away, and continues."""
    keys = [b"%06d" % number for number in range(25_000)]
    fill(store, table, keys)
    for key in keys:
        finish(store.mutate(table, Key(key), lambda _: None))
    last = b"000000" if is_reverse else b"999999"
    fill(store, table, [last])
    coroutine = settled(
        store.page(table.source_id, msgspec.structs.replace(ALL, is_reverse=is_reverse), 1, MANY, consistent=True)
    )
    assert coroutine.send(None) is None, "the first suspension is a bare yield"
    page = run(_go_on(coroutine))
    assert keys_of(page) == [last]
    again = finish(
        store.page(table.source_id, msgspec.structs.replace(ALL, is_reverse=is_reverse), 1, MANY, consistent=True)
    )
    assert keys_of(again) == [last]


async def _go_on(coroutine: object) -> Page:
    """Await a coroutine that has already begun."""
    page: Page = await asyncio.get_running_loop().create_task(coroutine)  # type: ignore[arg-type]
    return page


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize(("limit_bytes", "rows"), [(1, 1), (20_000, 1), (20_001, 2), (100_000, 5), (10**6, 10)])
def test_of_large_rows_no_more_is_read_than_the_page_holds(
    store: EmbeddedStore,
    table: OpenTable,
    monkeypatch: pytest.MonkeyPatch,
    limit_bytes: int,
    rows: int,
    is_reverse: bool,
) -> None:
    """24 rows read ahead may have 10 MB of item size, and much more JSON."""
    keys = [b"%02d" % number for number in range(10)]
    for key in keys:
        row = row_of(20_000, key * 10_000)
        finish(store.mutate(table, Key(key), lambda _, row=row: row))  # type: ignore[misc]
    measured: list[Row] = []

    def measure(row: Row) -> int:
        measured.append(row)
        return 20_000

    monkeypatch.setattr(reading, "row_size_bytes", measure)
    page = read(store, table, msgspec.structs.replace(ALL, is_reverse=is_reverse), size_bytes=limit_bytes)
    assert [row[5:7] for row in page.rows] == sorted(keys, reverse=is_reverse)[:rows]
    assert page.last_key == (None if limit_bytes > 200_000 else sorted(keys, reverse=is_reverse)[rows - 1])
    assert len(set(measured)) == rows


# --- rows far longer than their items' sizes ----------------------------------------------------------


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("short", [0, FIRST_ROWS + 10])
def test_a_page_of_long_rows_ends_early(short: int, is_reverse: bool) -> None:
    """Little more than READ_BYTES is read, whatever the item sizes, with or without short rows first."""
    store = open_store(None, SystemClock(), None)
    table = finish(store.catalog.create(table_maker("orders")))
    assert table is not None
    long = READ_BYTES // 4
    rows = [row_of(5)] * short + [row_of(6, bytes(long))] * 9
    for place, row in enumerate(rows):
        finish(
            store.mutate(
                table,
                Key(b"%03d" % (999 - place if is_reverse else place)),
                lambda _, row=row: row,  # type: ignore[misc]
            )
        )
    span = Span(b"", b"\xff", is_reverse)
    lengths, found = [], []
    while True:
        page = finish(store.page(table.source_id, span, 1000, 10**6, consistent=True))
        found += page.rows
        lengths.append(sum(map(len, page.rows)))
        if page.last_key is None:
            break
        span = narrow(span, page.last_key)
    assert found == rows
    assert max(lengths) < READ_BYTES + 2 * long
    assert len(lengths) == 3
    store.close_now()
