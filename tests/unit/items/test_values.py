"""`check_item` and `check_value`: canonical form, sharing, nesting depth, and only our own errors for any input."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.errors import HashrangeError, Malformed, NestingFault, NumberFault, RequestFault, ValidationException
from hashrange.items.sizes import attribute_size_bytes, item_size_bytes, value_size_bytes
from hashrange.items.types import Item, Value
from hashrange.items.values import check_item, check_value, check_values, type_of
from hashrange.messages.values import (
    ATTRIBUTE_NAME_EMPTY,
    ATTRIBUTE_NAME_TOO_LONG,
    NESTING_TOO_DEEP,
    NULL_NOT_TRUE,
    VALUE_EMPTY,
)
from hashrange.server.protocols.dynamodb_json.writing import error_body
from tests.unit.items.wire_values import SETTINGS, items, json_values, texts


def wrapped(value: dict[str, Any], levels: int, kinds: str = "LM") -> dict[str, Any]:
    """`value` nested in `levels` lists and maps."""
    for level in range(levels):
        value = {"L": [value]} if kinds[level % len(kinds)] == "L" else {"M": {"a": value}}
    return value


@given(items)
@settings(max_examples=80, **SETTINGS)
def test_canonical_items_stay_as_they_are(item: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    canonical, size_bytes = check_item(item)
    assert item == before, "the given item was changed"
    again, size_again = check_item(canonical)
    assert again is canonical
    assert size_bytes == size_again == item_size_bytes(canonical)
    assert size_bytes == sum(attribute_size_bytes(name, value) for name, value in canonical.items())
    assert (canonical is item) == (canonical == item)


@given(items)
@settings(max_examples=50, **SETTINGS)
def test_values_alone_are_as_in_items(item: dict[str, Any]) -> None:
    canonical, _ = check_item(item)
    for name, value in item.items():
        assert check_value(value) == (canonical[name], value_size_bytes(canonical[name]))
        assert type_of(value) in value
    assert check_values(item) == canonical


@given(json_values)
@settings(max_examples=250, **SETTINGS)
def test_anything_is_accepted_or_refused_by_our_own_errors(value: Any) -> None:
    before = copy.deepcopy(value)
    for check in (check_item, check_value):
        try:
            check(value)
        except HashrangeError as error:
            assert isinstance(error, Malformed | ValidationException)
    assert repr(value) == repr(before)


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=3))
@settings(max_examples=80, **SETTINGS)
def test_any_map_of_expression_values_is_accepted_or_refused(values: dict[str, Any]) -> None:
    try:
        check_values(values)
    except HashrangeError as error:
        assert isinstance(error, Malformed | RequestFault)


def test_only_what_changes_is_copied() -> None:
    unchanged = {"M": {"a": {"S": "x"}}}
    item: Item = {"pk": {"S": "a"}, "same": unchanged, "other": {"L": [{"N": "1.0"}, unchanged]}}
    canonical, _ = check_item(item)
    assert canonical == {"pk": {"S": "a"}, "same": unchanged, "other": {"L": [{"N": "1"}, unchanged]}}
    assert canonical["same"] is unchanged
    assert canonical["other"]["L"][1] is unchanged
    assert item["other"]["L"][0] == {"N": "1.0"}


INNERMOST: list[Value] = [{"S": "x"}, {"N": "1"}, {"NULL": True}, {"L": []}, {"M": {}}, {"SS": ["a"]}]


@pytest.mark.parametrize("innermost", INNERMOST)
@pytest.mark.parametrize("kinds", ["L", "M", "LM"])
def test_a_value_may_stand_inside_31_wrappers(kinds: str, innermost: Value) -> None:
    deepest = wrapped(innermost, 31, kinds)
    assert check_value(deepest)[0] is deepest
    assert check_item({"a": deepest})[0]["a"] is deepest
    too_deep = wrapped(innermost, 32, kinds)
    with pytest.raises(RequestFault, match=NESTING_TOO_DEEP):
        check_value(too_deep)
    with pytest.raises(RequestFault, match=NESTING_TOO_DEEP):
        check_item({"a": too_deep})


@pytest.mark.parametrize(("levels", "counted"), [(32, 32), (50, 50), (62, 62), (64, 64), (100_000, 95)])
@pytest.mark.parametrize("kinds", ["L", "M", "LM"])
def test_deeper_values_are_refused_without_recursion(levels: int, counted: int, kinds: str) -> None:
    value = wrapped({"S": "x"}, levels, kinds)
    with pytest.raises(NestingFault, match=NESTING_TOO_DEEP) as caught:
        check_item({"a": value})
    assert caught.value.levels == counted
    while value:  # emptied from the outside, because Python frees nested containers recursively
        inner = value.get("L", None) or list(value.get("M", {}).values())
        value.clear()
        value = inner[0] if inner else {}


def test_a_set_or_scalar_too_deep_is_refused_for_its_depth() -> None:
    with pytest.raises(RequestFault, match=NESTING_TOO_DEEP):
        check_value(wrapped({"N": "not a number"}, 32))


def test_names() -> None:
    for name, message in (
        ("", ATTRIBUTE_NAME_EMPTY),
        ("a" * 65_536, ATTRIBUTE_NAME_TOO_LONG),
        ("é" * 32_768, ATTRIBUTE_NAME_TOO_LONG),
    ):
        with pytest.raises(RequestFault, match=message):
            check_item({name: {"S": "a"}})
        with pytest.raises(RequestFault, match=message):
            check_item({"a": {"M": {name: {"NULL": True}}}})
    assert check_item({"a" * 65_535: {"S": "b"}})[1] == 65_536
    assert check_item({"é" * 32_767: {"S": "b"}})[1] == 65_535


@pytest.mark.parametrize("count", [0, 1, 31, 32, 63, 64, 65, 200])
@pytest.mark.parametrize("is_map", [False, True])
def test_items_and_maps_of_any_number_of_attributes(count: int, is_map: bool) -> None:
    """They are walked in pieces; each third value is no canonical one."""
    kinds: list[dict[str, object]] = [{"S": "é"}, {"N": "1E2"}, {"L": []}]
    given = {f"ü{number}": dict(kinds[number % 3]) for number in range(count)}
    expected = {name: {"N": "100"} if "N" in value else value for name, value in given.items()}
    item, wanted = ({"m": {"M": given}}, {"m": {"M": expected}}) if is_map else (given, expected)
    canonical, size_bytes = check_item(item)
    assert canonical == wanted
    assert list(canonical) == list(item)
    assert size_bytes == item_size_bytes(wanted)
    assert given == {f"ü{number}": kinds[number % 3] for number in range(count)}
    assert check_item(canonical)[0] is canonical


WRONG_NUMBER: dict[str, object] = {"N": "x"}


@pytest.mark.parametrize("others", [0, 1, 40, 64, 130])
@pytest.mark.parametrize("is_map", [False, True])
@pytest.mark.parametrize(("name", "message"), [("", ATTRIBUTE_NAME_EMPTY), ("a" * 65_536, ATTRIBUTE_NAME_TOO_LONG)])
def test_of_a_name_and_a_value_at_fault_the_first_is_told(name: str, message: str, is_map: bool, others: int) -> None:
    """If both are of one attribute, the name comes first."""
    before = {f"a{number}": {"S": "x"} for number in range(others)}
    between = {f"b{number}": {"N": "1"} for number in range(others)}

    def checked(attributes: dict[str, Any]) -> None:
        check_item({"m": {"M": attributes}} if is_map else attributes)

    for faulty in (
        {**before, name: {"S": "x"}, **between, "z": WRONG_NUMBER},
        {**before, name: WRONG_NUMBER, **between},
        {**before, name: {"S": "x"}, **between, "z": {"M": {"z": WRONG_NUMBER}}},
    ):
        with pytest.raises(RequestFault, match=message):
            checked(faulty)
    with pytest.raises(NumberFault):
        checked({**before, "z": WRONG_NUMBER, **between, name: {"S": "x"}})


@pytest.mark.parametrize("others", [0, 40, 130])
@pytest.mark.parametrize("wrong", [1, None, ["a"], {}, True])
def test_a_text_of_another_json_type_is_left_to_the_slow_path(wrong: object, others: int) -> None:
    for place in {0, others // 2, others}:
        attributes: dict[str, Any] = {f"a{number}": {"S": "x"} for number in range(others)}
        members = [*attributes.items()]
        members.insert(place, ("z", {"S": wrong}))
        with pytest.raises(Malformed):
            check_item(dict(members))
        with pytest.raises(Malformed):
            check_item({"m": {"M": dict(members)}})


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00" * 20_000])
def test_text_that_is_not_unicode_is_left_to_the_slow_path(text: str) -> None:
    for value in (
        {"S": text},
        {"SS": ["a", text]},
        {"SS": [text, text]},
        {"N": text},
        {"NS": ["1", text]},
        {"M": {text: {"S": "a"}}},
        {"L": [{"S": text}]},
        {"B": text},
        {"BS": [text]},
    ):
        with pytest.raises(Malformed):
            check_value(value)
        with pytest.raises(Malformed):
            check_item({"a": value})
    with pytest.raises(Malformed):
        check_item({text: {"S": "a"}})


def test_the_first_attribute_at_fault_is_named() -> None:
    with pytest.raises(RequestFault, match=NULL_NOT_TRUE):
        check_item({"a": {"S": "x"}, "b": {"NULL": False}, "c": {}})
    with pytest.raises(ValidationException, match=VALUE_EMPTY):
        check_item({"a": {"S": "x"}, "b": {}, "c": {"NULL": False}})


def test_expression_values_have_an_older_wording() -> None:
    with pytest.raises(RequestFault) as caught:
        check_values({":a": {"S": "x"}, ":b": {"NULL": False}})
    fault = caught.value
    assert (fault.message, fault.is_always_bare) == (NULL_NOT_TRUE, False)
    assert fault.older_message == f"ExpressionAttributeValues contains invalid value: {NULL_NOT_TRUE} for key :b"
    with pytest.raises(RequestFault) as caught:
        check_values({":a": {}})
    fault = caught.value
    assert fault.older_message == f"ExpressionAttributeValues contains invalid value: {VALUE_EMPTY} for key :a"
    assert VALUE_EMPTY.encode() in error_body(fault, "enveloped")
    assert b"1 validation error" not in error_body(fault, "enveloped")
    assert b"ExpressionAttributeValues" in error_body(fault, "older")


@given(st.lists(texts, min_size=1, max_size=6, unique=True))
@settings(max_examples=50, **SETTINGS)
def test_string_sets_sort_by_their_bytes(members: list[str]) -> None:
    canonical, size_bytes = check_value({"SS": members})
    assert canonical["SS"] == sorted(members, key=str.encode)
    assert size_bytes == sum(len(member.encode()) for member in members)
