"""Condition expressions: their result for given items."""

import pytest

from hashrange.expressions.condition import compile_condition
from hashrange.items.types import Item, Value

ITEM: Item = {
    "s": {"S": "hello"},
    "t": {"S": "hello"},
    "n": {"N": "10"},
    "small": {"N": "9"},
    "negative": {"N": "-1.5"},
    "bin": {"B": "AQID"},
    "yes": {"BOOL": True},
    "nil": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "10"]},
    "bs": {"BS": ["AQ=="]},
    "l": {"L": [{"S": "x"}, {"M": {"deep": {"N": "1"}}}, {"SS": ["q"]}]},
    "m": {"M": {"k": {"S": "v"}, "dot.ted": {"N": "2"}}},
    "blank": {"S": ""},
}
VALUES: dict[str, Value] = {
    ":hello": {"S": "hello"},
    ":he": {"S": "he"},
    ":ell": {"S": "ell"},
    ":z": {"S": "z"},
    ":a": {"S": "a"},
    ":none": {"S": ""},
    ":ten": {"N": "10"},
    ":nine": {"N": "9"},
    ":five": {"N": "5"},
    ":three": {"N": "3"},
    ":two": {"N": "2"},
    ":big": {"N": "100000000000000000000"},
    ":bin": {"B": "AQID"},
    ":bin2": {"B": "AgM="},
    ":bin1": {"B": "AQ=="},
    ":yes": {"BOOL": True},
    ":nil": {"NULL": True},
    ":ss": {"SS": ["a", "b"]},
    ":set": {"SS": ["q"]},
    ":l": {"L": []},
    ":m": {"M": {"deep": {"N": "1"}}},
    ":S": {"S": "S"},
    ":NULL": {"S": "NULL"},
}
NAMES = {"#dot": "dot.ted"}

TRUE = [
    "s = :hello",
    "s = t",
    ":hello = s",
    "l[1] = :m",
    "ss = :ss",
    "n <> :hello",
    "nowhere <> :hello",
    "nowhere <> gone",
    "n > :nine",
    "n > small",
    ":nine < n",
    "n >= :ten AND n <= :ten",
    "negative < :five",
    "n < :big",
    "s < :z",
    "bin < :bin2",
    "bin >= :bin1",
    "n BETWEEN :nine AND :ten",
    "n BETWEEN small AND :big",
    ":ten BETWEEN small AND n",
    "s IN (:z, n, :hello)",
    "n IN (:nine, :ten)",
    "attribute_exists(nil)",
    "attribute_exists(l[1].deep)",
    "attribute_not_exists(l[9])",
    "attribute_not_exists(m[0])",
    "attribute_not_exists(l.k)",
    "attribute_not_exists(s.k)",
    "attribute_type(s, :S)",
    "attribute_type(nil, :NULL)",
    "begins_with(s, :he)",
    "begins_with(s, :none)",
    "begins_with(bin, :bin1)",
    "begins_with(:hello, s)",
    "contains(s, :ell)",
    "contains(bin, :bin2)",
    "contains(ss, :a)",
    "contains(ns, :ten)",
    "contains(bs, :bin1)",
    "contains(l, :m)",
    "contains(l, :set)",
    "contains(:ss, l) OR contains(:hello, s)",
    "size(s) = :five",
    "size(bin) = :three",
    "size(ss) = :two",
    "size(l) = :three",
    "size(m) < :three",
    "size(blank) < :two",
    "size(m) = m.#dot",
    ":five = size(s)",
    "size(:hello) = :five",
    "size(s) <> :two",
    "size(s) BETWEEN :two AND :nine",
    "NOT s = :z",
    "NOT NOT s = :hello",
    "s = :hello OR s = :z AND n = :nine",
    "NOT s = :z AND n = :ten",
    "(s = :z OR n = :ten) AND m.k <> :z",
    "nil = :nil",
    "yes = :yes",
]
FALSE = [
    "s = n",
    "nowhere = gone",
    "nowhere = :hello",
    "s <> t",
    "n < s",
    "n < nowhere",
    "yes < n",
    "nil < :z",
    "s > :ten",
    "s BETWEEN :nine AND :ten",
    "n BETWEEN s AND :ten",
    "nowhere BETWEEN small AND n",
    "nowhere IN (:z, gone)",
    "attribute_exists(nowhere)",
    "attribute_not_exists(nil)",
    "attribute_type(nowhere, :S)",
    "attribute_type(n, :S)",
    "begins_with(n, :he)",
    "begins_with(s, t) AND begins_with(s, :z)",
    "begins_with(nowhere, :he)",
    "contains(s, :ten)",
    "contains(n, :ten)",
    "contains(m, :a)",
    "contains(ss, :ten)",
    "contains(l, :five)",
    "contains(nowhere, :a)",
    "size(n) = :two",
    "size(n) <> :two",
    "size(nowhere) <> :two",
    "size(yes) < :two",
    "NOT s = :hello",
    "NOT (s = :hello OR n = :nine)",
    "(s = :hello OR n = :ten) AND s = :z",
]


@pytest.mark.parametrize(("text", "expected"), [(t, True) for t in TRUE] + [(t, False) for t in FALSE])
def test_truth_over_an_item(text: str, expected: bool) -> None:
    names = NAMES if "#dot" in text else None
    assert compile_condition("FilterExpression", text, names, VALUES).test(ITEM, VALUES) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("attribute_not_exists(s)", True), ("s = :z", False), ("s <> :z", True), ("NOT size(s) = :two", True)],
)
def test_no_item_is_the_empty_item(text: str, expected: bool) -> None:
    assert compile_condition("ConditionExpression", text, None, VALUES).test({}, VALUES) is expected


def test_a_condition_knows_what_it_names() -> None:
    condition = compile_condition("FilterExpression", "a.b = :z AND #dot[1] < c AND size(d) = :two", NAMES, VALUES)
    assert condition.attributes == {"a", "dot.ted", "c", "d"}
    assert condition.nested_attributes == {"a", "dot.ted"}
    assert condition.used_names == {"#dot"}
    assert condition.used_values == {":z", ":two"}


def test_a_cached_condition_reads_the_values_of_each_request() -> None:
    first = compile_condition("FilterExpression", "s = :v", None, {":v": {"S": "a"}})
    second = compile_condition("FilterExpression", "s = :v", None, {":v": {"S": "b"}})
    assert first is second
    assert second.test({"s": {"S": "b"}}, {":v": {"S": "b"}})


@pytest.mark.parametrize(
    "text", ["s=:hello", " s\t=\r\n:hello ", "((s)=:hello)", "s = :hello and not s = :z", "l [ 0 ] <> m . k"]
)
def test_blanks_case_of_keywords_and_single_parentheses_do_not_matter(text: str) -> None:
    assert compile_condition("FilterExpression", text, None, VALUES).test(ITEM, VALUES)


NUMBERS = [
    "-100",
    "-99.5",
    "-1",
    "-0.0000001",
    "0",
    "0.0000001",
    "0.5",
    "1",
    "1.5",
    "9",
    "10",
    "99",
    "100",
    "1" + "0" * 125,
]


def test_numbers_order_by_value() -> None:
    condition = compile_condition("FilterExpression", "n < :n", None, {":n": {"N": "0"}})
    for left_position, left in enumerate(NUMBERS):
        for right_position, right in enumerate(NUMBERS):
            assert condition.test({"n": {"N": left}}, {":n": {"N": right}}) is (left_position < right_position)
