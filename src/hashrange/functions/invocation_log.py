"""What is kept of the output of one invocation? Its lines, up to a limit, and Lambda's START, END and REPORT around them.

Source of the lines: Lambda's developer guide, *Lambda log formats*, of 2026; reports of users.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from hashrange.limits import FUNCTION_LOG_BYTES_MAX, LOG_TAIL_BYTES_MAX
from hashrange.messages import functions as messages

OnLine = Callable[[str, str], None]
"""Called with a request id and a line without its end, START, END and REPORT included; must not raise."""


class Report(NamedTuple):
    """The facts of a REPORT line."""

    duration_ms: float
    memory_size_mb: int
    memory_used_mb: int
    init_ms: float | None
    """None if the environment had been started before."""
    status: str
    """Empty, `timeout`, or `error` and the type of the error."""


class InvocationLog:
    """The log of one invocation. A started environment writes to the log of the invocation that it was started for."""

    def __init__(self, request_id: str, on_line: OnLine) -> None:
        self.request_id = request_id
        self._on_line = on_line
        self._unfinished = b""
        self._kept_bytes = 0
        self.dropped_bytes = 0
        """Bytes of output beyond FUNCTION_LOG_BYTES_MAX."""
        self._tail = bytearray()

    @property
    def tail(self) -> bytes:
        """The last 4 KB, for LogType=Tail."""
        return bytes(self._tail)

    def feed(self, data: bytes) -> None:
        """Add output, in pieces of any length."""
        kept = data[: FUNCTION_LOG_BYTES_MAX - self._kept_bytes]
        self._kept_bytes += len(kept)
        self.dropped_bytes += len(data) - len(kept)
        *lines, self._unfinished = (self._unfinished + kept).split(b"\n")
        for line in lines:
            self._write(line.decode(errors="replace"))

    def begin(self, version: str) -> None:
        """Write START."""
        self._write(f"START RequestId: {self.request_id} Version: {version}")

    def end(self, report: Report, last_line: str | None) -> None:
        """Write what is left of the output, `last_line` if there is one, END and REPORT."""
        if self._unfinished:
            self._write(self._unfinished.decode(errors="replace"))
            self._unfinished = b""
        if self.dropped_bytes:
            self._write(messages.output_dropped(self.dropped_bytes))
        if last_line is not None:
            self._write(last_line)
        self._write(f"END RequestId: {self.request_id}")
        self._write(_report_line(self.request_id, report))

    def _write(self, line: str) -> None:
        self._tail += line.encode(errors="replace") + b"\n"
        del self._tail[:-LOG_TAIL_BYTES_MAX]
        self._on_line(self.request_id, line)


def _report_line(request_id: str, report: Report) -> str:
    billed_ms = math.ceil(report.duration_ms + (report.init_ms or 0.0))
    parts = [
        f"REPORT RequestId: {request_id}",
        f"Duration: {report.duration_ms:.2f} ms",
        f"Billed Duration: {billed_ms} ms",
        f"Memory Size: {report.memory_size_mb} MB",
        f"Max Memory Used: {report.memory_used_mb} MB",
    ]
    if report.init_ms is not None:
        parts.append(f"Init Duration: {report.init_ms:.2f} ms")
    if report.status:
        parts.append(f"Status: {report.status}")
    return "\t".join([*parts, ""])
