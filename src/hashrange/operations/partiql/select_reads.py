"""What does a SELECT return? One item by its key, read as by GetItem, or a page of spans, read as by Query and Scan.

Source: service behaviour, captures to Oct 2026. Our choices, unconfirmed: several partition key values are read in the
order of the text unless ORDER BY names the partition key; a repeated value is read once; each span consumes capacity
like a Query of its own.
"""

from collections.abc import Sequence

import msgspec

from hashrange.errors import ValidationException
from hashrange.items.keys import encode_component
from hashrange.items.rows import decode_attributes, decode_for, part_row
from hashrange.items.types import Item, Key, Row, Value
from hashrange.limits import PAGE_SIZE_MAX_BYTES, REPLY_JSON_MAX_BYTES
from hashrange.messages.partiql import GSI_CONSISTENT_READ, ORDER_HASH_NEEDED, TOKEN_MISMATCH
from hashrange.operations.items.read_page import ReadPage, Wanted, needed_attributes, page_usage, read_page
from hashrange.operations.meter import Meter, PageUsage
from hashrange.operations.operation import Scope
from hashrange.operations.partiql.access_path import AccessPath, choose_access_path
from hashrange.operations.partiql.key_faults import check_read_values, is_too_long, surely_fit
from hashrange.operations.partiql.next_token import Continuation
from hashrange.operations.partiql.statements import cached_for_last_table
from hashrange.operations.partiql.where_keys import branch_spans, valued_term
from hashrange.operations.reply import HashOrderedRows
from hashrange.store.pause import FIRST_SLICE, hand_back
from hashrange.tables.capacity import read_units
from hashrange.tables.read_spans import (
    KeyTerm,
    continue_query,
    continue_scan,
    narrow,
    query_span,
    scan_span,
    scan_start_key,
    start_key,
)
from hashrange.tables.span import Span

SLICE_SPANS_MAX = 256
"""Maximum spans that are read before the event loop is handed back, if no other work waits for it; about 4 ms."""


class SelectPage(msgspec.Struct, frozen=True, gc=False):
    """One page of a SELECT; `continuation` is None if no page follows."""

    items: HashOrderedRows
    usage: PageUsage
    continuation: Continuation | None


bound_read = cached_for_last_table(choose_access_path)
"""Returns a statement's access path for a table. Raises ValidationException if the statement does not fit."""


def is_key_read(access: AccessPath) -> bool:
    """True if WHERE fixes the whole key of one item and has no other condition: batches and transactions allow none."""
    return access.kind == "lookup" and access.condition is None


def locate_read(access: AccessPath, values: dict[str, Value]) -> Key:
    """Key of a lookup's item; raises ValidationException for values that do not fit the key."""
    keys = access.source.keys
    key_item = {keys.partition_names[0]: values[access.partitions[0]]}
    if access.sort_term is not None:
        key_item[access.sort_term.attribute] = values[access.sort_term.tokens[0]]
    return access.table.lookup_key(key_item)


def locate_item(access: AccessPath, values: dict[str, Value]) -> Key:
    """As `locate_read`; values of a wrong type are refused in the words of PartiQL, as outside transactions."""
    if not access.is_one_span:
        _check_values(access, values)
    try:
        return locate_read(access, values)
    except ValidationException:
        _check_values(access, values)
        raise


def _check_values(access: AccessPath, values: dict[str, Value]) -> None:
    """Raise ValidationException if a value that WHERE gives for a key attribute does not fit it."""
    partitions = [values[token] for token in access.partitions]
    check_read_values(access.source.keys, partitions, [values[token] for token in access.sort_tokens])


def item_of(access: AccessPath, values: dict[str, Value], row: Row | None) -> Row | None:
    """The attributes of a row that a SELECT returns, EMPTY_PART if the projection selects none.

    None without a row, or if `access.condition`, the conditions that the key alone does not fulfil, is false.
    """
    condition, projection = access.condition, access.projection
    if row is None or (condition is None and projection is None):
        return row
    item = decode_for(row, needed_attributes(condition, projection))
    if condition is not None and not condition.test(item, values):
        return None
    return row if projection is None else part_row(projection.project(item))


