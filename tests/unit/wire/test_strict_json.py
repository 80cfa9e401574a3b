"""What does the strict decoder say of a body, and where does its parser stand?

The words and codes are the service's (vectors.md 8); the places follow from the source of serde_json.
"""

import json
import random
from typing import Any

import msgspec
import pytest

from hashrange.errors import ApiError, SerializationException, ValidationException
from hashrange.items import steps
from hashrange.operations import shapes
from hashrange.wire.shape import structure_of
from hashrange.wire.strict_json import require_strictly


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """A request with members of each kind that is read strictly."""

    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    IndexName: str
    SearchVector: list[shapes.AttributeValue]
    TableName: str
    TopK: shapes.PositiveInteger


SHAPE = structure_of(Searched)
COMPLETE = {"IndexName": "i", "SearchVector": [{"N": "1"}], "TableName": "t", "TopK": 1}
VARIANTS = ", ".join(
    f"`{name}`"
    for name in "B BOOL BS DECIMAL DECIMALSET DOUBLE DOUBLESET INT INTSET L M N NS NULL S SS".split()  # noqa: SIM905 - as the service lists them
)


def fault_of(body: str) -> ApiError:
    with pytest.raises(ApiError) as caught:
        require_strictly(body.encode(), SHAPE)
    return caught.value


def said(body: str) -> tuple[str, str | None]:
    fault = fault_of(body)
    return fault.code, fault.message


S, V = "SerializationException", "ValidationException"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ('{"TableName":null}', S, "invalid type: null, expected a string at line 1 column 17"),
        ('{"TableName": null}', S, "invalid type: null, expected a string at line 1 column 18"),
        ('{\n "IndexName"\n: null}', S, "invalid type: null, expected a string at line 3 column 6"),
        ('{"SearchVector":null}', S, "invalid type: null, expected a sequence at line 1 column 20"),
        ('{"TopK":null}', S, "invalid type: null, expected i32 at line 1 column 12"),
        ('{"TableName":1}', S, "invalid type: integer `1`, expected a string at line 1 column 14"),
        ('{"TableName":-1}', S, "invalid type: integer `-1`, expected a string at line 1 column 15"),
        ('{"TableName":true}', S, "invalid type: boolean `true`, expected a string at line 1 column 17"),
        ('{"TableName": [1]}', S, "invalid type: sequence, expected a string at line 1 column 14"),
        ('{"TableName":{}}', S, "invalid type: map, expected a string at line 1 column 13"),
        ('{"TopK":3.5}', S, "invalid type: floating point `3.5`, expected i32 at line 1 column 11"),
        ('{"TopK":1e2}', S, "invalid type: floating point `100.0`, expected i32 at line 1 column 11"),
        ('{"TopK":1E20}', S, "invalid type: floating point `1e20`, expected i32 at line 1 column 12"),
        ('{"TopK":-0}', S, "invalid type: floating point `-0.0`, expected i32 at line 1 column 10"),
        ('{"TopK":0.000012}', S, "invalid type: floating point `0.000012`, expected i32 at line 1 column 16"),
        ('{"TopK":"é\\n"}', S, 'invalid type: string "é\\n", expected i32 at line 1 column 14'),
        ('{"TopK":2147483648}', V, "invalid value: integer `2147483648`, expected i32 at line 1 column 18"),
        ('{"TopK":-2147483649}', V, "invalid value: integer `-2147483649`, expected i32 at line 1 column 19"),
        ('{"TopK":1e400}', S, None),
        ('{"ExpressionAttributeNames":[]}', S, "invalid type: sequence, expected a map at line 1 column 28"),
        (
            '{"ExpressionAttributeNames":{"#a":1}}',
            S,
            "invalid type: integer `1`, expected a string at line 1 column 35",
        ),
        ('{"SearchVector":{"L":[]}}', S, "invalid type: map, expected a sequence at line 1 column 16"),
    ],
)
def test_members_of_other_types(body: str, code: str, message: str | None) -> None:
    assert said(body) == (code, message)


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ("null", S, None),
        ("1", S, None),
        ("true", S, None),
        ("[]", S, None),
        ("{}", S, None),
        ('{"N":"1","S":"1"}', S, None),
        ('{"X":"1"}', V, f"unknown variant `X`, expected one of {VARIANTS} at line 1 column {{4}}"),
        ('{ "X":"1"}', V, f"unknown variant `X`, expected one of {VARIANTS} at line 1 column {{5}}"),
        ('"X"', V, f"unknown variant `X`, expected one of {VARIANTS} at line 1 column {{3}}"),
        ('{"N":1}', S, "invalid type: integer `1`, expected a string at line 1 column {6}"),
        ('{"N":null}', S, "invalid type: null, expected a string at line 1 column {9}"),
        ('{"BOOL":"true"}', S, 'invalid type: string "true", expected a boolean at line 1 column {14}'),
        ('{"NULL":null}', S, "invalid type: null, expected a boolean at line 1 column {12}"),
        ('{"B":1}', S, "invalid type: integer `1`, expected a Base64-encoded string at line 1 column {6}"),
        ('{"BS":[1]}', S, "invalid type: integer `1`, expected a Base64-encoded string at line 1 column {8}"),
        ('{"BS":"x"}', S, 'invalid type: string "x", expected a sequence at line 1 column {9}'),
        ('{"B":"AB=="}', V, 'invalid value: string "AB==", expected a Base64-encoded string at line 1 column {11}'),
        ('{"L":"x"}', S, 'invalid type: string "x", expected a sequence at line 1 column {8}'),
        ('{"L":[null]}', S, None),
        ('{"M":[]}', S, "invalid type: sequence, expected a map at line 1 column {5}"),
        ('{"M":{"a":{"N":2}}}', S, "invalid type: integer `2`, expected a string at line 1 column {16}"),
        ('{"M":{"a":"N" }}', S, "invalid type: unit variant, expected newtype variant at line 1 column {15}"),
        ('{"M":{"a":"N" , "b":1}}', S, "invalid type: unit variant, expected newtype variant at line 1 column {14}"),
        ('{"L":["N"]}', S, "invalid type: unit variant, expected newtype variant at line 1 column {10}"),
        ('{"L":["N" , 1]}', S, "invalid type: unit variant, expected newtype variant at line 1 column {12}"),
    ],
)
def test_attribute_values(value: str, code: str, message: str | None) -> None:
    """`{n}`: the place is n bytes behind the beginning of the value."""
    for before, after in (('{"SearchVector":[', "]}"), ('{"ExpressionAttributeValues":{":v":', "}}")):
        expected = message
        if message is not None:
            words, _, place = message.removesuffix("}").partition("{")
            expected = f"{words}{len(before) + int(place)}"
        assert said(before + value + after) == (code, expected)


