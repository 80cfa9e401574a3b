"""How is a page of a Query or Scan read? Where it starts, and rows of a span until Limit, 1 MB, or 32 MB of their JSON,
filtered and projected.

Query, Scan and paged SELECTs share `read_page`. The limits count evaluated rows, before filter and projection. Long
pages are read in slices, with other requests between them. Items fetched for entries of a local index end a page by the
same limits of bytes (our choice: unconfirmed).
"""

from functools import partial

import msgspec

from hashrange.errors import (
    IndexNotFound,
    NumberFault,
    NumberSetFault,
    RequestFault,
    SetRepeatFault,
    ValidationException,
)
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.projection import CompiledProjection
from hashrange.items.row_layout import row_json_bytes, row_size_bytes, row_sizes_bytes, rows_json_bytes
from hashrange.items.rows import decode_attributes, decode_for, decode_row, part_row
from hashrange.items.steps import spend
from hashrange.items.types import Item, Row, Value
from hashrange.items.values import check_item
from hashrange.limits import PAGE_SIZE_MAX_BYTES, REPLY_JSON_MAX_BYTES
from hashrange.messages.reads import (
    GSI_CONSISTENT_READ,
    INDEX_BACKFILLING,
    INDEX_NOT_FOUND,
    QUERY_OF_VECTOR_INDEX,
    SCAN_OF_VECTOR_INDEX,
    START_KEY_VALUE,
)
from hashrange.operations.meter import Meter, PageUsage
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply, Rows
from hashrange.soon import Soon, settled, then
from hashrange.store.interface import Page, Store
from hashrange.store.pause import FIRST_SLICE, hand_back
from hashrange.tables.capacity import item_read_units, read_units
from hashrange.tables.keys import key_of
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.read_spans import narrow
from hashrange.tables.span import Span
from hashrange.tables.vector_billing import charged_rows_bytes

# --- where a read starts --------------------------------------------------------------------------


def check_start_values(start_key: dict[str, dict[str, object]] | None) -> Item | None:
    """ExclusiveStartKey with its values checked; None if not given.

    Raises the fault of a value with the prefix that START_KEY_VALUE adds. Faults of numbers and repeated set members,
    and in the older layer the fault of an empty number set, have no prefix.
    """
    if start_key is None:
        return None
    try:
        return check_item(start_key)[0]
    except (NumberFault, SetRepeatFault):
        raise
    except RequestFault as fault:
        older = (
            fault.older_message
            if isinstance(fault, NumberSetFault)
            else START_KEY_VALUE.format(message=fault.older_message)
        )
        raise RequestFault(START_KEY_VALUE.format(message=fault.message), older) from None
    except ValidationException as refusal:
        raise ValidationException(START_KEY_VALUE.format(message=refusal.message)) from None


def requested_source(
    table: OpenTable, index_name: str | None, *, consistent: bool, is_scan: bool = False
) -> ReadSource:
    """The table or index to read, by a Scan or a Query.

    Raises ValidationException for an unknown index, a vector index, a strongly consistent read of a global index, and
    an index that is CREATING.
    """
    source = table.read_source(index_name)
    if source is None:
        if index_name is not None and table.vector_source(index_name) is not None:
            if is_scan:
                raise ValidationException(SCAN_OF_VECTOR_INDEX)
            raise ValidationException(GSI_CONSISTENT_READ if consistent else QUERY_OF_VECTOR_INDEX)
        raise IndexNotFound(INDEX_NOT_FOUND.format(name=index_name))
    if consistent and source.index is not None and source.index.is_global:
        raise ValidationException(GSI_CONSISTENT_READ)
    if source.index is not None and source.index.state == "CREATING":
        raise ValidationException(INDEX_BACKFILLING.format(index=source.index.name))
    return source


# --- pages ----------------------------------------------------------------------------------------


