"""What is logged of one invocation? The lines of its output, up to limits, and Lambda's START,
END and REPORT around them.

Source of the lines: Lambda's developer guide, *Lambda log formats*, of 2026; reports of users.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from hashrange.functions.handler_errors import HandlerError, logged_text, trace_digest
from hashrange.functions.log_lines import LogLines, OnLine, Room, WaitingLines
from hashrange.limits import FUNCTION_LOG_BYTES_MAX, FUNCTION_LOG_LINES_MAX, LOG_TAIL_BYTES_MAX
from hashrange.messages import functions as messages

ERRORS_MAX = 16
"""Errors of one function that are known at the same time. Beyond, all of them are forgotten,
and told with their traces again."""
FUNCTIONS_MAX = 1000


class LoggedErrors:
    """The errors of one function that have been logged with their traces since it last succeeded, so that a retry with
    the same error adds one line. Errors are the same if type and trace are; the line has the message.
    """

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def note(self, digest: bytes) -> bool:
        """True if an error with this digest has not been logged yet; it counts as logged from now on."""
        if digest in self._digests:
            return False
        if len(self._digests) >= ERRORS_MAX:
            self._digests.clear()
        self._digests.add(digest)
        return True

    def forget(self) -> None:
        """The function has succeeded, or its code has changed."""
        self._digests.clear()


def errors_of_functions() -> Callable[[str], LoggedErrors]:
    """A function that returns the logged errors of one version of a function, also of one whose handler cannot be
    loaded, by the id that all environments of that version have. It remembers those that were used last.
    """
    return lru_cache(FUNCTIONS_MAX)(lambda run_id: LoggedErrors())


class FunctionLog(NamedTuple):
    """Where the logs of all invocations of one version of a function go."""

    on_line: OnLine
    lines: LogLines
    """The slices that all functions of the server share."""
    errors: LoggedErrors
    """The errors that these logs have told since the function last succeeded."""


class InvocationLog:
    """The log of one invocation. A started environment writes to the log of the invocation that it was started for."""

    def __init__(self, request_id: str, log: FunctionLog) -> None:
        self.request_id = request_id
        self._lines, self._errors = log.lines, log.errors
        self._waiting = WaitingLines(log.on_line, request_id)
        self._unfinished = bytearray()
        """The beginning of a line whose end has not come yet."""
        self._kept = Room(0, 0)
        """What was logged of the output."""
        self._left_out = Room(0, 0)
        """What was not, because the invocation, or all of them in this second, wrote too much. Not told yet."""
        self._is_cut = False
        """True while what comes belongs to a line of which something was left out."""
        self._tail = bytearray()
        self._is_midline = False
        """True if the tail's last line has no end."""

    @property
    def tail(self) -> bytes:
        """The last 4 KB, for LogType=Tail: what the handler wrote as it wrote it, whatever of it was logged."""
        return bytes(self._tail)

    def feed(self, data: bytes) -> None:
        """Add output, in pieces of any length."""
        self._add_output_to_tail(data)
        self._feed_lines(data)

    def feed_error(self, event: bytes, error: HandlerError) -> None:
        """Add the event of an error: with its trace, or only the message if the function has failed with
        the same trace since its last success.
        """
        self._add_output_to_tail(event)
        if self._errors.note(trace_digest(error)):
            self._feed_lines(event)
        else:
            self._end_line()
            again = messages.ERROR_AGAIN.format(type=logged_text(error.type), message=logged_text(error.message))
            self._feed_lines(f"{again}\n".encode(errors="replace"))

    def _add_output_to_tail(self, data: bytes) -> None:
        self._add_to_tail(data)
        self._is_midline = not data.endswith(b"\n")

    def _feed_lines(self, data: bytes) -> None:
        start = 0
        if self._is_cut:
            start = data.find(b"\n") + 1 or len(data)
            self._leave_out(data[:start])
        room = self._lines.room()
        lines_max = max(0, min(room.lines, FUNCTION_LOG_LINES_MAX - self._kept.lines))
        bytes_max = max(0, min(room.size_bytes, FUNCTION_LOG_BYTES_MAX - self._kept.size_bytes))
        end = min(len(data), start + bytes_max)
        *lines, rest = data[start:end].split(b"\n", lines_max)
        if len(lines) == lines_max:
            end -= len(rest)
            rest = b""
        if lines:
            lines[0] = bytes(self._unfinished) + lines[0]
            self._unfinished.clear()
            self._lines.add(self._waiting, lines)
        self._unfinished += rest
        self._kept = Room(self._kept.lines + len(lines), self._kept.size_bytes + end - start)
        if end < len(data):
            self._end_line()
            self._leave_out(data[end:])

    def _leave_out(self, data: bytes) -> None:
        """Count output that is not logged, and the lines of which something is not logged."""
        is_whole = data.endswith(b"\n")
        lines = data.count(b"\n") + (not is_whole) - self._is_cut
        self._left_out = Room(self._left_out.lines + lines, self._left_out.size_bytes + len(data))
        self._is_cut = not is_whole

    def _end_line(self) -> None:
        """Log the line whose end has not come."""
        if self._unfinished:
            self._lines.add(self._waiting, [bytes(self._unfinished)])
            self._unfinished.clear()

    def begin(self, version: str) -> None:
        """Write START."""
        self._write(f"START RequestId: {self.request_id} Version: {version}")

    def end(self, report: str, last_line: str | None) -> None:
        """Write what is left of the output, `last_line` if there is one, END, and REPORT with a text of `report_of`."""
        if self._is_midline:
            self._add_to_tail(b"\n")
        self.tell()
        if last_line is not None:
            self._write(last_line)
        self._write(f"END RequestId: {self.request_id}")
        self._write(f"REPORT RequestId: {self.request_id}\t{report}")

    def tell(self) -> None:
        """Log the unfinished line, and how much has been left out since this was last told."""
        self._end_line()
        if self._left_out.size_bytes:
            told = messages.output_left_out(self._left_out.size_bytes, self._left_out.lines)
            self._lines.add(self._waiting, [told.encode()])
            self._left_out = Room(0, 0)

    async def written(self) -> None:
        """Wait until all lines have been written."""
        await self._waiting.written()

    def _write(self, line: str) -> None:
        encoded = line.encode(errors="replace")
        self._add_to_tail(encoded + b"\n")
        self._lines.add(self._waiting, [encoded])

    def _add_to_tail(self, data: bytes) -> None:
        self._tail += data[-LOG_TAIL_BYTES_MAX:]
        del self._tail[:-LOG_TAIL_BYTES_MAX]


def report_of(duration_ms: float, memory_mb: int, used_mb: int, init_ms: float | None, status: str) -> str:
    """The facts of a REPORT line. `init_ms`: None if the environment had been started before.
    `status`: empty, `timeout`, or `error` and the type of the error.
    """
    billed_ms = math.ceil(duration_ms + (init_ms or 0.0))
    parts = [
        f"Duration: {duration_ms:.2f} ms",
        f"Billed Duration: {billed_ms} ms",
        f"Memory Size: {memory_mb} MB",
        f"Max Memory Used: {used_mb} MB",
    ]
    if init_ms is not None:
        parts.append(f"Init Duration: {init_ms:.2f} ms")
    if status:
        parts.append(f"Status: {status}")
    return "\t".join([*parts, ""])
