"""Random values in wire form, valid and invalid, for tests of the package `items`."""

from base64 import b64encode
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

SETTINGS: dict[str, Any] = {"derandomize": True, "database": None, "deadline": None}

unicode = st.characters(codec="utf-8")
texts = st.text(unicode, max_size=12)
names = st.text(unicode, min_size=1, max_size=8)
binaries = st.binary(max_size=12).map(lambda raw: b64encode(raw).decode())


@st.composite
def written_numbers(draw: st.DrawFn) -> str:
    """Numbers as clients may write them, all acceptable."""
    digits = draw(st.integers(0, 10**38 - 1))
    exponent = draw(st.integers(-130, 125 - 37))
    sign = draw(st.sampled_from(["", "-", "+"]))
    form = draw(
        st.sampled_from(["{sign}{digits}e{exponent}", "{sign}0{digits}.0E{exponent:+}", "{sign}{digits}.e{exponent}"])
    )
    return form.format(sign=sign, digits=digits, exponent=exponent)


numbers = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9).map(str),
    written_numbers(),
)

scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda text: {"N": text}),
    binaries.map(lambda text: {"B": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.lists(texts, min_size=1, max_size=5, unique=True).map(lambda members: {"SS": members}),
    st.lists(numbers, min_size=1, max_size=5, unique_by=Decimal).map(lambda members: {"NS": members}),
    st.lists(binaries, min_size=1, max_size=5, unique=True).map(lambda members: {"BS": members}),
)
values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda elements: {"L": elements}),
        st.dictionaries(names, inner, max_size=4).map(lambda attributes: {"M": attributes}),
    ),
    max_leaves=12,
)
items = st.dictionaries(names, values, max_size=6)
"""Valid items, not yet in canonical form."""

json_leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), numbers, binaries)
type_names = st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M", "X", ""])
json_values = st.recursive(
    json_leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(type_names, inner, max_size=3),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=15,
)
"""Any JSON value, often similar to an attribute value."""
