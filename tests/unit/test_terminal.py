"""Text of others must not command the terminal that shows it."""

import json
import sys

import pytest

from hashrange.terminal import escape_controls, escape_json


@pytest.mark.parametrize("text", ["", "plain", "Grüße 日本 😀", "a\tb", "back\\slash"])
def test_what_is_printable_stays(text: str) -> None:
    assert escape_controls(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x07", r"\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eevil", r"\u202eevil"),
        ("a\nb\r", r"a\nb\r"),
        ("\u2028", r"\u2028"),
        ("\ud800", r"\ud800"),
        ("\U000e0001", r"\U000e0001"),
        ("\x7f\0", r"\x7f\x00"),
    ],
)
def test_what_commands_a_terminal_is_escaped(text: str, escaped: str) -> None:
    assert escape_controls(text) == escaped


def test_every_code_point_comes_out_printable() -> None:
    shown = escape_controls("".join(map(chr, range(sys.maxunicode + 1))))
    assert shown.replace("\t", "").isprintable()


@pytest.mark.parametrize("is_ascii", [True, False])
def test_escaped_json_is_printable_and_the_same_value(is_ascii: bool) -> None:
    every = "".join(map(chr, [*range(0x10100), *range(0xE0000, 0xE0080)]))
    text = escape_json(json.dumps({"a": every, every[:200]: 1}, ensure_ascii=is_ascii))
    assert text.isprintable()
    # Two surrogates behind each other are one character for JSON; apart from that, nothing changes.
    assert json.loads(text) == json.loads(json.dumps({"a": every, every[:200]: 1}))


def test_printable_json_stays() -> None:
    assert escape_json('{"ä": "日本 😀"}') == '{"ä": "日本 😀"}'
