"""How do commands write to standard output and standard error? With the functions of this file,
so that no text commands the terminal.

Names, keys, values and what a server answers may hold any character. So each line is escaped here, where no command can
forget it: text with a line end in it stays in its line. In a terminal, lines are folded to its width (folding.py).
A failed write to standard output shows no traceback.
"""

import sys
from typing import TextIO

from hashrange.cli.folding import HeadedLine, columns_of, fold, fold_headed, has_colours, painted
from hashrange.errors import HashrangeError
from hashrange.terminal import escape_controls


class OutputError(HashrangeError):
    """Standard output cannot be written. `is_unread`: True if it is a pipe that nobody reads any more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}. Mend where it is directed to.")
        self.is_unread = isinstance(error, BrokenPipeError)


def say(*lines: str | HeadedLine, is_flushed: bool = False, is_folded: bool = True) -> None:
    """Write these lines to standard output, and flush it if `is_flushed`. Raises OutputError."""
    try:
        _write(sys.stdout, lines, is_folded=is_folded)
        if is_flushed:
            sys.stdout.flush()
    except OSError as error:
        raise OutputError(error) from error


def say_unfolded(*lines: str, is_flushed: bool = False) -> None:
    """Write lines that programs and shells read, such as JSON: no terminal changes them. Otherwise as `say`."""
    say(*lines, is_flushed=is_flushed, is_folded=False)


def say_data(content: bytes) -> None:
    """Write bytes that programs read to standard output, as they are; in a terminal, as lines. Raises OutputError."""
    if sys.stdout.isatty():
        say_unfolded(*lines_of(content.decode(errors="replace")), is_flushed=True)
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise OutputError(error) from error


def complain(*lines: str) -> None:
    """Write these lines to standard error. Raises OSError."""
    _write(sys.stderr, lines, is_folded=True)
    sys.stderr.flush()


def show_progress(text: str) -> None:
    """Write a line to standard error that the next call overwrites. Raises OSError."""
    sys.stderr.write(f"\r{escape_controls(text)}\r")
    sys.stderr.flush()


def lines_of(text: str) -> list[str]:
    """The lines of a text of our own, such as a help, for `say`."""
    return text.removesuffix("\n").split("\n")


def _write(stream: TextIO, lines: tuple[str | HeadedLine, ...], *, is_folded: bool) -> None:
    columns = columns_of(stream) if is_folded and lines else None
    is_coloured = columns is not None and has_colours(stream)
    shown = (one for line in lines for one in _shown(line, columns, is_coloured=is_coloured))
    stream.write("".join(f"{one}\n" for one in shown))


def _shown(line: str | HeadedLine, columns: int | None, *, is_coloured: bool) -> list[str]:
    """The lines that a line becomes, without what commands a terminal except colours."""
    if isinstance(line, str):
        escaped = escape_controls(line)
        return [escaped] if columns is None else fold(escaped, columns)
    escaped_line = line._replace(head=escape_controls(line.head), text=escape_controls(line.text))
    if columns is None:
        return [escaped_line.head + escaped_line.text]
    first, *others = fold_headed(escaped_line, columns)
    if is_coloured and line.colour is not None:
        first = first.replace(line.mark, painted(line.mark, line.colour), 1)
    return [first, *others]
