"""Keys become the scalars that they were made of."""

from base64 import b64encode

from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.items.keys import (
    encode_component,
    encode_composite_partition,
    encode_partition_key,
    key_end,
    key_scalars,
)
from hashrange.items.numbers import normalize_number

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).map(lambda text: ("S", text))
binaries = st.binary(min_size=1, max_size=20).map(lambda data: ("B", b64encode(data).decode()))
numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**34), max_value=10**34, places=3).map(
    lambda number: ("N", normalize_number(str(number)))
)
scalars = st.one_of(texts, binaries, numbers)


@settings(deadline=None)
@given(scalars, st.lists(scalars, max_size=3), st.binary(max_size=9))
def test_a_key_becomes_its_scalars_whatever_follows(
    partition: tuple[str, str], sort: list[tuple[str, str]], tail: bytes
) -> None:
    key = encode_partition_key(*partition) + b"".join(encode_component(*one) for one in sort) + tail
    types, values = [partition[0]], [partition[1]]
    found = key_scalars(key, types, [one[0] for one in sort])
    assert found == values + [one[1] for one in sort]
    assert key_end(key, [one[0] for one in sort]) == len(key) - len(tail)


@settings(deadline=None)
@given(st.lists(scalars, min_size=2, max_size=4), scalars)
def test_a_partition_key_of_several_attributes(partition: list[tuple[str, str]], sort: tuple[str, str]) -> None:
    key = encode_composite_partition(partition) + encode_component(*sort)
    found = key_scalars(key, [one[0] for one in partition], [sort[0]])
    assert found == [one[1] for one in [*partition, sort]]
