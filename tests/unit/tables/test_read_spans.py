"""Spans: a key is in the span of a key condition exactly if its item satisfies it; segments divide the hash space."""

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from hashrange.errors import ValidationException
from hashrange.items.types import Item, Key, Value
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import HASH_SPACE
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
from hashrange.tables.schema import KeySchema, KeyType, Table
from hashrange.tables.span import Span

STRINGS = [
    "\x00",
    "\x00\x00",
    "\x00\x01",
    "\x01",
    " ",
    "a",
    "a\x00",
    "a\x00\x00",
    "a\x01",
    "aa",
    "ab",
    "b",
    "ä",
    "\uffff",
    "\U0001f600",
]
BINARIES = [
    b"\x00",
    b"\x00\x00",
    b"\x00\xff",
    b"\x01",
    b"a",
    b"a\x00",
    b"a\x00\xff",
    b"a\x01",
    b"\xfe",
    b"\xff",
    b"\xff\x00",
    b"\xff\xff",
]
NUMBERS = ["-1000", "-1.5", "-1", "-0.5", "0", "0.001", "0.5", "1", "1.5", "9", "10", "1000"]
VALUES: dict[KeyType, list[Value]] = {
    "S": [{"S": value} for value in STRINGS],
    "N": [{"N": value} for value in NUMBERS],
    "B": [{"B": base64.b64encode(value).decode()} for value in BINARIES],
}


def make_table(partition: KeyType, sort: KeyType | None) -> OpenTable:
    sorts: tuple[KeyType, ...] = () if sort is None else (sort,)
    return OpenTable(
        Table(
            table_id=1,
            uuid="u",
            account="000000000000",
            region="us-east-1",
            name="t",
            keys=KeySchema(("pk",), (partition,), ("sk",) if sort else (), sorts),
            attribute_types={"pk": partition} | ({"sk": sort} if sort else {}),
            created_at_seconds=1.0,
            active_at_seconds=1.0,
        )
    )


def source_of(table: OpenTable) -> ReadSource:
    source = table.read_source(None)
    assert source is not None
    return source


def order(value: Value) -> Any:
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content.encode() if kind == "S" else base64.b64decode(content)


HOLDS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda value, bound, _: value == bound,
    "<": lambda value, bound, _: value < bound,
    "<=": lambda value, bound, _: value <= bound,
    ">": lambda value, bound, _: value > bound,
    ">=": lambda value, bound, _: value >= bound,
    "BETWEEN": lambda value, bound, upper: bound <= value <= upper,
    "begins_with": lambda value, bound, _: value.startswith(bound),
}


def lies_in(key: Key, span: Span) -> bool:
    return span.lower <= key < span.upper


@pytest.mark.parametrize("kind", ["S", "N", "B"])
@pytest.mark.parametrize("operator", list(HOLDS))
def test_a_key_lies_in_the_span_when_its_item_satisfies_the_condition(kind: KeyType, operator: str) -> None:
    if operator == "begins_with" and kind == "N":
        return
    table = make_table(kind, kind)
    source = source_of(table)
    values = VALUES[kind]
    partitions = values[2:5]
    keys = {
        (place, number): table.lookup_key({"pk": partition, "sk": value})
        for place, partition in enumerate(partitions)
        for number, value in enumerate(values)
    }
    for bound in values:
        for upper in values if operator == "BETWEEN" else values[:1]:
            operands = (bound, upper) if operator == "BETWEEN" else (bound,)
            terms = [KeyTerm("sk", operator, operands), KeyTerm("pk", "=", (partitions[1],))]
            span = query_span(source, terms, is_reverse=False)
            assert span.lower <= span.upper
            found = {numbers for numbers, key in keys.items() if lies_in(key, span)}
            assert found == {
                (1, number)
                for number, value in enumerate(values)
                if HOLDS[operator](order(value), order(bound), order(upper))
            }, (bound, upper)


@pytest.mark.parametrize("kind", ["S", "N", "B"])
def test_keys_of_a_partition_sort_as_their_values(kind: KeyType) -> None:
    table = make_table("S", kind)
    keys = [table.lookup_key({"pk": {"S": "p"}, "sk": value}) for value in VALUES[kind]]
    assert keys == sorted(keys)
    span = query_span(source_of(table), [KeyTerm("pk", "=", ({"S": "p"},))], is_reverse=True)
    assert span.is_reverse
    assert all(lies_in(key, span) for key in keys)
    other = table.lookup_key({"pk": {"S": "pp"}, "sk": VALUES[kind][0]})
    assert not lies_in(other, span)


