"""In which form does what functions write stand in the server's log?
With the function's name and the request id, and without stamps of its own.

The runtimes' own loggers begin a line with its time, the request id and its level.
The log's record has all that already, so it is left out, except for a level above INFO.
Clients that ask for the end of a log (LogType=Tail) get it as it was written.
"""

import logging
import re

from hashrange.functions.log_lines import OnLine
from hashrange.terminal import escape_controls

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
