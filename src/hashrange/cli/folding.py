"""How does text fit a terminal? Lines are folded at blanks, never within a word, and what was folded is indented;
colours only where they are shown.

Without a terminal nothing is folded or coloured, because programs read files and pipes line by line.
The exception is help, which is prose.
"""

import os
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TextIO

COLUMNS_USUAL = 80
"""Columns of a terminal that does not say how many it has, and of help without a terminal."""
COLUMNS_MIN = 20
PROSE_COLUMNS_MAX = 100
"""Lines of help are not longer, because long lines are hard to read."""
TAB_COLUMNS = 8
HANGING = 2
"""Indentation of what is folded off a line, beyond that of the line."""
HEAD_SHARE_MAX = 0.4
"""Folded text is indented by its head if the head takes at most this part of the columns."""

Colour = Literal["green", "yellow", "red", "cyan"]
_CODES: dict[Colour, str] = {"green": "32", "yellow": "33", "red": "31", "cyan": "36"}

_pieces = re.compile(r"[ \t]+|[^ \t]+").findall


class HeadedLine(NamedTuple):
    """A line whose text follows a head, such as a time or a verdict.
    In a terminal, folded text is indented by the head.
    """

    head: str
    text: str
    mark: str = ""
    """The part of the head that is coloured."""
    colour: Colour | None = None


def columns_of(stream: TextIO) -> int | None:
    """Columns of the stream's terminal, or those that COLUMNS gives it; None if the stream is no terminal."""
    if not stream.isatty():
        return None
    return given_columns() or _columns_of_terminal(stream)


def _columns_of_terminal(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(columns or COLUMNS_USUAL, COLUMNS_MIN)


def given_columns() -> int | None:
    """The number in the variable COLUMNS; None without one."""
    text = os.environ.get("COLUMNS", "")
    return max(int(text), COLUMNS_MIN) if re.fullmatch("[1-9][0-9]{0,8}", text, re.ASCII) else None


def prose_columns(stream: TextIO) -> int:
    """Columns of the lines of help on this stream, whether it is a terminal or not."""
    return min(columns_of(stream) or given_columns() or COLUMNS_USUAL, PROSE_COLUMNS_MAX)


def has_colours(stream: TextIO) -> bool:
    """True for a terminal that shows colours, unless NO_COLOR is set. Source: no-color.org."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        return False
    is_windows_terminal = "TERM" not in os.environ and bool(os.environ.get("WT_SESSION"))
    return is_windows_terminal or os.environ.get("TERM", "dumb") not in {"", "dumb"}


def painted(text: str, colour: Colour) -> str:
    """The text in a colour."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def fold(text: str, columns: int, hanging: int | None = None) -> list[str]:
    """The lines of a text without line ends, of at most `columns` columns each, except for words that are longer.

    Further lines are indented by `hanging`; None: by HANGING more than the text.
    """
    if columns_taken(text) <= columns:
        return [text]
    beginning = text[: len(text) - len(text.lstrip(" "))]
    following = " " * (len(beginning) + HANGING if hanging is None else hanging)
    lines, line, taken, blanks = [], beginning, len(beginning), ""
    is_empty = True
    for piece in _pieces(text[len(beginning) :]):
        if piece.isspace():
            blanks = piece
            continue
        wide = columns_taken(piece)
        if not is_empty and taken + columns_taken(blanks) + wide > columns:
            lines.append(line)
            line, taken, blanks = following, len(following), ""
        line += blanks + piece
        taken += columns_taken(blanks) + wide
        blanks, is_empty = "", False
    return [*lines, line]


def fold_prose(text: str, columns: int) -> Iterator[str]:
    """The lines of a text in paragraphs with blank lines between them. Lines that are indented stay as they are."""
    prose: list[str] = []
    for line in [*text.strip("\n").split("\n"), ""]:
        if line.strip() and not line.startswith(" "):
            prose.append(line.strip())
            continue
        if prose:
            yield from fold(" ".join(prose), columns, 0)
            prose = []
        yield line.rstrip()


def fold_headed(line: HeadedLine, columns: int) -> list[str]:
    """The lines of a line with a head, without colours."""
    head_columns = columns_taken(line.head)
    hanging = head_columns if head_columns <= columns * HEAD_SHARE_MAX else 2 * HANGING
    return fold(line.head + line.text, columns, hanging)


def columns_taken(text: str) -> int:
    """Columns that the text takes in a terminal: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text) + text.count("\t") * (TAB_COLUMNS - 1)
    return sum(_columns_of_character(one) for one in text)


def _columns_of_character(character: str) -> int:
    import unicodedata  # most text is ASCII, and start time counts

    if character == "\t":
        return TAB_COLUMNS
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
