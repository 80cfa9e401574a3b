"""Random and spoiled filter patterns: each compiles or is refused with InvalidPattern;
matching raises nothing, whatever the record.

`HASHRANGE_FUZZ_REQUESTS` sets the number of patterns, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import copy
import json
import os
import random
from typing import Any

from hashrange.triggers.filter_operators import InvalidPattern
from hashrange.triggers.filter_patterns import compile_filters, members_of
from tests.fuzz.mutations import odd_value, places, spoiled

PATTERNS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125")) * 8
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
SOUND: dict[str, Any] = {
    "eventName": ["INSERT", {"anything-but": ["REMOVE", "x"]}],
    "eventSource": [{"prefix": "aws"}, {"suffix": {"equals-ignore-case": "DB"}}, None, True, 1.5],
    "$or": [
        {"dynamodb": {"Keys": {"pk": {"S": [{"exists": True}, {"equals-ignore-case": "a"}]}}}},
        {"dynamodb": {"SizeBytes": [{"numeric": [">", 0, "<=", 5]}, {"anything-but": [1, 2]}]}},
    ],
    "dynamodb": {
        "NewImage": {"l": {"L": {"M": {"a": {"N": ["1"]}, "b": {"N": [{"anything-but": {"prefix": ["1", "2"]}}]}}}}},
        "OldImage": {"state": {"S": [{"exists": False}]}},
    },
}
PIECES = (
    "{", "}", "[", "]", ",", ":", " ", '"', "\\", '"a"', '"$or"', '"prefix"', '"suffix"', '"numeric"', '"exists"',
    '"anything-but"',
    '"equals-ignore-case"', '"wildcard"', '{"a":', '[{"', "true", "false", "null", "NaN", "-Infinity", "0", "-1", "1.5",
    "1e999", "1e-999",
    "01", "9" * 60, '"<"', '">="', '"="', '"\\ud800"', '"\\u0000"', "\ud83d", "\x00", "\ufeff", "\u2028", "é",
    '{"exists":false}',
    '{"numeric":["<",', '"$or":[{"a":[1]},', '["x"]', '{"b":["x"]}', "//",
)  # fmt: skip
RECORD: dict[str, Any] = {
    "eventID": "1",
    "eventName": "INSERT",
    "eventSource": "aws:dynamodb",
    "dynamodb": {
        "Keys": {"pk": {"S": "a"}},
        "NewImage": {"pk": {"S": "a"}, "l": {"L": [{"M": {"a": {"N": "1"}, "b": {"N": "3"}}}, {"S": "x"}, {"L": []}]}},
        "SizeBytes": 26,
        "SequenceNumber": "111",
    },
}
ODD_PARTS: tuple[Any, ...] = (
    float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), 0.1 + 0.2, "\ud800", "\x00", {}, [], [[]], [{}],
    [None], {"": ""},
)  # fmt: skip


def spoiled_record(generator: random.Random) -> dict[str, Any]:
    """A record with some odd parts, or one that is nothing like a record."""
    record: dict[str, Any] = json.loads(json.dumps(RECORD))
    for _ in range(generator.randrange(4)):
        container, key = generator.choice(places(record))
        odd = [odd_value(generator), copy.deepcopy(generator.choice(ODD_PARTS)), [container[key], "x"]]
        container[key] = generator.choice(odd)
    return record


def assert_handled(text: str, generator: random.Random) -> bool:
    """Compile a text and match records with it; returns whether it is a valid pattern."""
    try:
        matching = compile_filters([text])
    except InvalidPattern:
        try:
            members_of([text])
        except InvalidPattern:
            return False
        raise AssertionError(text) from None
    names = members_of([text])
    for _ in range(4):
        record = spoiled_record(generator)
        came_out = matching(record)
        assert came_out in (True, False), text
        kept = {name: value for name, value in record.items() if name in names}
        assert matching(kept) is came_out, text
    return True


def test_the_sound_pattern_matches() -> None:
    assert compile_filters([json.dumps(SOUND)])(RECORD)


def test_a_spoiled_pattern_compiles_or_is_refused() -> None:
    generator = random.Random(SEED)
    valid = 0
    for _ in range(PATTERNS):
        text = spoiled(SOUND, generator).decode(errors="surrogateescape")
        valid += assert_handled(text, generator)
    assert PATTERNS / 20 < valid < PATTERNS


def test_a_random_text_compiles_or_is_refused() -> None:
    generator = random.Random(SEED)
    for _ in range(PATTERNS):
        assert_handled("".join(generator.choices(PIECES, k=generator.randrange(1, 30))), generator)


def test_a_repeated_piece_compiles_or_is_refused() -> None:
    """Up to the longest text that is read, and one beyond it."""
    generator = random.Random(SEED)
    for one in PIECES:
        for other in generator.sample(PIECES, 6):
            assert_handled((one + other) * (4_096 // len(one + other)), generator)
        assert_handled(one * (4_097 // len(one) + 1), generator)