RAW_SLICE_ROWS_MAX = 384
"""Maximum rows of a slice whose rows are not decoded; reached only while no other request waits: 0.3 ms."""
DECODED_SLICE_ROWS_MAX = 128
"""Maximum rows of a slice whose rows are decoded, filtered and projected: about 0.7 ms."""
JSON_SIZES_MAX = 128
"""No item has this many JSON bytes per byte of its DynamoDB size: numbers like 1E-130 have 67. So the JSON of a
page need not be measured if the size of its items is at most the JSON limit divided by this."""
FETCHED_ITEM_STEPS = 8
"""Steps counted for fetching the item of one entry of a local index."""


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """What is read: the table or index, filter and projection, and whether the reply only counts (`is_count`)."""

    table: OpenTable
    source: ReadSource
    consistent: bool
    condition: CompiledCondition | None
    values: dict[str, Value]
    projection: CompiledProjection | None
    is_count: bool = False
    fetches_items: bool = False
    """True if a local index lacks wanted attributes, so that each entry's item is fetched from the table."""
    rows: type[Rows] = Rows
    """Kind of the page's items: Rows, or HashOrderedRows for a Scan."""


class ReadPage(msgspec.Struct, frozen=True, gc=False):
    """Result of reading one page."""

    items: Rows
    """Rows for the reply; empty for Select COUNT."""
    matched_count: int
    scanned_count: int
    size_bytes: int
    """DynamoDB size of the evaluated rows; with vectors, what reading them is charged for (`vector_billing.py`)."""
    filled_bytes: int
    """Bytes that count towards the page's size limit: of the fetched items if items are fetched, else of the rows."""
    fetched_units: float
    """Read units of the items fetched from the table for entries of a local index."""
    last_evaluated: Row | None
    """The last evaluated row if a limit ended the page, else None."""

    counted_json_bytes: int
    """JSON length in bytes of the evaluated rows, or of the items fetched for entries of a local index; 0 for
    a short page of whole rows, which is not measured. Select COUNT may leave out the page's first rows."""

    @property
    def json_bytes(self) -> int:
        """`counted_json_bytes`, or if that is 0, the JSON length of `items`, counted now."""
        return self.counted_json_bytes or rows_json_bytes(self.items)


class _JsonBudget:
    """Counts the JSON bytes that a page may still hold; short pages of whole rows are not measured."""

    __slots__ = ("_surely_short_bytes", "left_bytes")

    def __init__(self, limit_bytes: int, *, is_raw: bool) -> None:
        self.left_bytes = limit_bytes
        self._surely_short_bytes = limit_bytes // JSON_SIZES_MAX if is_raw else -1
        """Sum of item sizes up to which the page's JSON is not measured; -1 if it is measured from now on."""

    def fit(self, rows: list[Row], size_bytes: int, before: Rows, before_bytes: int) -> list[Row]:
        """Return `rows` up to the one that reaches the JSON limit; all of them if none does.

        `before` are the page's earlier rows (empty for Select COUNT), measured when the page is no longer short. The
        item sizes of `rows` add up to `size_bytes`, those of all earlier rows to `before_bytes`.
        """
        if before_bytes + size_bytes <= self._surely_short_bytes:
            return rows
        if self._surely_short_bytes >= 0:
            self._surely_short_bytes = -1
            self.left_bytes -= rows_json_bytes(before)
        json_bytes = rows_json_bytes(rows)
        if json_bytes > self.left_bytes:
            rows = _first_rows(rows, self.left_bytes)
            json_bytes = rows_json_bytes(rows)
        self.left_bytes -= json_bytes
        return rows


