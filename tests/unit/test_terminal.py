"""Text of others must not command the terminal that shows it."""

import sys

import pytest

from hashrange.terminal import escape_controls


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
