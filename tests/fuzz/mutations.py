"""How is a valid body spoiled? By random changes of values and bytes, from one generator."""

import copy
import json
import random
from typing import Any

ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, -0.5, 10**12, 10**30, "", "x", "true", "1", "a.b", "#n", ":v", "a" * 300,
    "\u0000", "\U0001f600",
    "\ud83d",
    "AA==", "A", [], {}, [None], [[]], [{}], [1], ["a", "a"], {"a": None}, {"S": "x"}, {"S": 1}, {"N": "1"}, {"N": "x"},
    {"N": "1e999"},
    {"B": "AA=="}, {"B": "A"}, {"SS": []}, {"SS": ["a", "a"]}, {"NS": ["1", "1.0"]}, {"BS": ["AA=="]}, {"M": {}},
    {"L": []}, {"NULL": False},
    {"BOOL": "no"}, {"S": "x", "N": "1"}, {"": {"S": "x"}}, {"pk": {"S": "a"}}, {"ComparisonOperator": "EQ"},
    {"Action": "ADD"},
    "arn:aws:dynamodb:us-east-1:000000000000:table/x", "ALL_OLD", "attribute_exists(a)", "SET a = :v", "a = :v",
    "pk = :v", "((", "a,b",
]  # fmt: skip
NAMES = [
    "S",
    "N",
    "B",
    "L",
    "M",
    "Key",
    "Item",
    "Limit",
    "Unknown",
    "TableName",
    "pk",
    "sk",
    ":v",
    "#n",
    "Value",
    "Exists",
    "",
]
FRAGMENTS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"\\",
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"NaN",
    b"1e999",
    b"null",
    b"-",
    b"9" * 40,
]


def odd_value(generator: random.Random) -> Any:
    """A copy of one of the odd values."""
    return copy.deepcopy(generator.choice(ODD_VALUES))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key or position) inside a value."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


def spoil_value(body: Any, generator: random.Random) -> None:
    """Change one place of a body."""
    found = places(body)
    if not found:
        body["TableName"] = odd_value(generator)
        return
    container, key = generator.choice(found)
    match generator.randrange(6):
        case 0 if isinstance(container, dict):
            del container[key]
        case 1 if isinstance(container, dict):
            container[generator.choice(NAMES)] = container.pop(key)
        case 2 if isinstance(container, dict):
            container[generator.choice(NAMES)] = odd_value(generator)
        case 3:
            container[key] = copy.deepcopy(generator.choice(found)[0])
        case 4 if isinstance(container[key], str):
            text = container[key]
            position = generator.randrange(len(text) + 1)
            container[key] = (
                text[:position] + generator.choice(["", " ", "(", "#n", ":v", "\u00e9", "9"]) + text[position + 1 :]
            )
        case _:
            container[key] = odd_value(generator)


def spoil_bytes(body: bytes, generator: random.Random) -> bytes:
    """Change a few bytes, or wrap a value deeply."""
    position = generator.randrange(len(body) + 1)
    match generator.randrange(4):
        case 0:
            return body[:position]
        case 1:
            return body[:position] + generator.choice(FRAGMENTS) + body[position:]
        case 2:
            return body[:position] + generator.randbytes(1) + body[position + 1 :]
        case _:
            levels = generator.choice([30, 33, 70, 400, 2000])
            opening, closing = generator.choice([(b'{"L":[', b"]}"), (b'{"M":{"a":', b"}}"), (b"[", b"]")])
            start = body.rfind(b'{"', 0, position)
            if start <= 0:
                return opening * levels + body + closing * levels
            end = body.find(b"}", start) + 1
            return body[:start] + opening * levels + body[start:end] + closing * levels + body[end:]


def spoiled(body: dict[str, Any], generator: random.Random) -> bytes:
    """A body with one to three changes."""
    changed = copy.deepcopy(body)
    for _ in range(generator.choice([1, 1, 1, 2, 3])):
        spoil_value(changed, generator)
    encoded = json.dumps(changed, separators=(",", ":"), ensure_ascii=generator.random() < 0.5).encode(
        errors="surrogatepass"
    )
    return spoil_bytes(encoded, generator) if generator.random() < 0.15 else encoded