def test_a_missing_member_is_told_where_the_body_ends() -> None:
    order = ["IndexName", "SearchVector", "TableName", "TopK"]
    for first in range(4):
        body = json.dumps({name: COMPLETE[name] for name in order[:first]})
        assert said(body) == (V, f"missing field `{order[first]}` at line 1 column {len(body)}")
    assert said("{ } ") == (V, "missing field `IndexName` at line 1 column 3")
    assert said("{\n\n }") == (V, "missing field `IndexName` at line 3 column 2")


def test_the_first_fault_of_the_text_is_told() -> None:
    assert said('{"TopK":[],"TableName":1}') == (S, "invalid type: sequence, expected i32 at line 1 column 8")
    assert said('{"TableName":1,"TopK":[]}') == (S, "invalid type: integer `1`, expected a string at line 1 column 14")
    assert said('{"TopK":1,"SearchVector":[{"N":"1"},{}]}') == (S, None)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"ExpressionAttributeNames": None, "ExpressionAttributeValues": None},
        {"Limit": [None, {"]": '"'}], "x": "\\", "y": -1.5e-3, "z": True, "ConsistentRead": None},
        {"ExpressionAttributeValues": {":a": {"INT": [1]}, ":b": {"L": [{"M": {"": {"NULL": False}}}, {"NS": []}]}}},
        {"ExpressionAttributeNames": {"#a": "b"}, "ExpressionAttributeValues": {":a": {"BS": ["AAE="]}}},
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_what_fits_is_read(more: dict[str, Any], indent: int | None) -> None:
    require_strictly(json.dumps(more | COMPLETE, indent=indent).encode(), SHAPE)


def test_values_in_too_many_brackets_are_refused_without_a_message() -> None:
    """The parser reads 127 brackets around each other: those of the body, of the map, and two for each list."""

    def nested(lists: int) -> str:
        return json.dumps(COMPLETE | {"ExpressionAttributeValues": {":v": 0}}).replace(
            "0", '{"L":[' * lists + '{"N":"1"}' + "]}" * lists
        )

    require_strictly(nested(62).encode(), SHAPE)
    assert said(nested(63)) == (S, None)
    assert said(nested(10_000)) == (S, None)
    require_strictly(nested(1).replace("Expression", "unknown").encode(), SHAPE)
    require_strictly(f'{{"unknown":{"[" * 5000}{"]" * 5000},{json.dumps(COMPLETE)[1:]}'.encode(), SHAPE)


def test_any_json_is_read_or_refused() -> None:
    """With members that are replaced by others at random; each refusal has a place inside of the body."""
    dealt = random.Random(11)
    parts: list[Any] = [
        None,
        1,
        -2.5,
        True,
        "N",
        "x",
        [],
        {},
        [1],
        {"N": "1"},
        {"X": 1},
        {"L": [{"N": "1"}]},
        {"B": "é"},
    ]
    for _ in range(500):
        body = dict(COMPLETE)
        for name in SHAPE.inner or ():
            if dealt.random() < 0.3:
                value = dealt.choice(parts)
                body[name] = dealt.choice([value, [value], {":a": value}])
        text = json.dumps(body, ensure_ascii=False).encode()
        try:
            require_strictly(text, SHAPE)
        except (SerializationException, ValidationException) as fault:
            if fault.message is not None:
                assert 1 <= int(fault.message.rpartition(" ")[2]) <= len(text)


def test_reading_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    require_strictly(json.dumps(COMPLETE | {"SearchVector": [{"N": "0.5"}] * 4096}).encode(), SHAPE)
    assert len(looks) >= 40
    looks.clear()
    require_strictly(json.dumps(COMPLETE | {"unknown": [[]] * 4096}).encode(), SHAPE)
    assert len(looks) >= 40
