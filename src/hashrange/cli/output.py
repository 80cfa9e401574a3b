"""How do commands write to standard output and standard error? With the functions of this file, so that no text commands the terminal.

Names, keys, values and what a server answers may hold any character. So each line is escaped here, where no command can
forget it: text with a line end in it stays in its line. A failed write to standard output shows no traceback.
"""

import sys
from typing import TextIO

from hashrange.errors import HashrangeError
from hashrange.terminal import escape_controls


class OutputError(HashrangeError):
    """Standard output cannot be written. `is_unread`: True if it is a pipe that nobody reads any more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}. Mend where it is directed to.")
        self.is_unread = isinstance(error, BrokenPipeError)


def say(*lines: str, is_flushed: bool = False) -> None:
    """Write these lines to standard output, and flush it if `is_flushed`. Raises OutputError."""
    try:
        _write(sys.stdout, lines)
        if is_flushed:
            sys.stdout.flush()
    except OSError as error:
        raise OutputError(error) from error


def flush() -> None:
    """Flush standard output. Raises OutputError."""
    say(is_flushed=True)


def complain(*lines: str) -> None:
    """Write these lines to standard error. Raises OSError."""
    _write(sys.stderr, lines)
    sys.stderr.flush()


def show_progress(text: str) -> None:
    """Write a line to standard error that the next call overwrites. Raises OSError."""
    sys.stderr.write(f"\r{escape_controls(text)}\r")
    sys.stderr.flush()


def lines_of(text: str) -> list[str]:
    """The lines of a text of our own, such as a help, for `say`."""
    return text.removesuffix("\n").split("\n")


def _write(stream: TextIO, lines: tuple[str, ...]) -> None:
    stream.write("".join(f"{escape_controls(line)}\n" for line in lines))
