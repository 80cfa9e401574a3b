"""How does a command write its log? To standard error, with escapes for all that would command the terminal that shows it.

A message stays in one line, whatever names and values it quotes. What handlers of functions print may have several lines.
"""

import logging
from types import TracebackType

from hashrange.terminal import escape_controls

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
WITH_LINES = "hashrange.functions"
"""Logger of the lines that handlers print."""

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


def log_to_standard_error(level: str) -> None:
    """Write what all loggers of this process log, from `level` on, to standard error. Does nothing if the log is set up already."""
    handler = logging.StreamHandler()
    handler.setFormatter(EscapedFormatter(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])


def _escaped_lines(text: str) -> str:
    return "\n".join(map(escape_controls, text.split("\n")))
