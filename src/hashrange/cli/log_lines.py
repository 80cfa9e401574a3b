"""How does a command write its log? To standard error, with escapes for all that would command
the terminal that shows it.

A message stays in one line, whatever names and values it quotes. What handlers of functions print may have several
lines. A thread writes, because standard error may be a pipe that nobody reads, or a terminal that is paused;
a server goes on then, and leaves out lines.
"""

import logging
import os
import select
import sys
from collections import deque
from contextlib import suppress
from threading import Condition, Thread
from types import TracebackType

from hashrange.terminal import escape_controls

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
WITH_LINES = "hashrange.functions"
"""Logger of the lines that handlers print."""
WAITING_CHARACTERS_MAX = 1024 * 1024
"""Once so much waits to be written, further records are left out."""
LAST_SECONDS = 1.0
"""How long the end of the process waits for the last lines to be written."""
LEFT_OUT = "%d messages were left out here, because the log was not read as quickly as it came."

_ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class EscapedFormatter(logging.Formatter):
    """Formats records without what commands a terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """The line of a record; of what handlers print, its lines."""
        text = super().formatMessage(record)
        return _escaped_lines(text) if record.name == WITH_LINES else escape_controls(text)

    def formatException(self, ei: _ExceptionInfo) -> str:  # noqa: N802 - the name is logging's
        """The lines of a traceback."""
        return _escaped_lines(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - the name is logging's
        """The lines of a stack."""
        return _escaped_lines(super().formatStack(stack_info))


class ThreadedHandler(logging.Handler):
    """Hands the lines of the log to a thread, which writes them to standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(EscapedFormatter(FORMAT))
        self._waiting: deque[str] = deque()
        """Records as text, of which the thread writes the first."""
        self._waiting_characters = 0
        self._left_out = 0
        """Records that found no room since the last one that did."""
        self._changed = Condition()
        self._is_over = False
        self._thread = Thread(target=self._write_all, name="hashrange-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Let a record be written, or leave it out if too much waits."""
        try:
            text = f"{self.format(record)}\n"
        except Exception:  # noqa: BLE001 - logging has its own way to tell
            self.handleError(record)
            return
        with self._changed:
            if self._waiting_characters > WAITING_CHARACTERS_MAX:
                self._left_out += 1
                return
            if self._left_out:
                text = f"{self._sentence()}{text}"
            self._waiting.append(text)
            self._waiting_characters += len(text)
            self._changed.notify()

    def close(self) -> None:
        """Write what waits, unless nobody reads it."""
        with self._changed:
            if self._left_out:
                self._waiting.append(self._sentence())
            self._is_over = True
            self._changed.notify()
        self._thread.join(LAST_SECONDS)
        super().close()

    def _sentence(self) -> str:
        count, self._left_out = self._left_out, 0
        line = logging.makeLogRecord(
            {"name": "hashrange.log", "levelname": "WARNING", "msg": LEFT_OUT, "args": (count,)}
        )
        return f"{self.format(line)}\n"

    def _write_all(self) -> None:
        """On the thread: write until `close`."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_over)
                if not self._waiting:
                    return
                text = "".join(self._waiting)
                self._waiting.clear()
            with suppress(OSError, ValueError):  # nobody will read it any more
                _write(text)
            with self._changed:
                self._waiting_characters -= len(text)


def _write(text: str) -> None:
    """Write to standard error, and wait as long as that takes. Raises OSError and ValueError."""
    stream = sys.stderr
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError, ValueError):  # a program has put something else in its place
        stream.write(text)
        return
    # Not by the stream, whose lock a thread would hold that still waits when the process ends.
    left = memoryview(text.replace("\n", os.linesep).encode(stream.encoding, "backslashreplace"))
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            select.select((), (descriptor,), ())


def log_to_standard_error(level: str) -> None:
    """Write what all loggers of this process log, from `level` on, to standard error.
    Does nothing if the log is set up already.
    """
    if not logging.getLogger().handlers:
        logging.basicConfig(level=level, handlers=[ThreadedHandler()])


def _escaped_lines(text: str) -> str:
    return "\n".join(map(escape_controls, text.split("\n")))
