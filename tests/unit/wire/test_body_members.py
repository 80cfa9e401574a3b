"""Limit on members of a body: commas, colons and lists are counted outside of texts only."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from hashrange.errors import ValidationException
from hashrange.items import steps
from hashrange.wire import body_members
from hashrange.wire.body_members import check_member_count
from tests.support.working import lines_between_looks

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
    """Commas and colons of a value's JSON, and its lists beyond the number of colons, counted on the value."""
    commas, colons, lists = parts(value)
    return commas + colons + max(0, lists - colons)


def parts(value: Any) -> tuple[int, int, int]:
    """Commas, colons and lists of a value's JSON."""
    if not isinstance(value, dict | list):
        return 0, 0, 0
    inner = [parts(member) for member in (value.values() if isinstance(value, dict) else value)]
    own = max(0, len(value) - 1), len(value) * isinstance(value, dict), int(isinstance(value, list))
    commas, colons, lists = (sum(column) for column in zip(own, *inner, strict=True))
    return commas, colons, lists


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
        (b'{"a":"' + b"," * 300, False),  # invalid JSON, which a later check reports
        (b'{"a":[' + b"1,\n \t" * 101 + b"1]}", True),
        (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", False),
        (b'{"a":' + b"[" * 102 + b"]" * 102 + b"}", True),
        (b'{"a":[' + b"[[[[]]]]," * 30 + b"[]]}", True),
        (b'{"a":[' + b'{"L":[]},' * 33 + b"{}]}", False),
        (b'{"a":"' + b"[" * 500 + b'"}', False),
    ],
)
def test_only_what_stands_outside_of_texts_counts(body: bytes, refused: bool) -> None:
    assert is_refused(body) == refused


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 64, 1 << 16])
@pytest.mark.parametrize("seed", range(10))
def test_random_bodies_are_counted_as_their_values_are(
    seed: int, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are the same wherever a body is cut into pieces."""
    monkeypatch.setattr(body_members, "_PIECE_BYTES", piece_bytes)
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


@pytest.mark.parametrize(
    ("member", "refused"),
    [
        (b"{}", True),
        (b"[]", True),
        (b'""', True),
        (b'"a"', False),
        (b'{"N":"1"}', False),
        (b'{"L":[]}', False),
        (b'{"S":""}', False),
        (b'"a":{"N":"1"}', False),
    ],
)
def test_what_is_denser_than_any_request_has_use_for_is_refused(
    member: bytes, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 MB of empty values would block other requests for 30 ms of decoding and 15 ms of freeing."""
    monkeypatch.setattr(body_members, "REQUEST_MEMBERS_MAX", 1 << 30)
    assert is_refused(b'{"a":[%b]}' % b",".join([member] * 20_000)) == refused
    assert not is_refused(b'{"a":[%b]}' % b",".join([member] * 5_000))
    texts = b'{"a":"%b","b":[%b]}' % (b",:" * 100_000, b",".join([member] * 5_000))
    assert not is_refused(texts)


LONG = {
    "texts": b'"a",',
    "names": b'"a":1,',
    "escaped quotation marks": b'"\\"",',
    "backslashes": b"\\\\",
    "marks": b",",
    "lists in lists": b"[",
}


@pytest.mark.parametrize(
    "count",
    [
        lambda body: body_members._count_members((body,)),
        lambda body: body_members._has_surely_too_many_texts(body, 1 << 30),
        lambda body: sum(map(len, body_members._outside_texts(body))),
    ],
)
def test_a_long_body_gives_way_as_it_is_counted(
    count: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    count(LONG["texts"] * (1 << 20))
    assert len(looks) >= 64


@pytest.mark.parametrize("name", LONG)
def test_a_long_body_is_counted_in_few_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting text by text would take seconds for some megabytes of short texts."""
    monkeypatch.setattr(body_members, "REQUEST_MEMBERS_MAX", 1 << 30)
    monkeypatch.setattr(body_members, "spend", lambda _steps: None)
    body = b'{"a":["' + LONG[name] * (1 << 18) + b'"]}'
    assert lines_between_looks(lambda: body_members._count_members(body_members._outside_texts(body), 1 << 30)) < 1000
