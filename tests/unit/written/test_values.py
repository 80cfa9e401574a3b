"""What is wrong with what a person wrote: the member by its name, what it is, what it must be,
and never a word of the decoder.
"""

import json
import re
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from hashrange.written import values
from hashrange.written.names import did_you_mean, nearest_name
from hashrange.written.value_faults import Checks
from hashrange.written.values import SHORT_BYTES, TomlFault, fault_in, place_of_json_fault, read_toml

DECODER = re.compile(r"Expected|got `|\$|unknown field|Invalid|enum|Object ")


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=3, max_length=255)]
    batch_size: Annotated[int, Meta(ge=1, le=10_000)] = 1
    share: Annotated[float, Meta(gt=0, le=900)] = 1.0
    least: Annotated[int, Meta(ge=0)] = 0
    start: Literal["TRIM_HORIZON", "LATEST"] = "LATEST"
    is_on: bool = True
    filters: list[str] = []
    account: Annotated[str, Meta(pattern="^[0-9]{12}$", description="the 12 digits of an account")] | None = None
    until: datetime | None = None
    variables: dict[str, str] = {}
    either: str | tuple[str, ...] | None = None


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    mapping: Annotated[list[Inner], Meta(max_length=3)] = []
    inner: Inner | None = None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (5, "it is 5; it must be a table."),
        ({"maping": []}, "it has no member maping. Did you mean mapping?"),
        ({"zzz": []}, "it has no member zzz. Its members are inner, mapping."),
        ({"mapping": {}}, "mapping is a table; it must be a list of at most 3 values."),
        ({"mapping": [{}] * 4}, "mapping has 4 values; it must be a list of at most 3 values."),
        ({"mapping": [{"name": "abc"}, 5]}, "mapping 2 is 5; it must be a table."),
        ({"mapping": [{}]}, "mapping 1 lacks the member name: it must be text of 3 to 255 characters."),
        ({"inner": {"name": "ab"}}, 'name of inner is "ab"; it must be text of 3 to 255 characters.'),
        ({"inner": {"name": "abc", "batch_sise": 2}}, "inner has no member batch_sise. Did you mean batch_size?"),
        ({"inner": {"name": "abc", "BATCH_SIZE": 2}}, "inner has no member BATCH_SIZE. Did you mean batch_size?"),
        ({"inner": 7}, "inner is 7; it must be a table."),
    ],
)
def test_sentences(value: Any, sentence: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(value, Outer)
    assert fault_in(value, Outer) == sentence


@pytest.mark.parametrize(
    ("member", "value", "sentence"),
    [
        ("batch_size", "ten", 'batch_size is "ten"; it must be a whole number from 1 to 10,000.'),
        ("batch_size", 0, "batch_size is 0; it must be a whole number from 1 to 10,000."),
        ("batch_size", True, "batch_size is true; it must be a whole number from 1 to 10,000."),
        ("batch_size", 1.5, "batch_size is 1.5; it must be a whole number from 1 to 10,000."),
        ("share", 0, "share is 0; it must be a number above 0, and at most 900."),
        ("share", [], "share is a list; it must be a number above 0, and at most 900."),
        ("least", -1, "least is -1; it must be a whole number of at least 0."),
        ("start", "LATE", 'start is "LATE", which is none of its values. Did you mean LATEST?'),
        ("start", "now", 'start is "now"; it must be "LATEST" or "TRIM_HORIZON".'),
        ("share", float("nan"), "share is nan; it must be a number above 0, and at most 900."),
        ("is_on", "yes", 'is_on is "yes"; it must be true or false.'),
        ("is_on", None, "is_on is null; it must be true or false."),
        ("filters", "x", 'filters is "x"; it must be a list.'),
        ("filters", ["x", 5], "filters 2 is 5; it must be text."),
        ("account", "123", 'account is "123"; it must be the 12 digits of an account.'),
        ("account", 123456789012, "account is 123456789012; it must be the 12 digits of an account."),
        ("until", "tomorrow", 'until is "tomorrow"; it must be a time, such as 2026-12-31T23:59:59Z.'),
        ("variables", {"A": 1}, "A of variables is 1; it must be text."),
        ("either", 5, "either is 5; it must be text or a list."),
        ("either", ["a", 5], "either 2 is 5; it must be text."),
        ("name", "x" * 300, f'name is "{"x" * 100}…"; it must be text of 3 to 255 characters.'),
    ],
)
def test_each_type(member: str, value: Any, sentence: str) -> None:
    members = {"name": "abc", member: value}
    with pytest.raises(msgspec.ValidationError) as told:
        msgspec.convert(members, Inner)
    assert DECODER.search(str(told.value)), "these are the words that nobody shall see"
    assert fault_in(members, Inner) == sentence
    assert not DECODER.search(sentence)


class Login(msgspec.Struct):
    password: Annotated[str, Meta(min_length=1), Meta(extra={"is_secret": True})]
    token: Annotated[str, Meta(extra={"is_secret": True})] | None = None


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"password": 90210}, "password is not shown, because it may be secret; it must be text that is not empty."),
        ({"password": ""}, 'password is ""; it must be text that is not empty.'),
        ({"password": None}, "password is null; it must be text that is not empty."),
        ({"password": "a", "token": 4711}, "token is not shown, because it may be secret; it must be text."),
    ],
)
def test_what_may_be_secret_is_not_shown(members: dict[str, Any], sentence: str) -> None:
    assert fault_in(members, Login) == sentence


