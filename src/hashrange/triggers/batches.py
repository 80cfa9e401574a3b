"""What is a batch? Consecutive records of a lane that are delivered together, and how far their delivery has come.

The JSON of a record is made once, when the record is put into its batch.
"""

from collections.abc import Callable
from typing import NamedTuple

from hashrange.tables.streams import Sequence
from hashrange.triggers.failure_message import FailureCondition
from hashrange.triggers.mapping import EventSourceMapping


class Batch:
    """A batch. Times are service time."""

    __slots__ = (
        "discard",
        "discarded_seconds",
        "due_seconds",
        "due_unless_early_seconds",
        "error",
        "invocations",
        "is_complete",
        "is_final",
        "message_id",
        "opened_seconds",
        "pauses",
        "records",
        "records_max",
        "repeats",
        "request_id",
        "retries",
        "sequences",
        "size_bytes",
        "window_start_seconds",
    )

    def __init__(self, opened_seconds: float, records_max: int) -> None:
        self.records: list[bytes] = []
        """JSON of each record as in an event."""
        self.sequences: list[Sequence] = []
        self.size_bytes = 0
        """Bytes of `records`, with a comma for each."""
        self.records_max = records_max
        self.opened_seconds = opened_seconds
        """Service time at which the first record was put in."""
        self.is_complete = False
        """True if no further record is put in."""
        self.due_seconds = 0.0
        """The batch is not delivered before this time."""
        self.due_unless_early_seconds: float | None = None
        """`due_seconds` before the batch was given an extra try, ahead of its pause; None without one."""
        self.retries = 0
        """Retries so far, as MaximumRetryAttempts counts them."""
        self.pauses = 0
        """Failures in a row, each of which makes the next pause longer."""
        self.invocations = 0
        """Invocations so far with the first of these records."""
        self.repeats = 0
        """Further deliveries after a successful one, for tests of applications."""
        self.request_id = ""
        """Request id of the last invocation."""
        self.error: str | None = None
        """`function_error` of the last invocation; None if it was successful, or there was none."""
        self.discard: FailureCondition | None = None
        """Why the records are given up: they go to the mapping's destination, and no longer to the function."""
        self.message_id = ""
        """Id of the message to the destination; empty if none was sent. `discarded_seconds` is its time."""
        self.discarded_seconds = 0.0
        self.window_start_seconds: int | None = None
        """Start of the tumbling window to which all records belong; None without windows."""
        self.is_final = False
        """True for the final invocation of a tumbling window, which has no records."""

    def add(self, sequence: Sequence, text: bytes) -> None:
        """Put a record in; `text` is its JSON."""
        self.records.append(text)
        self.sequences.append(sequence)
        self.size_bytes += len(text) + 1
        if len(self.records) >= self.records_max:
            self.is_complete = True

    def part(self, start: int, end: int | None = None) -> "Batch":
        """A complete batch of the records from place `start` to `end`, with the same history."""
        part = Batch(self.opened_seconds, self.records_max)
        part.records, part.sequences = self.records[start:end], self.sequences[start:end]
        part.size_bytes = sum(map(len, part.records)) + len(part.records)
        part.is_complete = True
        part.due_seconds, part.retries, part.pauses = self.due_seconds, self.retries, self.pauses
        part.invocations, part.repeats = self.invocations, self.repeats
        part.request_id, part.error = self.request_id, self.error
        part.window_start_seconds = self.window_start_seconds
        return part


def final_batch(window_start_seconds: int) -> Batch:
    """The final invocation of a tumbling window."""
    batch = Batch(0.0, 0)
    batch.is_complete = batch.is_final = True
    batch.window_start_seconds = window_start_seconds
    return batch


class Disturbance(NamedTuple):
    """What happens to one batch besides its delivery, in tests of applications that must bear it."""

    repeats: int = 0
    """Times that the batch is delivered again after it was handled."""
    delay_seconds: float = 0.0
    """Service time by which the batch is late."""
    records_max: int | None = None
    """Most records of the batch, if fewer than the mapping's BatchSize."""


Disturb = Callable[[EventSourceMapping], Disturbance | None]
"""Called when a batch of the mapping is begun; returns None if nothing happens to it."""
