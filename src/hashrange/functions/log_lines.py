"""How do the lines of invocations come into the server's log? In slices, so that much output holds nobody up, at most
LOG_LINES_PER_SECOND_MAX a second, with the function's name and the request id, and without stamps of their own.

All functions of a server share the slices: in each turn of the loop, lines are written for a while, of each invocation
that has some in turn. So few lines are written soon, whatever others print.
Whoever adds lines asks before how many there is room for; lines that must not be missing need no room.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hashrange.clock import Clock
from hashrange.limits import LOG_BYTES_PER_SECOND_MAX, LOG_LINES_PER_SECOND_MAX
from hashrange.terminal import escape_controls

OnLine = Callable[[str, str], None]
"""Called with a request id and a line without its end, START, END and REPORT included; must not raise."""
Show = Callable[[str], str]
"""Returns a piece of a line in the form in which it is logged."""

SLICE_SECONDS = 0.001
"""Time in one turn of the loop after which no further line, or piece of a long line, is written."""
_PIECE_CHARACTERS = 1024
"""Characters of a line that are shown at once, which takes up to 0.5 ms."""


class Room(NamedTuple):
    """How much may be added now."""

    lines: int
    size_bytes: int


class WaitingLines:
    """The lines of one invocation that are not written yet."""

    def __init__(self, on_line: OnLine, request_id: str) -> None:
        self._on_line, self._request_id = on_line, request_id
        self.lines: deque[bytes] = deque()
        self._written = asyncio.Event()
        self._written.set()
        self._pieces: list[str] = []
        """What has been shown of the first line."""
        self._rest = ""
        """What has not, once it has been begun."""

    def add(self, lines: Sequence[bytes]) -> None:
        """Let further lines wait."""
        self.lines.extend(lines)
        self._written.clear()

    async def written(self) -> None:
        """Wait until all lines have been written."""
        await self._written.wait()

    def write_piece(self, show: Show) -> int | None:
        """Show the next piece of the first line, and write the line if it was the last one;
        returns the line's length then.
        """
        line = self.lines[0]
        if not self._pieces:
            self._rest = line.decode(errors="replace")
        self._pieces.append(show(self._rest[:_PIECE_CHARACTERS]))
        self._rest = self._rest[_PIECE_CHARACTERS:]
        if self._rest:
            return None
        self.lines.popleft()
        text = "".join(self._pieces)
        self._pieces.clear()
        self._on_line(self._request_id, text)
        if not self.lines:
            self._written.set()
        return len(line)


class LogLines:
    """The lines of all invocations of a server on their way to its log. Use it on one event loop."""

    def __init__(self, clock: Clock, show: Show = str) -> None:
        self._clock, self._show = clock, show
        self._waiting: deque[WaitingLines] = deque()
        """In the order of their turns."""
        self._waiting_lines = self._waiting_bytes = 0
        self._slice_ends_seconds: float | None = None
        """Monotonic time; None if no slice has begun in this turn of the loop."""
        self._second_ends_seconds = 0.0
        self._left = Room(0, 0)
        """What may still be added before that monotonic time."""

    def room(self) -> Room:
        """How many lines and bytes may be added now; none while as many wait as may be added in a second."""
        now_seconds = self._clock.monotonic()
        if now_seconds >= self._second_ends_seconds:
            self._second_ends_seconds = now_seconds + 1
            self._left = Room(LOG_LINES_PER_SECOND_MAX, LOG_BYTES_PER_SECOND_MAX)
        return Room(
            max(0, min(self._left.lines, LOG_LINES_PER_SECOND_MAX - self._waiting_lines)),
            max(0, min(self._left.size_bytes, LOG_BYTES_PER_SECOND_MAX - self._waiting_bytes)),
        )

    def add(self, waiting: WaitingLines, lines: Sequence[bytes]) -> None:
        """Log one or more lines of an invocation now or in a later turn. They count against the room."""
        size_bytes = sum(map(len, lines)) + len(lines)
        self._left = Room(self._left.lines - len(lines), self._left.size_bytes - size_bytes)
        self._waiting_lines += len(lines)
        self._waiting_bytes += size_bytes
        if not waiting.lines:
            self._waiting.append(waiting)
        waiting.add(lines)
        self._write()

    async def written(self) -> None:
        """Wait until the lines of all invocations have been written."""
        while self._waiting:
            await self._waiting[-1].written()

    def _write(self) -> None:
        """Write what waits, until the slice of this turn is over."""
        if self._slice_ends_seconds is None:
            self._slice_ends_seconds = self._clock.monotonic() + SLICE_SECONDS
            asyncio.get_running_loop().call_soon(self._next_turn)
        while self._waiting and self._clock.monotonic() < self._slice_ends_seconds:
            waiting = self._waiting.popleft()
            line_bytes = waiting.write_piece(self._show)
            if line_bytes is not None:
                self._waiting_lines -= 1
                self._waiting_bytes -= line_bytes + 1
            if waiting.lines:
                self._waiting.append(waiting)

    def _next_turn(self) -> None:
        self._slice_ends_seconds = None
        if self._waiting:
            self._write()


# --- the form of a line ---------------------------------------------------------------------------

# The runtimes' own loggers begin a line with its time, the request id and its level. The log's record has all that
# already, so it is left out, except for a level above INFO. Clients that ask for the end of a log (LogType=Tail) get it
# as it was written.

_LOG_BEGINNINGS = ("START RequestId: ", "END RequestId: ", "REPORT RequestId: ")
_RECORD_WITHIN = re.compile(r"\n(?=\d{4}-\d\d-\d\d )")
"""The end of a line within an event before one that begins as the log's own records do;
a blank before it tells them apart."""
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_match_stamp = re.compile(
    rf"(?:\[(?P<python>[A-Z]+)\]\t{_TIME}\t(?P<id>[\w-]*)\t"
    rf"|{_TIME}\t(?P<node_id>[\w-]*)\t(?P<node>[A-Z]+)\t"
    rf"|{_TIME} (?P<lambda_id>[\w-]+) )",
    re.ASCII,
).match
"""The beginning of a line of Python's logger, of Node's console, and of Lambda's own line about a time-out."""
_USUAL_LEVELS = {None, "INFO"}
_NO_INVOCATION = {"", "undefined"}
"""What stands for the request id in what a module writes while it is loaded."""

_log = logging.getLogger("hashrange.functions")


def log_lines_of(name: str) -> OnLine:
    """Writes the lines of a function's log to the server's."""

    def on_line(request_id: str, line: str) -> None:
        level = logging.DEBUG if line.startswith(_LOG_BEGINNINGS) else logging.INFO
        _log.log(level, "%s %s %s", name, request_id, _RECORD_WITHIN.sub("\n ", without_stamp(request_id, line)))

    return on_line


def without_stamp(request_id: str, line: str) -> str:
    """A line of an invocation without the time and the request id that a runtime has put before it."""
    found = _match_stamp(line)
    if found is None:
        return line
    stamped_id = found["id"] or found["node_id"] or found["lambda_id"] or ""
    if stamped_id != request_id and stamped_id not in _NO_INVOCATION:
        return line
    level = found["python"] or found["node"]
    rest = line[found.end() :]
    return rest if level in _USUAL_LEVELS else f"[{level}] {rest}"


def shown(piece: str) -> str:
    """A piece of a line without what commands a terminal. An event of several lines has carriage returns in between,
    and no-break spaces before lines.
    """
    return "\n".join(map(escape_controls, piece.replace("\xa0", " ").split("\r")))