def read_page(
    scope: Scope,
    wanted: Wanted,
    span: Span,
    limit: int | None,
    meter: Meter,
    *,
    limit_bytes: int = PAGE_SIZE_MAX_BYTES,
    limit_json_bytes: int = REPLY_JSON_MAX_BYTES,
) -> Soon[ReadPage]:
    """Read `span` until its end, `limit` evaluated rows, `limit_bytes` of their items or `limit_json_bytes` of JSON.

    The row that reaches a limit is still on the page. A caller that reads several spans for one reply lowers
    the limits of each span by what the spans before it used.
    """
    is_raw = wanted.condition is None and (wanted.projection is None or wanted.is_count) and not wanted.fetches_items
    if wanted.table.vector_attributes:
        is_raw = False
    if limit is None:
        rows_left, slice_rows = PAGE_SIZE_MAX_BYTES, FIRST_SLICE  # a page never has more rows than bytes
    else:
        rows_left, slice_rows = limit, min(limit, FIRST_SLICE)
    first = scope.store.page(
        wanted.source.source_id, span, slice_rows, limit_bytes, meter, consistent=wanted.consistent
    )
    if (
        is_raw
        and isinstance(first, Page)
        and first.size_bytes < limit_bytes
        and first.size_bytes * JSON_SIZES_MAX <= limit_json_bytes
    ):
        rows = first.rows
        if first.last_key is None or len(rows) == rows_left:
            items = wanted.rows(() if wanted.is_count else rows)
            last_evaluated = None if first.last_key is None else rows[-1]
            return ReadPage(items, len(rows), len(rows), first.size_bytes, first.size_bytes, 0.0, last_evaluated, 0)
    return _read_slices(scope, wanted, span, rows_left, first, meter, limit_bytes, limit_json_bytes)


async def _read_slices(
    scope: Scope,
    wanted: Wanted,
    span: Span,
    rows_left: int,
    first: Soon[Page],
    meter: Meter,
    limit_bytes: int,
    limit_json_bytes: int,
) -> ReadPage:
    """Read a page of several slices, of decoded or measured rows, or whose first slice (`first`) must be awaited."""
    store, source_id, consistent = scope.store, wanted.source.source_id, wanted.consistent
    is_raw = wanted.condition is None and (wanted.projection is None or wanted.is_count)
    slice_rows, slice_rows_max = FIRST_SLICE, DECODED_SLICE_ROWS_MAX
    if is_raw and not wanted.fetches_items:
        slice_rows_max = RAW_SLICE_ROWS_MAX
    page = await settled(first)
    bytes_left = fetched_left_bytes = limit_bytes
    budget = _JsonBudget(limit_json_bytes, is_raw=is_raw and not wanted.fetches_items)
    items = wanted.rows()
    count = scanned_count = saved_bytes = 0
    fetched_units = 0.0
    while True:
        rows = evaluated = page.rows
        if wanted.fetches_items:
            rows, evaluated = await _fetch_items(store, wanted, page.rows, meter, fetched_left_bytes, budget.left_bytes)
            fetched_left_bytes -= sum(row_sizes_bytes(rows))
            fetched_units += sum([item_read_units(row, consistent=consistent) for row in rows])
            budget.left_bytes -= rows_json_bytes(rows)
        else:
            rows = evaluated = budget.fit(rows, page.size_bytes, items, limit_bytes - bytes_left)
        is_cut = len(evaluated) < len(page.rows)
        bytes_left -= sum(row_sizes_bytes(evaluated)) if is_cut else page.size_bytes
        if wanted.table.vector_attributes and wanted.source.index is None:
            saved_bytes += sum(row_sizes_bytes(evaluated)) - charged_rows_bytes(wanted.table, evaluated)
        scanned_count += len(evaluated)
        rows_left -= len(evaluated)
        if not is_raw:
            count += select_rows(rows, wanted, items)
        else:
            count += len(rows)
            items += () if wanted.is_count else rows
        is_full = is_cut or rows_left <= 0 or min(bytes_left, fetched_left_bytes, budget.left_bytes) <= 0
        if page.last_key is None or is_full:
            size_bytes = limit_bytes - bytes_left
            filled_bytes = limit_bytes - fetched_left_bytes if wanted.fetches_items else size_bytes
            size_bytes -= saved_bytes
            last_evaluated = evaluated[-1] if is_cut or page.last_key is not None else None
            counted_json_bytes = limit_json_bytes - budget.left_bytes
            return ReadPage(
                items, count, scanned_count, size_bytes, filled_bytes, fetched_units, last_evaluated, counted_json_bytes
            )
        span = narrow(span, page.last_key)
        slice_rows = await hand_back(scope.clock.monotonic, slice_rows, slice_rows_max)
        rows_max = min(rows_left, slice_rows)
        page = await settled(store.page(source_id, span, rows_max, bytes_left, meter, consistent=consistent))