def test_json_has_objects() -> None:
    assert fault_in([], Inner, "object") == "it is a list; it must be an object."


class Even:
    """A type that msgspec does not know."""


class Pair(msgspec.Struct):
    first: Even
    second: Even


def test_types_of_the_program_have_their_own_words() -> None:
    checks: Checks = {Even: (lambda value: value % 2 == 0, "an even number")}
    assert fault_in({"first": 2, "second": 3}, Pair, checks=checks) == "second is 3; it must be an even number."
    assert fault_in({"first": 2}, Pair, checks=checks) == "it lacks the member second: it must be an even number."


def test_a_value_at_its_bounds_is_not_the_fault() -> None:
    members = {"name": "abc", "batch_size": 1, "share": 900, "least": 0, "filters": 5}
    assert fault_in(members, Inner) == "filters is 5; it must be a list."


def test_what_it_does_not_find_is_told_in_general() -> None:
    assert fault_in({"name": "abc"}, Inner) == "it does not have the form that it needs."


class Nested(msgspec.Struct):
    inner: "list[Nested] | None" = None


def test_a_value_that_is_nested_too_deeply() -> None:
    value: Any = {}
    for _ in range(100_000):
        value = {"inner": [value]}
    assert fault_in(value, Nested) == "it is nested too deeply."


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1}', ""),
        ('{"a" 1}', " at line 1, column 6"),
        ('{\n "a": 1,\n}', " at line 3, column 1"),
        (b"[1, 2", " at line 1, column 6"),
        (b"\xff", ""),
    ],
)
def test_places_in_json(text: str | bytes, place: str) -> None:
    assert place_of_json_fault(text).startswith(place)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"port: 3", "it is no TOML at line 1, column 5: what stands there is malformed, or given a second time."),
        (
            b"a = 1\na = 2\n",
            "it is no TOML at line 2, column 6: what stands there is malformed, or given a second time.",
        ),
        (b"[a", "it is no TOML: it breaks off at its end."),
        (b"a = \xff", "it is not UTF-8."),
        (b"a = " + b"9" * 5000, "a number in it has too many digits."),
        (b"a = " + b"[" * 100_000, "it is nested too deeply."),
    ],
)
def test_what_is_wrong_with_toml(content: bytes, sentence: str) -> None:
    with pytest.raises(TomlFault) as caught:
        read_toml(content)
    assert str(caught.value) == sentence


def test_toml_as_text() -> None:
    assert read_toml("a = 1") == read_toml(b"a = 1") == {"a": 1}


@pytest.mark.parametrize(
    ("name", "near"), [("prot", "port"), ("PORT", "port"), ("dtaa_dir", "data_dir"), ("xyz", None), ("", None)]
)
def test_the_nearest_name(name: str, near: str | None) -> None:
    assert nearest_name(name, ["port", "host", "data_dir"]) == near


def test_the_nearest_name_as_a_sentence() -> None:
    assert did_you_mean("Userz", ["Orders", "Users"]) == " Did you mean Users?"
    assert did_you_mean("Zebra", ["Orders", "Users"]) == ""


LONG = b'["\xc3\xa9", 1,\n ' + b'{"a": [1, "b", null]},\n' * 10_000


@pytest.mark.parametrize(
    "end",
    [
        b"1,]",
        b'{"a": 1,}]',
        b"1 2]",
        b'{"a" 1}]',
        b"{a: 1}]",
        b"[1, 2",
        b'["\n"]]',
        b"[01]]",
        '["é" "é"]'.encode(),
        b"1]",
    ],
)
def test_the_place_in_a_long_text_is_that_of_a_short_one(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 MB with a fault at the end were one step of 73 to 113 ms."""
    text = LONG + end
    monkeypatch.setattr(values, "SHORT_BYTES", len(text))
    expected = place_of_json_fault(text)
    assert (end == b"1]") == (not expected)
    monkeypatch.undo()
    made: list[object] = []
    monkeypatch.setattr(json, "loads", made.append)
    assert len(text) > SHORT_BYTES
    assert place_of_json_fault(text) == place_of_json_fault(text.decode()) == expected
    assert not made


def test_a_long_text_that_is_nested_too_deeply_has_no_place() -> None:
    assert place_of_json_fault(b"[" * 2 * SHORT_BYTES) == ""
