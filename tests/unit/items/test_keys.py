"""Keys as bytes: they sort in DynamoDB's order, no component is a prefix of another one,
and the format does not change.
"""

from base64 import b64encode
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.items.keys import encode_component, encode_partition_key, encode_sort, prefix_upper_bound
from hashrange.items.numbers import normalize_number
from tests.unit.items.wire_values import SETTINGS, numbers, texts

zeros = st.lists(st.sampled_from([0, 1, 2, 254, 255]), max_size=5).map(bytes)
scalars = st.one_of(
    st.tuples(texts, texts).map(lambda pair: ("S", pair[0].encode(), pair[1].encode(), *pair)),
    st.tuples(numbers, numbers).map(
        lambda pair: ("N", Decimal(pair[0]), Decimal(pair[1]), normalize_number(pair[0]), normalize_number(pair[1]))
    ),
    st.tuples(zeros, zeros).map(lambda pair: ("B", *pair, b64encode(pair[0]).decode(), b64encode(pair[1]).decode())),
)
"""Pairs of key values: (type, bytes that order the left value, bytes that order the right value, left value, right
value)."""


@given(scalars)
@settings(max_examples=200, **SETTINGS)
def test_sort_keys_and_components_keep_the_order(pair: tuple[str, bytes, bytes, str, str]) -> None:
    type_name, left_order, right_order, left, right = pair
    for encode in (encode_sort, encode_component):
        left_bytes, right_bytes = encode(type_name, left), encode(type_name, right)
        assert (left_bytes < right_bytes) == (left_order < right_order)
        assert (left_bytes == right_bytes) == (left_order == right_order)


@given(scalars, zeros, zeros)
@settings(max_examples=300, **SETTINGS)
def test_what_follows_a_component_cannot_change_its_order(
    pair: tuple[str, bytes, bytes, str, str], left_rest: bytes, right_rest: bytes
) -> None:
    type_name, left_order, right_order, left, right = pair
    if left_order == right_order:
        return
    left_bytes, right_bytes = encode_component(type_name, left), encode_component(type_name, right)
    assert (left_bytes + left_rest < right_bytes + right_rest) == (left_order < right_order)
    left_key, right_key = encode_partition_key(type_name, left), encode_partition_key(type_name, right)
    assert not left_key.startswith(right_key) and not right_key.startswith(left_key)


@pytest.mark.parametrize(
    ("type_name", "scalar", "key_hex"),
    [
        ("S", "a", "f6558e516275dee2000161"),
        ("S", "é", "1062807ac84fe65a0002c3a9"),
        ("N", "1", "5350cc5feef6eb8d0004c0821100"),
        ("B", "AP8=", "7c24c3cc726244b2000200ff"),
    ],
)
def test_the_format_of_partition_keys(type_name: str, scalar: str, key_hex: str) -> None:
    assert encode_partition_key(type_name, scalar).hex() == key_hex


def test_the_longest_partition_key() -> None:
    assert encode_partition_key("S", "a" * 2048)[8:10] == b"\x08\x00"


@given(zeros, zeros)
@settings(max_examples=200, **SETTINGS)
def test_the_upper_bound_of_a_prefix(prefix: bytes, other: bytes) -> None:
    prefix = b"\x00" + prefix
    bound = prefix_upper_bound(prefix)
    assert prefix < bound
    assert prefix + other < bound
    assert other < prefix or other.startswith(prefix) or other >= bound
    assert prefix_upper_bound(b"a\xff\xff") == b"b"