def test_an_exclusive_start_narrows_in_the_direction_of_the_span() -> None:
    table = make_table("S", "S")
    items: list[Item] = [{"pk": {"S": "p"}, "sk": value} for value in VALUES["S"]]
    keys = [table.lookup_key(item) for item in items]
    terms = [KeyTerm("pk", "=", ({"S": "p"},))]
    for is_reverse in (False, True):
        span = query_span(source_of(table), terms, is_reverse=is_reverse)
        for place, key in enumerate(keys):
            rest = continue_query(
                source_of(table), terms, span, start_key(table, source_of(table), items[place]), items[place]
            )
            assert rest == narrow(span, key)
            assert rest.is_reverse is is_reverse
            expected = keys[:place] if is_reverse else keys[place + 1 :]
            assert [other for other in keys if lies_in(other, rest)] == expected


@pytest.mark.parametrize("total", [1, 2, 3, 7, 100, 4096, 999_983, 1_000_000])
def test_segments_share_the_hash_space_without_gap_or_overlap(total: int) -> None:
    segments = (
        range(total) if total <= 4096 else [*range(50), *range(total // 2, total // 2 + 50), *range(total - 50, total)]
    )
    spans = {segment: scan_span(segment, total) for segment in segments}
    assert spans[0].lower == b"\x00" * 8
    assert spans[total - 1].upper > b"\xff" * 8 + b"\x08\x00" + b"\xff" * 2048
    for segment, span in spans.items():
        if segment + 1 in spans:
            assert span.upper == spans[segment + 1].lower
        if segment < total - 1:
            width = int.from_bytes(span.upper, "big") - int.from_bytes(span.lower, "big")
            assert width in (HASH_SPACE // total, HASH_SPACE // total + 1)


def test_a_scan_continues_in_its_own_segment_only() -> None:
    table = make_table("S", None)
    for name in "abcdef":
        item: Item = {"pk": {"S": name}}
        key = scan_start_key(table, source_of(table), item)
        homes = []
        for segment in range(4):
            span = scan_span(segment, 4)
            try:
                assert continue_scan(span, key, segment, 4).lower == key + b"\x00"
                homes.append(segment)
            except ValidationException as refusal:
                assert refusal.message is not None
                assert refusal.message.endswith(f"TotalSegments: 4 Segment: {segment}")
        assert homes == [key[0] >> 6]
        assert continue_scan(scan_span(None, None), key, None, None).lower == key + b"\x00"


P = KeyTerm("pk", "=", ({"S": "p"},))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([], "Query condition missed key schema element: pk"),
        ([KeyTerm("sk", "=", ({"S": "a"},))], "Query condition missed key schema element: pk"),
        ([P, KeyTerm("x", "=", ({"S": "a"},))], "Query condition missed key schema element: sk"),
        ([KeyTerm("pk", "<", ({"S": "p"},))], "Query key condition not supported"),
        (
            [KeyTerm("pk", "=", ({"N": "1"},))],
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            [P, KeyTerm("sk", "BETWEEN", ({"S": "a"}, {"N": "1"}))],
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            [P, KeyTerm("sk", ">", ({"S": ""},))],
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute"
                " cannot contain an empty string value. Key: sk"
            ),
        ),
    ],
)
def test_conditions_that_fit_no_key_are_refused(terms: list[KeyTerm], message: str) -> None:
    with pytest.raises(ValidationException) as refused:
        query_span(source_of(make_table("S", "S")), terms, is_reverse=False)
    assert refused.value.message == message


def test_two_conditions_need_a_sort_key() -> None:
    with pytest.raises(ValidationException, match=r"^Query key condition not supported$"):
        query_span(source_of(make_table("S", None)), [P, KeyTerm("x", "=", ({"S": "a"},))], is_reverse=False)


def test_a_span_that_holds_nothing_is_empty_and_not_reversed() -> None:
    terms = [P, KeyTerm("sk", "BETWEEN", ({"S": "b"}, {"S": "a"}))]
    span = query_span(source_of(make_table("S", "S")), terms, is_reverse=False)
    assert span.lower == span.upper