def _first_rows(rows: list[Row], left_json_bytes: int) -> list[Row]:
    """The rows up to the one whose JSON uses up `left_json_bytes`."""
    for count, row in enumerate(rows, 1):
        left_json_bytes -= row_json_bytes(row)
        if left_json_bytes <= 0:
            return rows[:count]
    return rows


async def _fetch_items(
    store: Store, wanted: Wanted, entries: list[Row], meter: Meter, left_bytes: int, left_json_bytes: int
) -> tuple[list[Row], list[Row]]:
    """Read the whole items of a local index's entries until one item uses up `left_bytes` or `left_json_bytes`.

    Returns the items, and the entries evaluated; an entry whose item is missing counts as evaluated.
    """
    table = wanted.table
    items = []
    for count, entry in enumerate(entries, 1):
        key = table.lookup_key(key_of(table.keys, decode_row(entry)))
        row = await settled(store.get(table.source_id, key, meter, consistent=wanted.consistent))
        if row is None:
            continue
        items.append(row)
        spend(FETCHED_ITEM_STEPS)
        size_bytes = row_size_bytes(row)
        left_bytes -= size_bytes
        left_json_bytes -= row_json_bytes(row)
        if left_bytes <= 0 or left_json_bytes <= 0:
            return items, entries[:count]
    return items, entries


def select_rows(rows: list[Row], wanted: Wanted, items: Rows) -> int:
    """Append the rows that pass the filter to `items`, projected (none for Select COUNT); return how many passed."""
    condition, values, projection, is_count = wanted.condition, wanted.values, wanted.projection, wanted.is_count
    count = 0
    names = needed_attributes(condition, projection)
    for row in rows:
        item = decode_for(row, names)
        if condition is not None and not condition.test(item, values):
            continue
        count += 1
        if is_count:
            continue
        items.append(row if projection is None else part_row(projection.project(item)))
    return count


def needed_attributes(condition: CompiledCondition | None, projection: CompiledProjection | None) -> frozenset[str]:
    """Top-level attributes that a filter and a projection read."""
    of_projection = frozenset[str]() if projection is None else projection.attributes
    return of_projection if condition is None else of_projection | condition.attributes


def page_usage(wanted: Wanted, own_units: float, fetched_units: float, table_name: str) -> PageUsage:
    """Usage of a read: the units of its rows, and of the items fetched from the table for entries of a local index.

    `table_name`: the table's name or ARN, as in the request.
    """
    index = wanted.source.index
    if index is None:
        return PageUsage(wanted.table, table_name, own_units)
    return PageUsage(wanted.table, table_name, fetched_units, ((index, own_units),))


def read_reply(
    scope: Scope, wanted: Wanted, span: Span, limit: int | None, table_name: str, meter: Meter
) -> Soon[Reply]:
    """Read the page of a Query or Scan and record its usage. `table_name`: name or ARN, as in the request."""
    page = read_page(scope, wanted, span, limit, meter)
    if not isinstance(page, ReadPage):
        return then(page, partial(_recorded_reply, wanted, table_name, meter))
    return _recorded_reply(wanted, table_name, meter, page)


def _recorded_reply(wanted: Wanted, table_name: str, meter: Meter, page: ReadPage) -> Reply:
    own_units = read_units(page.size_bytes, consistent=wanted.consistent)
    meter.append(page_usage(wanted, own_units, page.fetched_units, table_name))
    reply: Reply = {} if wanted.is_count else {"Items": page.items}
    reply["Count"] = page.matched_count
    reply["ScannedCount"] = page.scanned_count
    if page.last_evaluated is not None:
        reply["LastEvaluatedKey"] = decode_attributes(page.last_evaluated, wanted.source.start_key_names)
    return reply