async def read_spans(  # noqa: C901 - one loop over spans, with each limit that ends a page
    scope: Scope,
    access: AccessPath,
    values: dict[str, Value],
    limit: int | None,
    start: Continuation | None,
    meter: Meter,
    *,
    consistent: bool,
) -> SelectPage:
    """Read one page: spans one after the other, until `limit` evaluated items, 1 MB of them or 32 MB of their JSON.

    Raises ValidationException for a strongly consistent read of a global index, the faults of `_choices`, and a `start`
    that does not fit the spans.
    """
    if consistent and access.is_global:
        raise ValidationException(GSI_CONSISTENT_READ)
    table, source, table_name = access.table, access.source, access.table.name
    choices = _choices(access, values)
    number, last_key = (0, None) if start is None else start
    wanted = Wanted(
        table, source, consistent, access.condition, values, access.projection, fetches_items=access.fetches_items
    )
    if not choices:
        return SelectPage(HashOrderedRows(), page_usage(wanted, 0.0, 0.0, table_name), None)
    if not 0 <= number < len(choices):
        raise ValidationException(TOKEN_MISMATCH)
    items = HashOrderedRows()
    own_units = fetched_units = 0.0
    left_bytes, left_json_bytes = PAGE_SIZE_MAX_BYTES, REPLY_JSON_MAX_BYTES
    spans_left = slice_spans = FIRST_SLICE
    while True:
        span = _span(access, values, choices[number], last_key)
        page = read_page(scope, wanted, span, limit, meter, limit_bytes=left_bytes, limit_json_bytes=left_json_bytes)
        if not isinstance(page, ReadPage):
            page = await page
        items += page.items
        own_units += read_units(page.size_bytes, consistent=consistent)
        fetched_units += page.fetched_units
        left_bytes -= page.filled_bytes
        left_json_bytes -= page.json_bytes
        if limit is not None:
            limit -= page.scanned_count
        if page.last_evaluated is not None:
            continuation = Continuation(number, decode_attributes(page.last_evaluated, source.start_key_names))
            return SelectPage(items, page_usage(wanted, own_units, fetched_units, table_name), continuation)
        number, last_key = number + 1, None
        if number == len(choices):
            return SelectPage(items, page_usage(wanted, own_units, fetched_units, table_name), None)
        if left_bytes <= 0 or left_json_bytes <= 0 or limit == 0:
            return SelectPage(
                items, page_usage(wanted, own_units, fetched_units, table_name), Continuation(number, None)
            )
        spans_left -= 1
        if not spans_left:
            spans_left = slice_spans = await hand_back(scope.clock.monotonic, slice_spans, SLICE_SPANS_MAX)


# --- spans --------------------------------------------------------------------------------------


def _choices(access: AccessPath, values: dict[str, Value]) -> Sequence[list[KeyTerm] | Span | None]:
    """Key conditions of each span, or the span itself, in reading order; None for the only span of a scan.

    Raises ValidationException for values that do not fit the keys, then for branches of an OR that share a key, then
    for ORDER BY without the partition key. The values of a single span are checked only when it is made.
    """
    if not access.partitions:
        return [None]
    keys = access.source.keys
    partitions = _partition_values(access, values)
    if not access.is_one_span and not surely_fit(keys, partitions, [values[token] for token in access.sort_tokens]):
        _check_values(access, values)
        if len(access.partitions) > 1:
            partitions = [value for value in partitions if not is_too_long(keys, value)]
    spans: list[list[KeyTerm] | Span] = []
    if access.branches:
        spans = branch_spans(access.branches, values, partitions, access.source, is_reverse=access.is_reverse)
    if access.lacks_partition_order:
        raise ValidationException(ORDER_HASH_NEEDED)
    if access.branches:
        return spans
    partition_name = access.source.keys.partition_names[0]
    sorts = _sort_terms(access, values)
    return [
        [KeyTerm(partition_name, "=", (partition,)), *sort_terms] for partition in partitions for sort_terms in sorts
    ]


def _span(
    access: AccessPath, values: dict[str, Value], choice: list[KeyTerm] | Span | None, last_key: Item | None
) -> Span:
    """The span of keys of one of `_choices`; if an item's key attributes are given as `last_key`, only the keys after
    this item.
    """
    source = access.source
    if choice is None:
        span = scan_span(None, None)
        return (
            span
            if last_key is None
            else continue_scan(span, scan_start_key(access.table, source, last_key), None, None)
        )
    if isinstance(choice, Span):
        if last_key is None:
            return choice
        start = start_key(access.table, source, last_key)
        if not choice.lower <= start < choice.upper:
            raise ValidationException(TOKEN_MISMATCH)
        return narrow(choice, start)
    try:
        span = query_span(source, choice, is_reverse=access.is_reverse)
    except ValidationException:
        _check_values(access, values)
        raise
    return (
        span
        if last_key is None
        else continue_query(source, choice, span, start_key(access.table, source, last_key), last_key)
    )


def _partition_values(access: AccessPath, values: dict[str, Value]) -> list[Value]:
    """Distinct partition key values, in reading order."""
    if len(access.partitions) == 1:
        return [values[access.partitions[0]]]
    partitions: list[Value] = []
    for token in access.partitions:
        if values[token] not in partitions:
            partitions.append(values[token])
    if access.partition_order != "written":
        return _ordered(partitions, is_reverse=access.partition_order == "descending")
    return partitions


def _sort_terms(access: AccessPath, values: dict[str, Value]) -> list[list[KeyTerm]]:
    """Sort key conditions of each span of one partition key value: a single span with one condition or none, or a span
    for each value of `sort key IN […]`, in ascending order of the values, or descending if `access.is_reverse`.
    """
    if access.sort_term is not None:
        return [[valued_term(access.sort_term, values)]]
    if not access.sort_choices:
        return [[]]
    choices: list[Value] = []
    for token in access.sort_choices:
        if values[token] not in choices:
            choices.append(values[token])
    name = access.source.keys.sort_names[0]
    return [[KeyTerm(name, "=", (value,))] for value in _ordered(choices, is_reverse=access.is_reverse)]


def _ordered(values: list[Value], *, is_reverse: bool) -> list[Value]:
    """Sorted key values. Values whose type no key has are sorted by their type only, and are refused later."""

    def order(value: Value) -> tuple[str, bytes]:
        ((type_name, scalar),) = value.items()
        return type_name, encode_component(type_name, scalar) if type_name in ("S", "N", "B") else b""

    return sorted(values, key=order, reverse=is_reverse)
