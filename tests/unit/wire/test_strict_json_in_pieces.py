"""Does the strict decoder read long texts, numbers, blanks and lists in pieces, between which it gives way?"""

import json
import random
from typing import Any

import pytest

from hashrange.errors import ApiError
from hashrange.items import steps
from hashrange.items.steps import PIECE_BYTES
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.wire import strict_json
from hashrange.wire.strict_json import require_strictly
from tests.unit.wire.test_strict_json import COMPLETE, SHAPE, VARIANTS, fault_of

SIZE_BYTES = 1 << 20
TEXTS = {
    "plain": "a" * SIZE_BYTES,
    "escapes": r"\n" * (SIZE_BYTES // 2),
    "quotation marks": r"\"" * (SIZE_BYTES // 2),
    "backslashes": r"\\" * (SIZE_BYTES // 2),
    "characters of two bytes": "é" * (SIZE_BYTES // 2),
    "characters of three bytes": "€" * (SIZE_BYTES // 3),
}


def looks_at(body: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the decoder looks at the clock while it reads or refuses a body."""
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    try:
        require_strictly(body.encode(), SHAPE)
    except ApiError:
        return len(looks)
    return len(looks)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    "body",
    [
        '{"TopK":"%s"}',
        '{"unknown":"%s"}',
        '{"unknown":["%s"]}',
        '{"%s":1}',
        '{"ExpressionAttributeValues":{":v":{"%s":1}}}',
        '{"ExpressionAttributeValues":{":v":{"B":"%s"}}}',
    ],
)
def test_a_long_text_gives_way(text: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks_at(body % text, monkeypatch) >= SIZE_BYTES // PIECE_BYTES - 4


@pytest.mark.parametrize(
    "body",
    [
        '{"unknown":[%s1]}' % ("1," * (SIZE_BYTES // 2)),
        '{"unknown":[%s[]]}' % (("1," * (PIECE_BYTES // 2 - 2) + "[],") * (SIZE_BYTES // PIECE_BYTES)),
        '{"unknown":%s1}' % (" " * SIZE_BYTES),
        '{"unknown":1%s}' % ("\n" * SIZE_BYTES),
        '{"unknown":1.%s}' % ("1" * SIZE_BYTES),
        '{"unknown":[1.%s]}' % ("1" * SIZE_BYTES),
    ],
    ids=["numbers", "numbers and lists", "blanks", "lines", "digits", "digits in a list"],
)
def test_what_is_no_text_gives_way(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks_at(body, monkeypatch) >= SIZE_BYTES // PIECE_BYTES - 4


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        ('{"TopK":"%s"}', 'invalid type: string "'),
        ('{"ExpressionAttributeValues":{":v":{"B":"%s"}}}', 'invalid value: string "'),
        ('{"ExpressionAttributeValues":{":v":{"%s":1}}}', "unknown variant `"),
    ],
)
@pytest.mark.parametrize("mark", ["é", "\n", '"', "\\", "a\0"])
def test_a_fault_quotes_no_more_of_a_text_than_a_message_shows(body: str, begins: str, mark: str) -> None:
    """To escape a million characters was one step of 0.1 s."""
    message = fault_of(body % json.dumps(mark * SIZE_BYTES)[1:-1]).message
    assert message is not None
    quoted = mark if begins.endswith("`") else "".join(ESCAPES.get(one, one) for one in mark)
    shown = (begins + quoted * MESSAGE_CHARACTERS_MAX)[:MESSAGE_CHARACTERS_MAX]
    assert message[:MESSAGE_CHARACTERS_MAX] == shown
    assert len(message) <= 2 * (MESSAGE_CHARACTERS_MAX + 1) + len(begins + VARIANTS) + 100


ESCAPES = {"\n": r"\n", '"': r"\"", "\\": r"\\", "\0": r"\0"}


@pytest.mark.parametrize("seed", range(20))
def test_pieces_are_read_as_the_whole_is(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dealt = random.Random(seed)

    def value(levels: int = 0) -> Any:
        if levels > 3 or dealt.random() < 0.4:
            marks = dealt.choices(
                ["\\", '"', "é", "\U0001f600", "a", "\n", "\0", "{", "]", ",", "1"], k=dealt.randrange(25)
            )
            return dealt.choice(["".join(marks), "".join(marks), -1.5e-3, 2**63, -0.0, 1e20, None, True])
        if dealt.random() < 0.5:
            return [value(levels + 1) for _ in range(dealt.randrange(5))]
        return {name: value(levels + 1) for name in dealt.sample(["S", "N", "B", "L", "M", '"\\'], dealt.randrange(4))}

    for _ in range(100):
        given = {name: value() for name in [*(SHAPE.inner or ()), 'x"', "y\\"] if dealt.random() < 0.3}
        body = json.dumps(COMPLETE | given, indent=dealt.choice([None, 3]), ensure_ascii=dealt.random() < 0.5).encode()
        answers = []
        for piece_bytes, first_piece_bytes in ((PIECE_BYTES, PIECE_BYTES), (7, 2)):
            monkeypatch.setattr(strict_json, "PIECE_BYTES", piece_bytes)
            monkeypatch.setattr(strict_json, "_FIRST_PIECE_BYTES", first_piece_bytes)
            try:
                require_strictly(body, SHAPE)
            except ApiError as fault:
                answers.append((fault.code, fault.message))
            else:
                answers.append(("", None))
        assert answers[0] == answers[1], body
