"""Too many members: counted outside of texts, whatever the texts hold."""

import json
import random
from typing import Any

import pytest

from hashrange import steps
from hashrange.errors import ValidationException
from hashrange.wire import body_members
from hashrange.wire.body_members import check_member_count

MAXIMUM = 100


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_members, "REQUEST_MEMBERS_MAX", MAXIMUM)


def is_refused(body: bytes) -> bool:
    try:
        check_member_count(body)
    except ValidationException:
        return True
    return False


def marks(value: Any) -> int:
    """Commas and colons of a value's JSON, counted on the value."""
    if isinstance(value, dict):
        return len(value) + max(0, len(value) - 1) + sum(map(marks, value.values()))
    if isinstance(value, list):
        return max(0, len(value) - 1) + sum(map(marks, value))
    return 0


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (b'{"a":[' + b"1," * 98 + b"1]}", False),
        (b'{"a":[' + b"1," * 99 + b"1]}", False),
        (b'{"a":[' + b"1," * 100 + b"1]}", True),
        (b'{"a":"' + b"," * 500 + b'"}', False),
        (b'{"a":"' + b'\\\\\\",' * 500 + b'"}', False),
        (b'{"a":"' + b"\\\\" * 200 + b'","b":[' + b"1," * 97 + b"1]}", False),
        (b'{"a":"' + b"\\\\" * 200 + b'","b":[' + b"1," * 98 + b"1]}", True),
        (b'{"' + b",:" * 300 + b'":1}', False),
        (b'{"a":"' + b"," * 300, False),  # no JSON, which others will say
        (b'{"a":[' + b"1,\n \t" * 101 + b"1]}", True),
    ],
)
def test_only_what_stands_outside_of_texts_counts(body: bytes, refused: bool) -> None:
    assert is_refused(body) == refused


@pytest.mark.parametrize("seed", range(20))
def test_random_bodies_are_counted_as_their_values_are(seed: int) -> None:
    chance = random.Random(seed)

    def value(depth: int) -> Any:
        kind = chance.randrange(6 if depth else 3)
        if kind < 3:
            return [chance.randrange(1000), "".join(chance.choices('a,:"\\[]{}é', k=chance.randrange(12))), None][kind]
        if kind == 3:
            return {f'{number}\\",:': value(depth - 1) for number in range(chance.randrange(8))}
        return [value(depth - 1) for _ in range(chance.randrange(8))]

    for _ in range(50):
        body = {"a": [value(4) for _ in range(chance.randrange(12))], "pad": "," * 200}
        assert is_refused(json.dumps(body).encode()) == (marks(body) > MAXIMUM)


def test_many_backslashes_give_way_as_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    megabytes = 4
    body = b'{"a":"' + b"," * 200 + b"\\\\" * (megabytes << 19) + b'"}'
    assert not is_refused(body)
    assert len(looks) >= 16 * megabytes
